"""Server optimisers by hand: two rounds of two clients, elementwise, with the derivation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from torch import nn

from shoal.aggregators import Rule, ServerOptimiser, per_group
from shoal.aggregators.server_opt import second_moment
from shoal.errors import BadInput
from shoal.layout import Layout
from shoal.seeds import Key
from shoal.types import Answers, Array

W = np.array([1.0, -1.0])
# Two clients of 1 and 3 samples: D = (1/4)(4, 0) + (3/4)(0, -4) = (1, -3); in round 2 D = (0.5, 0).
FIRST, SECOND = np.array([1.0, -3.0]), np.array([0.5, 0.0])
TAU, LR, B1, B2 = 0.5, 0.1, 0.9, 0.75


def two_rounds(rule: Rule, beta1: float = B1) -> tuple[Array, Array, dict[str, Array]]:
    optimiser = ServerOptimiser(rule, LR, beta1, B2, TAU)
    one, s = optimiser.step(W, FIRST, optimiser.init(W))
    two, s = optimiser.step(one, SECOND, s)
    return one, two, dict(s)


def moved(w: float, m: float, v: float) -> float:
    return w + LR * m / (math.sqrt(v) + TAU)


def test_adagrad_by_hand() -> None:
    # beta1 = 0: m = D. v: 0.25 + 1 = 1.25 and 0.25 + 9 = 9.25; then 1.25 + 0.25 = 1.5 and 9.25 + 0.
    one, two, s = two_rounds("adagrad", 0.0)
    want_one = [moved(1, 1, 1.25), moved(-1, -3, 9.25)]
    np.testing.assert_allclose(one, want_one)
    np.testing.assert_allclose(two, [moved(want_one[0], 0.5, 1.5), want_one[1]])
    np.testing.assert_allclose(s["v"], [1.5, 9.25])


def test_adam_by_hand() -> None:
    # m = 0.1 D = (0.1, -0.3), then 0.9 m + 0.1 (0.5, 0) = (0.14, -0.27).
    # v = 0.75 * 0.25 + 0.25 D^2 = 0.1875 + (0.25, 2.25) = (0.4375, 2.4375); then 0.75 v + 0.25 (0.25, 0).
    one, two, s = two_rounds("adam")
    want_one = [moved(1, 0.1, 0.4375), moved(-1, -0.3, 2.4375)]
    np.testing.assert_allclose(one, want_one)
    np.testing.assert_allclose(s["m"], [0.14, -0.27])
    np.testing.assert_allclose(s["v"], [0.390625, 1.828125])
    np.testing.assert_allclose(two, [moved(want_one[0], 0.14, 0.390625), moved(want_one[1], -0.27, 1.828125)])


def test_yogi_by_hand() -> None:
    # v = 0.25 - 0.25 D^2 sign(0.25 - D^2): D^2 = (1, 9) is larger, so 0.25 + (0.25, 2.25) = (0.5, 2.5).
    # Then D^2 = (0.25, 0) is smaller: 0.5 - 0.25 * 0.25 = 0.4375, and 2.5 stays.
    one, two, s = two_rounds("yogi")
    want_one = [moved(1, 0.1, 0.5), moved(-1, -0.3, 2.5)]
    np.testing.assert_allclose(one, want_one)
    np.testing.assert_allclose(s["v"], [0.4375, 2.5])
    np.testing.assert_allclose(two, [moved(want_one[0], 0.14, 0.4375), moved(want_one[1], -0.27, 2.5)])


def test_two_clients_through_the_lift_and_statistics_that_stay_a_mean() -> None:
    # The vector is (weight, bias) of batch norm, then running mean and variance, then the counter.
    layout = Layout.of(lambda: nn.Sequential(nn.Flatten(), nn.BatchNorm1d(2)), np.zeros((1, 2)))
    model = np.array([[1.0, -1, 0, 0, 10, 20, 1, 1, 4]])
    updates = np.array([[4.0, 0, 0, 0, 4, 0, 0, 0, 1], [0, -4, 0, 0, 0, 8, 0, 0, 2]])
    got = Answers(("a", "b"), np.zeros(2, int), {"update": updates, "count": np.array([1, 3])})
    lift = per_group(ServerOptimiser("adam", LR, B1, B2, TAU), layout)
    new, s = lift.apply(model, got, lift.init(model), Key(0))
    np.testing.assert_allclose(new[0, :2], [moved(1, 0.1, 0.4375), moved(-1, -0.3, 2.4375)])  # D = (1, -3), as above
    np.testing.assert_allclose(new[0, 4:], [11, 26, 1, 1, 6])  # means by samples, and the largest counter
    np.testing.assert_allclose(s["m"], [[0.1, -0.3, 0, 0]])
    np.testing.assert_allclose(s["v"], [[0.4375, 2.4375, 0.1875, 0.1875]])
    updates[:, 8] = 0  # nobody counted anything
    still = Answers(("a", "b"), np.zeros(2, int), {"update": updates, "count": np.array([1, 3])})
    assert lift.apply(model, still, lift.init(model), Key(0))[0][0, 8] == 4


def test_yogi_stays_where_it_agrees_with_the_last_update() -> None:
    assert second_moment("yogi", np.array([4.0]), np.array([2.0]), 0.5).tolist() == [4.0]


def test_the_ends_of_what_may_be_set() -> None:
    forgets = ServerOptimiser("adam", lr=0.0, beta1=0.0, beta2=0.0)
    assert forgets.step(W, FIRST, forgets.init(W))[0].tolist() == W.tolist()
    with pytest.raises(BadInput, match="server optimiser"):
        second_moment("sgd", W, FIRST, 0.5)  # type: ignore[arg-type]


def test_plain_shares() -> None:
    plain = ServerOptimiser("adam", LR, by="clients")
    assert plain.shares(np.zeros((2, 1)), np.array([1, 3])).tolist() == [0.5, 0.5]
    assert ServerOptimiser("adam", LR).shares(np.zeros((2, 1)), np.array([1, 3])).tolist() == [0.25, 0.75]


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ({"rule": "sgd"}, "server optimiser"),
        ({"beta1": 1.0}, "beta1"),
        ({"beta2": 1.5}, "beta2"),
        ({"tau": 0.0}, "tau"),
        ({"lr": -1.0}, "server rate"),
    ],
)
def test_what_cannot_be_is_one_sentence(own: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        ServerOptimiser(**{"rule": "adam", "lr": 0.1, **own})
