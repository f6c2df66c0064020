"""The MMD term by hand: two tiny clients, two steps each, and what must not change around it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.conftest import small_net
from torch import nn

from shoal.algorithms.fedavg import State
from shoal.algorithms.fedmmd import FedMMD
from shoal.backends import Serial
from shoal.data.federation import Federation
from shoal.engine import Engine
from shoal.errors import BadInput
from shoal.layout import Layout
from shoal.net import Net
from shoal.seeds import Key
from shoal.solvers import MMD, SGD, mmd
from shoal.solvers.mmd import BANDWIDTHS


def test_mmd_by_hand() -> None:
    # a = {0, 2}, b = {1, 1}, s = 1/2, so k = exp(-d^2). a with a: (1 + 1 + 2 e^-4)/4; b with b: 1; a with b: e^-1.
    a, b = torch.tensor([[0.0], [2.0]]), torch.tensor([[1.0], [1.0]])
    want = (1 + np.exp(-4)) / 2 + 1 - 2 * np.exp(-1)
    assert float(mmd(a, b, (0.5,))) == pytest.approx(want)
    assert float(mmd(a, b, (0.5, 0.5))) == pytest.approx(2 * want)  # kernels add up
    assert float(mmd(a, b)) == pytest.approx(float(mmd(b, a)))
    assert float(mmd(a, a)) == 0


def test_rounding_never_makes_it_negative() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        a = torch.from_numpy(rng.normal(size=(6, 4)).astype(np.float32))
        assert float(mmd(a, a + 1e-5)) >= 0


def pull(difference: float, length: float) -> float:
    """d/df_local of 2 sum_s (1 - exp(-|f_local - f_global|^2 / (2 s))), one sample: 2 (f_l - f_g) sum exp(..)/s."""
    return 2 * difference * sum(float(np.exp(-length / (2 * s))) / s for s in BANDWIDTHS)


def test_two_clients_by_hand() -> None:
    # One linear layer w = (0, 0) without bias, two classes, one sample each, lr 1, lambda 0.01, two epochs.
    # Step 1 begins at the model received: no pull. a (x = 1, class 0): w = (1/2, -1/2). b (x = 2, class 1):
    # gradient (p - onehot) x = (1, -1), w = (-1, 1).
    # Step 2, a: outputs (1/2, -1/2), |f_l - f_g|^2 = 1/2, p0 = 1/(1 + e^-1);
    #         b: outputs (-2, 2), |f_l - f_g|^2 = 8, p0 = 1/(1 + e^4). A gradient of outputs times x is one of w.
    data = {"a": (np.array([[1.0]]), np.array([0])), "b": (np.array([[2.0]]), np.array([1]))}
    federation = Federation.from_arrays({c: (*d, *d) for c, d in data.items()}, classes=2)
    layout = Layout.of(lambda: nn.Linear(1, 2, bias=False), np.zeros((1, 1)), "float64")
    engine = Engine(Serial(), layout)
    engine.set_federation(federation)
    method = FedMMD(lam=0.01, solver=SGD(lr=1.0, epochs=2))
    state, _ = method.step(State(np.zeros((1, 2))), engine, Key(0).at(1))
    pa, pb = 1 / (1 + np.exp(-1)), 1 / (1 + np.exp(4))
    a = 0.5 - ((pa - 1) + 0.01 * pull(0.5, 0.5))
    b = -1 - 2 * (pb + 0.01 * pull(-2, 8))
    np.testing.assert_allclose(state.w_KP, [[(a + b) / 2, -(a + b) / 2]], rtol=1e-10)


@pytest.mark.parametrize("sees", ["outputs", "features"])
def test_a_term_without_weight_changes_nothing(sees: str, toy: Federation) -> None:
    # Batch norm and dropout included: the second stream draws no mask and moves no statistics.
    layout = Layout.of(small_net, toy.sample())
    x, y = toy.client("c09")("train")
    start = layout.init(Key(1))
    plain = SGD(epochs=2)(Net(layout), start, x, y, Key(0))
    zero = SGD(epochs=2).plus(MMD(0.0, sees))(Net(layout), start, x, y, Key(0))  # type: ignore[arg-type]
    assert np.array_equal(plain.update_P, zero.update_P)
    some = SGD(epochs=2).plus(MMD(1.0, sees))(Net(layout), start, x, y, Key(0))  # type: ignore[arg-type]
    assert not np.allclose(plain.update_P, some.update_P, atol=1e-3)
    assert plain.update_P[-1] == some.update_P[-1]  # the counter of batches


def test_the_second_stream_is_the_model_received_each_time(toy: Federation) -> None:
    # A net that has trained before, from elsewhere, gives the bits of a fresh one.
    layout = Layout.of(small_net, toy.sample())
    x, y = toy.client("c09")("train")
    solver, used = SGD(epochs=2).plus(MMD(0.5)), Net(layout)
    solver(used, layout.init(Key(7)), x, y, Key(3))
    start = layout.init(Key(1))
    again, fresh = (solver(net, start, x, y, Key(0)).update_P for net in (used, Net(layout)))
    assert again.tobytes() == fresh.tobytes()


def test_a_strong_term_holds_outputs_back() -> None:
    layout = Layout.of(lambda: nn.Linear(3, 2), np.zeros((1, 3)), "float64")
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, 3)), rng.integers(0, 2, 20)
    start = layout.init(Key(0))
    free, held = (
        SGD(lr=0.05, epochs=5).plus(MMD(lam))(Net(layout), start, x, y, Key(0)).update_P for lam in (0.0, 0.1)
    )
    assert np.linalg.norm(held) < np.linalg.norm(free)


def test_a_negative_weight_is_refused() -> None:
    with pytest.raises(BadInput, match="lam must be at least 0"):
        MMD(-1.0)
