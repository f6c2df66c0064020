"""The native kernel against ordinary training by autograd: the feature fusion of FedFusion."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import shoal
from shoal.kernels import Mixing, Native, Network, native
from shoal.layout import Layout
from shoal.models.recurrent import LastState
from shoal.net import Arithmetic, Net
from shoal.seeds import Key
from shoal.solvers import MMD, SGD, Fused, Operator, Proximal
from shoal.types import Array

pytestmark = pytest.mark.skipif(native() is None, reason="there is no native kernel")


def halves(features: list[nn.Module], head: list[nn.Module]) -> nn.Sequential:
    return nn.Sequential(OrderedDict(features=nn.Sequential(*features), head=nn.Sequential(*head)))


def stage() -> list[nn.Module]:
    return [nn.Conv2d(1, 5, 3), nn.MaxPool2d(2), nn.ReLU()]


Shape = tuple[int, ...]
MODELS: dict[str, tuple[Shape, Callable[[], nn.Module]]] = {
    "a perceptron": ((20,), lambda: halves([nn.Linear(20, 17), nn.ReLU()], [nn.Linear(17, 3)])),
    "a deep head": (
        (20,), lambda: halves([nn.Linear(20, 7), nn.ReLU()], [nn.Linear(7, 6), nn.ReLU(), nn.Linear(6, 3)]),
    ),
    "deep features": (
        (20,), lambda: halves([nn.Linear(20, 7), nn.ReLU(), nn.Linear(7, 18), nn.ReLU()], [nn.Linear(18, 3)]),
    ),
    "maps": ((1, 8, 6), lambda: halves(stage(), [nn.Flatten(), nn.Linear(30, 3)])),
    "flat maps": (
        (1, 8, 6), lambda: halves([*stage(), nn.Flatten()], [nn.Linear(30, 4), nn.ReLU(), nn.Linear(4, 3)]),
    ),
    "batch norm": (
        (1, 8, 6),
        lambda: halves([nn.Conv2d(1, 5, 3), nn.BatchNorm2d(5), nn.ReLU()], [nn.Flatten(), nn.Linear(120, 3)]),
    ),
    "states": (
        (4, 5), lambda: halves([LastState(nn.GRU(5, 6, batch_first=True))], [nn.Linear(6, 4), nn.Linear(4, 1)]),
    ),
}  # fmt: skip
SOLVERS = {
    "plain": SGD(epochs=3, batch=6, lr=0.05),
    "few steps": SGD(steps=4, batch=8, lr=0.05),
    "momentum and pull": SGD(epochs=2, batch=7, momentum=0.5, lr=0.05, weight_decay=0.01, l2=0.02).plus(Proximal(0.3)),
}
OPERATORS: list[tuple[Operator, float | None]] = [("conv", None), ("multi", None), ("single", None), ("single", 0.25)]
Problem = tuple[Layout, Array, Array, Array]


def problem(name: str, operator: Operator, gamma: float | None, precision: str = "float64") -> Problem:
    """A model with fusion that starts anywhere: gamma is not where it starts by itself."""
    shape, build = MODELS[name]
    rng = np.random.default_rng(3)
    x = rng.normal(size=(19, *shape))
    layout = Layout.of(Fused.of(build, x[:1].astype(np.float32), operator, gamma), x[:1].astype(np.float32), precision)
    start_P = layout.init(Key(1))
    for at in layout.slices("fusion.gamma") if operator != "conv" and gamma is None else ():
        start_P[at] = rng.uniform(0.2, 0.7, start_P[at].shape)
    return layout, start_P, x.astype(layout.dtype), rng.integers(0, layout.classes, 19)


def trained(kernel: Any, solver: SGD, given: Problem) -> tuple[Array, float]:
    net = Net(given[0], Arithmetic(kernel=kernel))
    assert (net.native is not None) == (kernel == "native")
    got = solver(net, *given[1:], Key(5).at(2))
    return got.update_P, got.loss


@pytest.mark.parametrize("how", SOLVERS)
@pytest.mark.parametrize(("operator", "gamma"), OPERATORS)
@pytest.mark.parametrize("name", MODELS)
def test_it_trains_as_autograd_does_in_double_precision(
    name: str, operator: Operator, gamma: float | None, how: str
) -> None:
    given = problem(name, operator, gamma)
    ours, loss = trained("native", SOLVERS[how], given)
    theirs, expected = trained("torch", SOLVERS[how], given)
    assert np.abs(theirs).max() > 1e-3
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
    assert loss == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("operator", ["conv", "multi", "single"])
@pytest.mark.parametrize("name", MODELS)
def test_it_is_near_in_single_precision(name: str, operator: Operator) -> None:
    """One step, so that no unit turns off under another order of sums."""
    given, exact = (problem(name, operator, None, precision) for precision in ("float32", "float64"))
    solver = SGD(steps=1, batch=19, lr=1.0)
    ours, _ = trained("native", solver, given)
    theirs, _ = trained("torch", solver, exact)
    np.testing.assert_allclose(ours, theirs, atol=2e-5 * np.abs(theirs).max())


@pytest.mark.parametrize("operator", ["conv", "multi"])
@pytest.mark.parametrize("name", ["a perceptron", "maps", "batch norm", "states"])
def test_tests_mix_features_with_themselves(name: str, operator: Operator) -> None:
    layout, start_P, x, _ = problem(name, operator, None)
    said = []
    for kernel in ("torch", "native"):
        net = Net(layout, Arithmetic(kernel=kernel))
        net.load(start_P)
        said.append(net.log_probabilities(x))
    np.testing.assert_allclose(said[1], said[0], atol=1e-12)


def test_gamma_by_hand() -> None:
    """One sample x = 1 of class 0, features 2 x, head (h, -h) of h = 1: scores (s, -s).

    The model received has features 2, and so has the local one at first: s = 2 whatever gamma is, and with
    p = 1 / (1 + e^(2 s)) the slope by s is -2 p. By the weight that makes the features it is (1 - gamma) (-2 p) x.
    """
    model = Fused(
        lambda: halves([nn.Linear(1, 1, bias=False), nn.ReLU()], [nn.Linear(1, 2, bias=False)]), "single", 1, False
    )
    layout = Layout.of(model, np.ones((1, 1), np.float32), "float64")
    assert [part.name for part in layout.parts] == ["local.0.weight", "fusion.gamma", "head.0.weight"]
    start_P, given = np.array([2.0, 0.25, 1.0, -1.0]), (np.ones((1, 1)), np.zeros(1, int))
    net = Net(layout, Arithmetic(kernel="native"))
    got = SGD(steps=1, lr=1.0, batch=1)(net, start_P, *given, Key(0))
    p = 1 / (1 + np.exp(4.0))
    np.testing.assert_allclose(got.update_P, [0.75 * 2 * p, 0, 2 * p, -2 * p], atol=1e-12)
    got = SGD(steps=2, lr=1.0, batch=1)(net, start_P, *given, Key(0))
    mine, head = 2 + 1.5 * p, 1 + 2 * p  # before the second step; then features differ, and gamma moves
    q = 1 / (1 + np.exp(2 * head * (0.25 * 2 + 0.75 * mine)))
    assert got.update_P[1] == pytest.approx(2 * q * head * (2 - mine), abs=1e-12)


@pytest.mark.parametrize("operator", ["conv", "multi", "single"])
def test_what_the_kernel_is_told(operator: Operator) -> None:
    layout = problem("maps", operator, None)[0]
    found = Network.of(layout.probe)
    assert found is not None
    assert found.head == 0
    assert found.mixing == {"conv": Mixing(5, layered=True), "multi": Mixing(5, 5), "single": Mixing(1, 1)}[operator]
    assert found.size == layout.size
    assert found.multiplications((1, 8, 6)) == (8 * 6 * 5 * 9 + 90) + (2 * 5 * 30 if operator == "conv" else 0)


def test_what_the_kernel_does_not_take_goes_through_torch() -> None:
    class Other(nn.Module):
        def forward(self, mine: torch.Tensor, theirs: torch.Tensor) -> torch.Tensor:
            return mine + theirs

    model = problem("a perceptron", "single", None)[0].factory()
    assert Network.of(model) is not None
    model.fusion = Other()
    assert Network.of(model) is None
    hooked = problem("a perceptron", "single", None)[0].factory()
    hooked.fusion.register_forward_hook(lambda *_: None)  # type: ignore[union-attr]
    assert Network.of(hooked) is None
    regression = Fused(lambda: halves([nn.Flatten()], [nn.Linear(4, 2)]), "single", 4, False)
    assert Network.of(regression()) is None


def test_two_comparisons_with_the_model_received_go_through_torch() -> None:
    layout = problem("a perceptron", "multi", None)[0]
    found = Network.of(layout.probe)
    rule = SGD().plus(MMD(0.1)).rule(1)
    assert found is not None
    assert rule is not None
    assert not found.follows(rule)
    with pytest.raises(ValueError, match="compared"):
        Native(found, np.dtype(np.float64)).train(
            layout.init(Key(0)).astype(np.float64),
            np.zeros((2, 20)),
            np.zeros(2, int),
            np.arange(2),
            np.array([0, 2]),
            rule,
        )


@pytest.mark.parametrize("operator", ["conv", "multi", "single"])
def test_a_run_has_the_same_bits_whatever_shares_the_work(operator: str) -> None:
    given = dict(partition="iid:clients=6", model="mlp:hidden=9", rounds=2, operator=operator, clients_per_round=4)
    runs = [shoal.run("fedfusion", "digits", engine=e, workers=w, **given) for e, w in (("serial", None), ("local", 3))]  # type: ignore[arg-type]
    assert runs[0].plan.arithmetic.kernel == "native"
    assert np.array_equal(runs[0].serving.models_KP, runs[1].serving.models_KP)
