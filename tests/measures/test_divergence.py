"""The quantities of FlexCFL's theorem 1 by hand, and the theorem itself where gradient descent is known exactly."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shoal.measures import divergence_bound, gradient_divergence, group_divergence

LABELS = np.array([0, 1, 0, 1, 1])
WEIGHTS = np.array([1, 2, 3, 1, 1])


def test_divergence_by_hand() -> None:
    # Group 0: gradients (4,0) and (0,0), weights 1 and 3: mean (1,0), distances 3 and 1.
    # Group 1: (0,0), (0,4), (0,8) with weights 2, 1, 1: mean (0,3), distances 3, 1, 5.
    gradients_NP = np.array([[4.0, 0], [0, 0], [0, 0], [0, 4.0], [0, 8.0]])
    apart_N = gradient_divergence(gradients_NP, WEIGHTS, LABELS)
    assert apart_N.tolist() == [3.0, 3.0, 1.0, 1.0, 5.0]
    # All: (3 + 6 + 3 + 1 + 5) / 8 = 18/8. Group 0: (3 + 3) / 4; group 1: (6 + 1 + 5) / 4 = 3.
    assert group_divergence(apart_N, WEIGHTS, LABELS) == (2.25, 3.0)


def test_clients_alone_in_their_group_do_not_diverge() -> None:
    assert gradient_divergence(np.eye(3), np.ones(3), np.arange(3)).tolist() == [0.0, 0.0, 0.0]


def test_bound_by_hand() -> None:
    # 0.5 * 3 / 2 * ((0.25 * 2 + 1)^2 - 1) = 0.75 * 1.25, and with three groups and eta_g = 0.1: 3 * 0.1 * 2 more.
    assert divergence_bound(0.5, 3.0, 2.0, 0.25, 2) == pytest.approx(0.9375)
    assert divergence_bound(0.5, 3.0, 2.0, 0.25, 2, between=0.2) == pytest.approx(0.9375 + 0.6)
    assert divergence_bound(0.5, 3.0, 1e-9, 0.25, 2) == pytest.approx(divergence_bound(0.5, 3.0, 0.0, 0.25, 2))
    assert divergence_bound(0.5, 3.0, 0.0, 0.25, 2) == 0.75  # delta M lr E


def test_bounds_that_are_no_number() -> None:
    assert divergence_bound(0.5, 3.0, 10.0, 1.0, 10_000) == math.inf
    assert divergence_bound(0.0, 3.0, 10.0, 1.0, 10_000, between=1.0) == 3.0
    assert math.isnan(divergence_bound(0.5, 3.0, math.nan, 1.0, 2))


@pytest.mark.parametrize(("lr", "steps"), [(0.1, 1), (0.1, 10), (0.3, 20)])
def test_the_theorem_holds_for_quadratic_losses(lr: float, steps: int) -> None:
    # F_k = (a_k / 2) (w - c_k)^2, weights 1/4 and 3/4. E steps of each client from 0 and their mean, against E steps on
    # F_g; all w met lie in [-1, 2], where gradients are at most 2 * 3 = 6 and the two clients' gradients, which are
    # a_k (w - c_k), lie farthest from the group's at an end.
    a, c, p = np.array([1.0, 2.0]), np.array([2.0, -1.0]), np.array([0.25, 0.75])
    w, v = np.zeros(2), 0.0
    for _ in range(steps):
        w, v = w - lr * a * (w - c), v - lr * float(p @ (a * (v - c)))

    def group_loss(x: float) -> float:
        return float(p @ (a / 2 * (x - c) ** 2))

    ends = [gradient_divergence((a * (x - c))[:, None], p, np.zeros(2, int)) for x in (-1.0, 2.0)]
    delta = group_divergence(np.max(ends, 0), p, np.zeros(2, int)).delta
    assert abs(group_loss(float(p @ w)) - group_loss(v)) <= divergence_bound(delta, M=6.0, L=2.0, lr=lr, steps=steps)
