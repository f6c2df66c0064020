"""The local solver against numbers computed by hand and against softmax regression written out in numpy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from shoal.errors import BadInput
from shoal.layout import Layout
from shoal.net import Net
from shoal.objectives import OBJECTIVES
from shoal.seeds import Key
from shoal.solvers import MMD, SGD, LossTerm, Proximal, batches, gradient
from shoal.types import Array


def net_of(inputs: int, classes: int, dtype: str = "float64", bias: bool = True) -> Net:
    return Net(Layout.of(lambda: nn.Linear(inputs, classes, bias=bias), np.zeros((1, inputs)), dtype))


def test_one_step_by_hand() -> None:
    # One sample x = 2 of class 0, two classes, w = (0, 0), no bias: p = (1/2, 1/2), gradient (p - onehot) x = (-1, 1).
    # lr 0.1: w = (0.1, -0.1); loss -ln(1/2).
    net = net_of(1, 2, bias=False)
    got = SGD(lr=0.1)(net, np.zeros(2), np.array([[2.0]]), np.array([0]), Key(0))
    np.testing.assert_allclose(got.update_P, [0.1, -0.1], rtol=1e-12)
    assert got.loss == pytest.approx(np.log(2))


def test_two_proximal_steps_by_hand() -> None:
    # x = 1, class 0, w = (0, 0), lr 1, mu 0.5. Step 1: the penalty is 0, w = (1/2, -1/2).
    # Step 2: p0 = 1 / (1 + e^-1) = 0.7310586; gradient (p0 - 1, 1 - p0) + mu (w - 0) = (-0.2689414 + 0.25, ...).
    net = net_of(1, 2, bias=False)
    solver = SGD(lr=1.0, epochs=2).plus(Proximal(0.5))
    got = solver(net, np.zeros(2), np.array([[1.0]]), np.array([0]), Key(0))
    np.testing.assert_allclose(
        got.update_P, [0.5 + 0.2689414213699951 - 0.25, -(0.5 + 0.2689414213699951 - 0.25)], rtol=1e-12
    )


def reference(solver: SGD, w: Array, x: Array, y: Array, round: int, mu: float = 0.0, v: Array | None = None) -> Array:
    """Softmax regression with bias, trained in the order given; weights first, then bias, as in the flat vector."""
    c, d = len(w) // (x.shape[1] + 1), x.shape[1]
    start, v = w.copy(), np.zeros_like(w) if v is None else v.copy()
    kernel = np.arange(len(w)) < c * d
    lr = solver.lr * solver.lr_decay ** (round - 1)
    for _ in range(solver.epochs):
        for i in range(0, len(y), solver.batch):
            xb, yb = x[i : i + solver.batch], y[i : i + solver.batch]
            scores = xb @ w[: c * d].reshape(c, d).T + w[c * d :]
            p = np.exp(scores - scores.max(1, keepdims=True))
            p /= p.sum(1, keepdims=True)
            p[np.arange(len(yb)), yb] -= 1
            p /= len(yb)
            g = np.concatenate([(p.T @ xb).ravel(), p.sum(0)])
            g = g + solver.weight_decay * w + 2 * solver.l2 * kernel * w + mu * (w - start)
            v = solver.momentum * v + g
            w = w - lr * v
    return w - start


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"momentum": 0.9},
        {"weight_decay": 0.1},
        {"l2": 0.05},
        {"lr_decay": 0.5},
        {"momentum": 0.9, "weight_decay": 0.01, "l2": 0.02, "lr_decay": 0.9, "mu": 0.3},
    ],
)
def test_against_softmax_regression_in_numpy(change: dict[str, float]) -> None:
    rng = np.random.default_rng(1)
    x, y, w = rng.normal(size=(23, 4)), rng.integers(0, 3, 23), rng.normal(size=15)
    mu = change.pop("mu", 0.0)
    plain = SGD(lr=0.2, epochs=3, batch=5, shuffle=False, **change)  # type: ignore[arg-type]
    solver = plain.plus(Proximal(mu)) if mu else plain
    got = solver(net_of(4, 3), w, x, y, Key(0).at(3))
    np.testing.assert_allclose(got.update_P, reference(plain, w, x, y, 3, mu), rtol=1e-10)


def test_momentum_can_be_kept_from_round_to_round() -> None:
    rng = np.random.default_rng(2)
    x, y, w = rng.normal(size=(6, 2)), rng.integers(0, 2, 6), rng.normal(size=6)
    solver = SGD(lr=0.1, batch=6, momentum=0.9, momentum_memory="kept", shuffle=False)
    first = solver(net_of(2, 2), w, x, y, Key(0))
    second = solver(net_of(2, 2), w + first.update_P, x, y, Key(0), first.velocity)
    # One batch a round: the first buffer is the first gradient, minus the update over lr.
    expected = reference(solver, w + first.update_P, x, y, 1, v=-first.update_P / 0.1)
    np.testing.assert_allclose(second.update_P, expected, rtol=1e-9)
    assert SGD(momentum=0.9)(net_of(2, 2), w, x, y, Key(0)).velocity is None


def test_a_zero_coefficient_is_plain_sgd_bit_for_bit() -> None:
    rng = np.random.default_rng(3)
    x, y, w = rng.normal(size=(20, 4)), rng.integers(0, 3, 20), rng.normal(size=15).astype(np.float32)
    plain, zero = SGD(epochs=3), SGD(epochs=3).plus(Proximal(0.0))
    a, b = (s(net_of(4, 3, "float32"), w, x, y, Key(5)).update_P for s in (plain, zero))
    assert a.tobytes() == b.tobytes()


def test_the_closed_gradient_is_that_of_the_term() -> None:
    class Graph(LossTerm):
        """The same term without its closed gradient, so that the solver differentiates it."""

        def __call__(self, net: Net, params: Any, anchor: Any, batch: Any) -> Any:
            return Proximal(0.7)(net, params, anchor, batch)

    rng = np.random.default_rng(4)
    x, y, w = rng.normal(size=(20, 4)), rng.integers(0, 3, 20), rng.normal(size=15)
    a, b = (SGD(epochs=2).plus(t)(net_of(4, 3), w, x, y, Key(5)).update_P for t in (Proximal(0.7), Graph()))
    np.testing.assert_allclose(a, b, rtol=1e-10)


def test_a_term_says_what_it_is() -> None:
    class Plain:
        def __call__(self, net: Net, params: Any, anchor: Any, batch: Any) -> Any:
            return params.sum()

    with pytest.raises(BadInput, match=r"Plain is no loss term: derive it from shoal.solvers.LossTerm"):
        SGD().plus(Plain())  # type: ignore[arg-type]
    assert (Proximal(0.7).pull, Proximal(0.7).sees, MMD(0.1).pull, MMD(0.1, "features").sees) == (
        0.7, "outputs", None, "features"
    )  # fmt: skip
    one, three = torch.tensor([1.0]), torch.tensor([3.0])
    assert MMD(0.1).gradient(three, one) is None
    assert Proximal(0.5).gradient(three, one) == torch.tensor([1.0])  # (3 - 1) / 2


def test_steps_and_passes_are_those_of_the_loop() -> None:
    for solver in (SGD(epochs=3, batch=4), SGD(steps=5, batch=4), SGD(steps=0), SGD(epochs=0)):
        for n in (0, 1, 4, 9, 12):
            got = [len(b) for b in batches(n, solver, np.random.default_rng(0))]
            assert (len(got), sum(got)) == (solver.steps_for(n), solver.passes(n))


def test_pretraining_is_short_and_plain() -> None:
    solver = SGD(lr=0.2, epochs=4, batch=3, momentum=0.9, momentum_memory="kept", weight_decay=0.1, lr_decay=0.5).plus(
        Proximal(1.0)
    )
    plain = SGD(lr=0.2, epochs=4, batch=3, momentum=0.9, weight_decay=0.1)  # momentum stays, but is not kept
    assert solver.pretraining(7) == replace(plain, steps=7)
    assert solver.pretraining() == replace(plain, epochs=1)
    assert replace(solver, steps=9).pretraining() == replace(plain, epochs=1)


def test_batches_cover_every_epoch_once() -> None:
    got = [b for b in batches(7, SGD(batch=3, epochs=2), np.random.default_rng(0))]
    assert [len(b) for b in got] == [3, 3, 1, 3, 3, 1]
    assert sorted(np.concatenate(got[:3])) == sorted(np.concatenate(got[3:])) == list(range(7))
    assert np.concatenate(got[:3]).tolist() != np.concatenate(got[3:]).tolist()


def test_steps_count_instead_of_epochs() -> None:
    assert [len(b) for b in batches(5, SGD(batch=2, steps=4), np.random.default_rng(0))] == [2, 2, 1, 2]
    assert list(batches(5, SGD(steps=0), np.random.default_rng(0))) == []
    assert list(batches(0, SGD(steps=3), np.random.default_rng(0))) == []


def test_batch_norm_never_sees_a_batch_of_one() -> None:
    layout = Layout.of(lambda: nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 2)), np.zeros((1, 2)))
    net, w = Net(layout), layout.init(Key(0))
    rng = np.random.default_rng(0)
    got = SGD(batch=4)(net, w, rng.normal(size=(9, 2)), rng.integers(0, 2, 9), Key(0))
    assert got.update_P[layout.counters] == [2]  # batches of 4 and 5
    with pytest.raises(ValueError, match="at least two samples"):
        SGD()(net, w, rng.normal(size=(1, 2)), np.array([0]), Key(0))


def test_training_leaves_the_callers_random_state_alone() -> None:
    net = Net(Layout.of(lambda: nn.Sequential(nn.Dropout(0.5), nn.Linear(2, 2)), np.zeros((1, 2))))
    torch.manual_seed(7)
    expected = torch.rand(1)
    torch.manual_seed(7)
    rng = np.random.default_rng(0)
    first = SGD()(net, np.zeros(6, np.float32), rng.normal(size=(9, 2)), rng.integers(0, 2, 9), Key(0))
    assert torch.rand(1) == expected
    again = SGD()(net, np.zeros(6, np.float32), np.random.default_rng(0).normal(size=(9, 2)), np.zeros(9, int), Key(0))
    assert first.update_P.shape == again.update_P.shape


def test_dropout_depends_on_the_key_alone() -> None:
    net = Net(Layout.of(lambda: nn.Sequential(nn.Dropout(0.5), nn.Linear(2, 2)), np.zeros((1, 2))))
    x, y = np.random.default_rng(0).normal(size=(9, 2)), np.arange(9) % 2
    solver = replace(SGD(), shuffle=False)
    runs = [solver(net, np.zeros(6, np.float32), x, y, Key(seed)).update_P for seed in (1, 1, 2)]
    assert runs[0].tobytes() == runs[1].tobytes() != runs[2].tobytes()


@pytest.mark.parametrize("wrong", [{"lr": -1}, {"batch": 0}, {"epochs": -1}, {"steps": -1}, {"lr": float("nan")}])
def test_impossible_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="must be at least"):
        SGD(**wrong)


def test_the_gradient_of_tokens_is_of_the_mean_over_all_that_count() -> None:
    # One weight per class, x = 1 at every place, w = 0: each token gives p - onehot, p = (1/2, 1/2). Tokens that count:
    # 0 in the first sequence, 1 and 1 in the second: ((-1 + 1 + 1) / 6, (1 - 1 - 1) / 6). By sequence it would be 0.
    layout = Layout.of(
        lambda: nn.Linear(1, 2, bias=False), np.ones((1, 2, 1), np.float32), objective=OBJECTIVES["tokens"]
    )
    x, y = np.ones((2, 2, 1), np.float32), np.array([[0, -100], [1, 1]])
    for piece in (1, 2):
        assert gradient(Net(layout), np.zeros(2), x, y, piece).tolist() == pytest.approx([1 / 6, -1 / 6])
