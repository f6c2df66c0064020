"""The native kernel against ordinary training by autograd: LSTM and GRU layers."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import shoal
from shoal.data.federation import Federation
from shoal.kernels import Native, Network, Plan, Rule, Store, log_probabilities_many, native, train_many
from shoal.kernels.calls import at
from shoal.kernels.native import VARIANTS, built_as
from shoal.kernels.recurrent import Cell
from shoal.layout import Layout
from shoal.models import factory
from shoal.models.recurrent import AllStates, LastState, OneBiasLSTM
from shoal.net import Arithmetic, Net
from shoal.seeds import Key
from shoal.solvers import SGD, Proximal
from shoal.types import Array
from tests.kernels.against_torch import errors_in_single, same_in_double

best = native()
pytestmark = pytest.mark.skipif(best is None, reason="there is no native kernel")
runnable = [] if best is None else [name for name in VARIANTS[: VARIANTS.index(best[0]) + 1] if built_as(name)]

Shape = tuple[int, int]


def lstm(*sizes: int, **more: Any) -> nn.LSTM:
    return nn.LSTM(*sizes, batch_first=True, **more)


def gru(*sizes: int, **more: Any) -> nn.GRU:
    return nn.GRU(*sizes, batch_first=True, **more)


MODELS: dict[str, tuple[Shape, Callable[[], list[nn.Module]]]] = {
    "an LSTM": ((6, 7), lambda: [LastState(lstm(7, 5)), nn.Linear(5, 3)]),
    "one bias, log-odds": ((9, 12), lambda: [LastState(OneBiasLSTM(12, 20, layers=2)), nn.Linear(20, 4),
                                             nn.Linear(4, 1)]),
    "no bias": ((4, 3), lambda: [LastState(lstm(3, 17, bias=False)), nn.Linear(17, 3, bias=False)]),
    "whole vectors": ((5, 16), lambda: [LastState(lstm(16, 32)), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 3)]),
    "more rows than a tile": ((3, 33), lambda: [LastState(lstm(33, 9, 3)), nn.Linear(9, 2)]),
    "a GRU": ((6, 7), lambda: [LastState(gru(7, 5)), nn.Linear(5, 3)]),
    "GRU layers": ((5, 8), lambda: [LastState(gru(8, 33, 2)), nn.Linear(33, 6), nn.ReLU(), nn.Linear(6, 1)]),
    "a GRU without bias": ((5, 8), lambda: [LastState(gru(8, 16, bias=False)), nn.Linear(16, 2)]),
    "both": ((7, 5), lambda: [AllStates(lstm(5, 11, 2)), AllStates(gru(11, 18)), LastState(lstm(18, 3)),
                              nn.Linear(3, 4)]),
    "one word": ((1, 5), lambda: [LastState(lstm(5, 4, 2)), nn.Linear(4, 2)]),
    "one unit, one number": ((3, 1), lambda: [LastState(gru(1, 1)), nn.Linear(1, 2)]),
}  # fmt: skip
SOLVERS = {
    "plain": SGD(epochs=2, batch=6, lr=0.3),
    "momentum": SGD(steps=7, batch=5, momentum=0.9, lr=0.1),
    "decay": SGD(epochs=2, batch=40, weight_decay=0.05, l2=0.02, lr_decay=0.9, lr=0.3),
    "proximal": SGD(epochs=2, batch=4, lr=0.3).plus(Proximal(0.7)),
    "nothing": SGD(epochs=0),
}


def problem(name: str, precision: str = "float64") -> tuple[Layout, Array, Array, Array]:
    """Words of zeros stand in front, as padding does, and here and there."""
    shape, parts = MODELS[name]
    rng = np.random.default_rng(3)
    x = rng.normal(size=(19, *shape)) * (rng.random((19, shape[0], 1)) < 0.7)
    layout = Layout.of(lambda: nn.Sequential(*parts()), x[:1].astype(np.float32), precision)
    y = rng.integers(0, layout.classes, 19)
    return layout, layout.init(Key(1)), x.astype(layout.dtype), y


@pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
@pytest.mark.parametrize("name", MODELS)
def test_in_double_precision_it_is_ordinary_training(name: str, solver: SGD) -> None:
    same_in_double(problem(name), solver)


@pytest.mark.parametrize("name", MODELS)
def test_in_single_precision_it_is_as_close_to_the_truth_as_torch(name: str) -> None:
    """Eight steps, each of which rounds weights below 1 by up to 3e-8."""
    solver = SGD(epochs=2, batch=6, lr=0.3)
    for kernel, error_P, _ in errors_in_single(problem(name, "float32"), problem(name), solver):
        assert error_P.max() <= 4e-7, kernel


@pytest.mark.parametrize("variant", runnable)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("precision", "close"), [("float64", 1e-12), ("float32", 1e-5)])
def test_every_variant_trains_alike(
    variant: str, name: str, precision: str, close: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout, start_P, x, y = problem(name, precision)
    library = ctypes.CDLL(str(built_as(variant)))
    monkeypatch.setattr(sys.modules[Native.__module__], "native", lambda: (variant, library))
    solver = SGD(epochs=2, batch=8, lr=0.2, momentum=0.5)
    one, two = (solver(Net(layout, Arithmetic(kernel=k)), start_P, x, y, Key(4)) for k in ("torch", "native"))
    np.testing.assert_allclose(two.update_P, one.update_P, rtol=0, atol=close)


def test_the_gradient_is_the_slope_of_the_loss() -> None:
    """One step of rate 1 on all samples is the gradient; slopes by central differences, of the kernel's own losses."""
    layout, start_P, x, y = problem("both")
    kernel = Net(layout, Arithmetic(kernel="native")).native
    assert kernel is not None
    cuts, order = np.array([0, 19]), np.arange(19)

    def loss(vector_P: Array) -> float:
        return kernel.train(vector_P, x, y, order, cuts, Rule(0.0))[1] / 19

    gradient_P = -kernel.train(start_P, x, y, order, cuts, Rule(1.0))[0]
    for place in np.random.default_rng(7).choice(layout.size, 60, replace=False):
        step_P = np.zeros_like(start_P)
        step_P[place] = 1e-5
        slope = (loss(start_P + step_P) - loss(start_P - step_P)) / 2e-5
        assert gradient_P[place] == pytest.approx(slope, abs=1e-9)


