"""The native kernel against ordinary training by autograd: the two-stream term of FedMMD."""

from __future__ import annotations

import ctypes
import sys
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from torch import nn

import shoal
from shoal.kernels import Native, Network, Rule, native
from shoal.kernels.native import VARIANTS, built_as
from shoal.layout import Layout
from shoal.models.recurrent import LastState
from shoal.net import Arithmetic, Net
from shoal.seeds import Key
from shoal.solvers import MMD, SGD, Proximal, Sees
from shoal.types import Array

best = native()
pytestmark = pytest.mark.skipif(best is None, reason="there is no native kernel")
runnable = [] if best is None else [name for name in VARIANTS[: VARIANTS.index(best[0]) + 1] if built_as(name)]


def halves(features: list[nn.Module], head: list[nn.Module]) -> nn.Sequential:
    return nn.Sequential(OrderedDict(features=nn.Sequential(*features), head=nn.Sequential(*head)))


def stage() -> list[nn.Module]:
    return [nn.Conv2d(1, 5, 3), nn.MaxPool2d(2), nn.ReLU()]


Shape = tuple[int, ...]
MODELS: dict[str, tuple[Shape, Callable[[], nn.Module], int | None]] = {  # and the layer that is given the features
    "regression": ((20,), lambda: nn.Sequential(nn.Linear(20, 3)), None),
    "a perceptron": ((20,), lambda: halves([nn.Linear(20, 17), nn.ReLU()], [nn.Linear(17, 3)]), 1),
    "a deep head": (
        (20,), lambda: halves([nn.Linear(20, 7), nn.ReLU()], [nn.Linear(7, 6), nn.ReLU(), nn.Linear(6, 3)]), 1,
    ),
    "deep features": (
        (20,), lambda: halves([nn.Linear(20, 7), nn.ReLU(), nn.Linear(7, 6), nn.ReLU()], [nn.Linear(6, 3)]), 2,
    ),
    "maps": ((1, 8, 6), lambda: halves(stage(), [nn.Flatten(), nn.Linear(30, 3)]), 0),
    "flat maps": (
        (1, 8, 6), lambda: halves([*stage(), nn.Flatten()], [nn.Linear(30, 4), nn.ReLU(), nn.Linear(4, 3)]), 0,
    ),
    "batch norm": (
        (1, 8, 6),
        lambda: halves([nn.Conv2d(1, 5, 3), nn.BatchNorm2d(5), nn.ReLU(), nn.Flatten()], [nn.Linear(120, 3)]), 0,
    ),
    "states": (
        (4, 5), lambda: halves([LastState(nn.GRU(5, 6, batch_first=True))], [nn.Linear(6, 4), nn.Linear(4, 1)]), 0,
    ),
}  # fmt: skip
FEATURED = [name for name, (_, _, head) in MODELS.items() if head is not None]
CASES = [(name, "outputs") for name in MODELS] + [(name, "features") for name in FEATURED]
SOLVERS = {
    "plain": SGD(epochs=3, batch=6, lr=0.05),
    "few steps": SGD(steps=4, batch=8, lr=0.05),
    "momentum and pull": SGD(epochs=2, batch=7, momentum=0.5, lr=0.05, weight_decay=0.01).plus(Proximal(0.3)),
}


def problem(name: str, precision: str = "float64") -> tuple[Layout, Array, Array, Array]:
    shape, build, _ = MODELS[name]
    rng = np.random.default_rng(3)
    x = rng.normal(size=(19, *shape))
    layout = Layout.of(build, x[:1].astype(np.float32), precision)
    return layout, layout.init(Key(1)), x.astype(layout.dtype), rng.integers(0, layout.classes, 19)


def trained(kernel: Any, solver: SGD, given: tuple[Layout, Array, Array, Array]) -> tuple[Array, float]:
    net = Net(given[0], Arithmetic(kernel=kernel))
    if kernel == "native":
        assert net.native is not None
        rule = solver.rule(0)
        assert rule is not None and net.native.network.follows(rule)
    done = solver(net, *given[1:], Key(4).at(3).of("ann"))
    return done.update_P, done.loss


@pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
@pytest.mark.parametrize(("name", "sees"), CASES)
def test_in_double_precision_it_is_ordinary_training(name: str, sees: Sees, solver: SGD) -> None:
    """Sharp kernels, of width 1e-6, make of a rounding of 1e-16 in the first step one of 1e-10."""
    given = problem(name)
    without = trained("native", solver, given)[0]
    solver = solver.plus(MMD(0.2, sees))
    (one_P, one), (two_P, two) = (trained(kernel, solver, given) for kernel in ("torch", "native"))
    np.testing.assert_allclose(two_P, one_P, rtol=0, atol=1e-9)
    assert two == pytest.approx(one, abs=1e-9)
    assert np.abs(two_P - without).max() > 1e-4