@pytest.mark.parametrize("variant", runnable)
def test_the_functions_of_gates_are_as_exact_as_the_kernel_says(variant: str) -> None:
    """Relative to their true values, down to where single precision ends; no number stays none."""
    library = ctypes.CDLL(str(built_as(variant)))
    far = np.linspace(-80, 80, 400001, dtype=np.float32)
    near = np.float32(2.0) ** np.linspace(-60, 6, 99951, dtype=np.float32)
    x = np.concatenate([far, near, -near, np.array([0, -0.0, 200, -200, np.inf, -np.inf, np.nan], np.float32)])
    x = np.concatenate([x, np.zeros(-len(x) % 16, np.float32)])
    one, two = np.empty_like(x), np.empty_like(x)
    for lanes in {"base": [4], "avx2": [8], "avx512": [16]}[variant]:
        vectors = ctypes.c_int64(len(x) // lanes)
        library.gates_of_f32(ctypes.c_void_p(at(x)), vectors, ctypes.c_void_p(at(one)), ctypes.c_void_p(at(two)))
    wide = x.astype(float)
    with np.errstate(over="ignore"):
        sigmoid, tangent = 1 / (1 + np.exp(-wide)), np.tanh(wide)
    usual = np.abs(wide) <= 80
    assert (np.abs(one - sigmoid) <= 3e-7 * sigmoid)[usual].all()
    assert (np.abs(two - tangent) <= 3e-7 * np.abs(tangent))[usual].all()
    np.testing.assert_allclose(one[~usual], sigmoid[~usual], atol=1e-30)
    np.testing.assert_array_equal(two[~usual], tangent[~usual])


@pytest.mark.parametrize("name", ["one bias, log-odds", "both", "GRU layers"])
def test_kept_momentum_goes_on_where_it_was(name: str) -> None:
    layout, start_P, x, y = problem(name)
    solver = SGD(epochs=1, batch=8, momentum=0.9, momentum_memory="kept", weight_decay=0.01)
    found: dict[str, Any] = {}
    for kernel in ("torch", "native"):
        net, now_P, speed = Net(layout, Arithmetic(kernel=kernel)), start_P, None
        for t in range(3):
            trained = solver(net, now_P, x, y, Key(4).at(t), speed)
            now_P, speed = now_P + trained.update_P, trained.velocity
        found[kernel] = now_P, speed
    for native_one, torch_one in zip(found["native"], found["torch"], strict=True):
        np.testing.assert_allclose(native_one, torch_one, rtol=0, atol=1e-11)


@pytest.mark.parametrize("name", ["one bias, log-odds", "both"])
@pytest.mark.parametrize("rule", [Rule(0.2), Rule(0.1, momentum=0.5, pull=0.1)], ids=["plain", "not plain"])
def test_one_call_is_the_same_as_one_client_after_the_other(name: str, rule: Rule) -> None:
    """Also behind a client that diverges, in the same memory."""
    layout, start_P, x, y = problem(name, "float32")
    kernel = Net(layout, Arithmetic(kernel="native")).native
    assert kernel is not None
    sizes, plan = [3, 19, 1, 12, 7], Plan(epochs=2, batch=5)
    rows = [np.random.default_rng(i).permutation(19)[:n] for i, n in enumerate(sizes)]
    starts = [np.full_like(start_P, 3e38), *(layout.init(Key(i)) for i in range(4))]

    def train(who: list[int], threads: int) -> Array:
        index = np.concatenate([rows[i] for i in who])
        offsets = np.concatenate([[0], np.cumsum([sizes[i] for i in who])])
        return train_many(
            kernel, Store(x), index, offsets, y[index], np.zeros(len(who), int), [starts[i] for i in who], who, plan,
            rule, [None] * len(who), threads,
        )[0]  # fmt: skip

    alone = np.concatenate([train([i], 1) for i in range(5)])
    assert np.isnan(alone[0]).any() and np.isfinite(alone[1:]).all() and alone[1:].any(axis=1).all()
    for threads in (1, 2, 3):
        np.testing.assert_array_equal(train([0, 1, 2, 3, 4], threads), alone)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_models_say_what_they_say_in_torch(name: str, precision: str) -> None:
    layout, start_P, x, _ = problem(name, precision)
    net = Net(layout, Arithmetic(kernel="native"))
    assert net.native is not None
    places = [np.arange(19).repeat(4), np.array([2]), np.zeros(0, int)]
    pieces = [(start_P, index, 0) for index in places]
    one, two = (log_probabilities_many(net.native, Store(x), pieces, threads) for threads in (1, 3))
    net.load(start_P)
    with torch.no_grad():
        scores = net.module.eval()(torch.from_numpy(x))
    scores = torch.cat([torch.zeros_like(scores), scores], 1) if scores.shape[1] == 1 else scores
    wanted = torch.log_softmax(scores, 1).numpy()
    for index, a, b in zip(places, one, two, strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_allclose(a, wanted[index], rtol=0, atol=1e-6 if precision == "float32" else 1e-12)
    np.testing.assert_array_equal(one[0][8:9], one[1])  # whatever goes through beside it


def test_odds_far_from_even_are_not_lost() -> None:
    """exp(-200) is 0 in single precision, its logarithm is not."""
    network = Network((1, 1), (True,), (), (Cell(1, 1, 0),), (False,))
    kernel = Native(network, np.dtype(np.float32))
    for odds in (200.0, -200.0):
        model_P = np.array([0] * 8 + [0, odds], np.float32)
        rows = log_probabilities_many(kernel, Store(np.ones((1, 1, 1), np.float32)), [(model_P, np.arange(1), 0)])[0]
        np.testing.assert_array_equal(rows, [[min(-odds, 0), min(odds, 0)]])
        x, y, cuts = np.ones((2, 1, 1), np.float32), np.array([0, 1]), np.array([0, 2])
        assert kernel.train(model_P, x, y, np.arange(2), cuts, Rule(0.0))[1] == 200


def test_a_number_that_is_none_shows() -> None:
    layout, start_P, x, y = problem("both", "float32")
    x[0, 3, 0] = np.nan
    trained = SGD(epochs=1, batch=19, lr=0.1)(Net(layout, Arithmetic(kernel="native")), start_P, x, y, Key(0))
    assert np.isnan(trained.loss) and np.isnan(trained.update_P).any()


def test_samples_that_do_not_fit_are_refused() -> None:
    layout, start_P, x, y = problem("both")
    net = Net(layout, Arithmetic(kernel="native"))
    for wrong in (x[..., :3], x[:, :0], x[:, 0], x[:, None]):
        with pytest.raises(ValueError, match="do not fit the model"):
            SGD()(net, start_P, wrong, y, Key(0))


def test_what_counts_as_a_recurrent_network() -> None:
    class Own(nn.LSTM):
        pass

    class Other(LastState):
        pass

    def network(*parts: nn.Module) -> Network | None:
        return Network.of(nn.Sequential(*parts, nn.Linear(4, 2)))

    frozen, biased, hooked = lstm(3, 4), lstm(3, 4), LastState(lstm(3, 4))
    frozen.weight_ih_l0.requires_grad_(False)
    biased.bias_hh_l0.requires_grad_(False)  # not zero
    hooked.cell.register_forward_hook(lambda *_: None)
    still = nn.Linear(4, 2)
    still.bias.requires_grad_(False)
    not_one = {
        "both ways": network(LastState(lstm(3, 2, bidirectional=True))),
        "dropout": network(LastState(lstm(3, 4, 2, dropout=0.1))),
        "dropout behind it": network(LastState(lstm(3, 4)), nn.Dropout(0.5)),
        "projections": network(LastState(lstm(3, 8, proj_size=4))),
        "words outermost": network(LastState(nn.LSTM(3, 4))),
        "a plain RNN": network(LastState(nn.RNN(3, 4, batch_first=True))),  # type: ignore[arg-type]
        "a subclass": network(LastState(Own(3, 4, batch_first=True))),
        "a subclass of the reader": network(Other(lstm(3, 4))),
        "a hook": network(hooked),
        "frozen weights": network(LastState(frozen)),
        "a frozen bias": network(LastState(biased)),
        "a frozen layer": Network.of(nn.Sequential(LastState(lstm(3, 4)), still)),
        "all states at the end": network(AllStates(lstm(3, 4))),
        "a last state too early": network(LastState(lstm(3, 4)), LastState(lstm(4, 4))),
        "widths that do not meet": network(AllStates(lstm(3, 5)), LastState(lstm(4, 4))),
        "a head that does not meet": network(LastState(lstm(3, 5))),
        "a rectifier first": network(LastState(lstm(3, 4)), nn.ReLU()),
        "two rectifiers": network(LastState(lstm(3, 4)), nn.Linear(4, 4), nn.ReLU(), nn.ReLU()),
        "no head": Network.of(nn.Sequential(LastState(lstm(3, 4)))),
        "torch's own, which gives two things": network(lstm(3, 4)),
    }
    assert not_one == dict.fromkeys(not_one)
    found = network(LastState(OneBiasLSTM(3, 4, layers=2)), nn.Linear(4, 4), nn.Linear(4, 4), nn.ReLU())
    assert found == Network((4, 4, 4, 2), (True, True, True), (), (Cell(3, 4, 1), Cell(4, 4, 1)), (False, False, True))


def test_sizes_of_networks_by_hand() -> None:
    """An LSTM of 3 units on words of 2 numbers has 12 x (2 + 3) weights and, here, 12 biases; a word is 60
    multiplications. A GRU of 2 units on those has 6 x (3 + 2) and 12. A head 2-1 with bias is 3 numbers.
    """
    network = Network((2, 1), (True,), (), (Cell(2, 3, 1), Cell(3, 2, 2, gru=True)), (False,))
    assert (network.trainable, network.size, network.classes) == (72 + 42 + 3, 117, 2)
    assert network.multiplications((5, 2)) == 5 * (60 + 30) + 2
    assert network.shapes((5, 2)) == ([], 2) and network.shapes((5, 3))[1] == network.shapes((10,))[1] == 0


def test_the_network_of_fedgroup_trains_natively() -> None:
    sample = np.zeros((1, 25, 300), np.float32)
    taken = {
        name: Net(Layout.of(factory(name, (25, 300), 2), sample), Arithmetic(kernel="native")).native is not None
        for name in ("sent140-lstm-fedgroup", "sent140-lstm", "sent140-gru")
    }
    assert taken == {"sent140-lstm-fedgroup": True, "sent140-lstm": False, "sent140-gru": False}


def sequences() -> Federation:
    """Eight clients in two groups, which call what they see by opposite names: whether the mean word points upwards."""
    rng = np.random.default_rng(2)
    made = {}
    for i in range(8):
        x = rng.normal(size=(40, 6, 5)).astype(np.float32)
        made[f"{i}"] = x, (x.mean((1, 2)) > 0).astype(int) ^ (i % 2)
    return Federation.from_arrays(made, name="sequences", classes=2)


def reads() -> nn.Module:
    return nn.Sequential(LastState(gru(5, 12)), nn.Linear(12, 1))


def test_whole_runs_find_the_same_groups_with_every_kernel_and_engine() -> None:
    settings: dict[str, Any] = {"groups": 2, "rounds": 3, "epochs": 3, "lr": 0.5, "batch": 8, "seed": 1}
    ways: list[dict[str, Any]] = [
        {"kernel": "torch", "engine": "serial"},
        {"kernel": "native", "engine": "serial"},
        {"kernel": "native", "engine": "local", "workers": 2},
        {"kernel": "native", "engine": "local", "workers": 3},
    ]
    runs = [shoal.run("ifca", sequences(), model=reads, **way, **settings) for way in ways]
    accuracies = [run.summary["best_accuracy"] for run in runs]
    assert all(run.groups == runs[0].groups for run in runs) and len(set(runs[0].groups.values())) == 2
    assert accuracies[0] == pytest.approx(accuracies[1], abs=0.02)
    for run in runs[2:]:
        np.testing.assert_array_equal(run.serving.models_KP, runs[1].serving.models_KP)