@pytest.mark.parametrize("variant", runnable)
@pytest.mark.parametrize(("name", "sees"), CASES)
def test_every_variant_trains_alike_in_single_precision(
    variant: str, name: str, sees: Sees, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two steps: in the first both streams are the same, but for batch norm."""
    library = ctypes.CDLL(str(built_as(variant)))
    monkeypatch.setattr(sys.modules[Native.__module__], "native", lambda: (variant, library))
    given, wide = problem(name, "float32"), problem(name)
    wide[1][:] = given[1]
    solver = SGD(steps=2, batch=6, lr=0.3).plus(MMD(0.2, sees))
    truth_P = trained("torch", solver, (*wide[:2], given[2].astype(float), wide[3]))[0]
    for kernel in ("torch", "native"):
        assert np.abs(trained(kernel, solver, given)[0] - truth_P).max() <= 2e-4 * np.abs(truth_P).max(), kernel


@pytest.mark.parametrize("dual", [False, True])
def test_both_forms_of_the_first_layer_do_the_same(dual: bool) -> None:
    layout, start_P, x, y = problem("a perceptron")
    kernel = Net(layout, Arithmetic(kernel="native")).native
    rule = SGD(lr=0.1).plus(MMD(0.5)).rule(0)
    assert kernel is not None and rule is not None
    order, cuts = np.arange(19), np.array([0, 7, 14, 19])
    wanted, _ = kernel.train(start_P, x, y, order, cuts, rule, dual=False)
    got, _ = kernel.train(start_P, x, y, order, cuts, rule, dual=dual)
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-9)


def test_the_first_step_is_that_without_the_term() -> None:
    """There both streams are the same model."""
    layout, start_P, x, y = problem("a perceptron", "float32")
    net, key = Net(layout, Arithmetic(kernel="native")), Key(2)
    plain = SGD(steps=1, batch=19, lr=0.1)
    one, two = (solver(net, start_P, x, y, key).update_P for solver in (plain, plain.plus(MMD(1.0))))
    np.testing.assert_allclose(one, two, rtol=0, atol=1e-7)


@pytest.mark.parametrize("name", MODELS)
def test_where_features_end(name: str) -> None:
    network = Network.of(MODELS[name][1]())
    assert network is not None and network.head == MODELS[name][2]


def test_features_that_no_layer_is_given_are_compared_through_torch() -> None:
    def network(features: list[nn.Module], head: list[nn.Module]) -> Network:
        found = Network.of(halves(features, head))
        assert found is not None
        return found

    rule = SGD().plus(MMD(0.1, "features")).rule(0)
    assert rule is not None
    apart = {
        "inputs": network([nn.Flatten()], [nn.Linear(20, 3)]),
        "before the rectifier": network([nn.Linear(20, 4)], [nn.ReLU(), nn.Linear(4, 3)]),
        "inside a stage": network([nn.Conv2d(1, 5, 3)], [nn.ReLU(), nn.Flatten(), nn.Linear(120, 3)]),
    }
    assert {name: found.follows(rule) for name, found in apart.items()} == dict.fromkeys(apart, False)
    assert all(found.follows(Rule(0.1)) for found in apart.values())
    layout = Layout.of(lambda: halves([nn.Flatten()], [nn.Linear(20, 3)]), np.zeros((1, 20), np.float32))
    start_P, x, y = layout.init(Key(0)), np.ones((5, 20), np.float32), np.arange(5) % 3
    kernel = Net(layout, Arithmetic(kernel="native"))
    solver = SGD().plus(MMD(0.1, "features"))
    one, two = (solver(net, start_P, x, y, Key(1)).update_P for net in (Net(layout), kernel))
    np.testing.assert_array_equal(one, two)
    assert kernel.native is not None
    with pytest.raises(ValueError, match="no features that could be compared"):
        kernel.native.train(start_P, x, y, np.arange(5), np.array([0, 5]), rule)


def test_what_the_kernel_does_not_take() -> None:
    class Own(MMD):
        pass

    assert SGD().plus(MMD(0.1), MMD(0.2)).rule(0) is None
    assert SGD().plus(Own(0.1)).rule(0) is None
    assert SGD().plus(MMD(0.0, "features"), MMD(0.2)).rule(0) == SGD().plus(MMD(0.2)).rule(0)
    assert SGD().plus(MMD(0.0)).rule(0) == SGD().rule(0)
    rule = SGD().plus(MMD(0.1), Proximal(0.5)).rule(0)
    assert rule is not None and rule.pull == 0.5 and rule.discrepancy is not None and rule.discrepancy.lam == 0.1


def test_whole_runs_agree_with_every_kernel_and_engine() -> None:
    settings: dict[str, Any] = {"rounds": 3, "epochs": 3, "lr": 0.1, "clients_per_round": 5}
    ways: list[dict[str, Any]] = [
        {"kernel": "torch", "engine": "serial"},
        {"kernel": "native", "engine": "serial"},
        {"kernel": "native", "engine": "local", "workers": 2},
    ]
    runs = [shoal.run("fedmmd", "digits", lam=0.1, **way, **settings) for way in ways]
    assert runs[0].summary["best_accuracy"] == pytest.approx(runs[1].summary["best_accuracy"], abs=0.02)
    np.testing.assert_array_equal(runs[1].serving.models_KP, runs[2].serving.models_KP)
