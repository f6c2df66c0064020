"""The quantities of WeCFL's theorems by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shoal.measures import (
    clustering_step,
    descent_step,
    gradient_noise,
    least_eps,
    mean_square_gradient,
    rounds_needed,
    smoothness,
)


def test_mean_square_by_hand() -> None:
    # |(3,4)|^2 = 25 with weight 1, |(0,2)|^2 = 4 with weight 3: (25 + 12) / 4.
    assert mean_square_gradient(np.array([[3.0, 4.0], [0.0, 2.0]]), np.array([1, 3])) == 9.25


def test_noise_by_hand() -> None:
    # Client 0 has batches with gradients (2,0) and (0,0): mean (1,0), mean norm 1, mean square 2, variance 1.
    # Client 1 has one batch (0,3): norm 3, square 9, variance 0.
    got = gradient_noise(np.array([[1.0, 0.0], [0.0, 3.0]]), np.array([1.0, 3.0]), np.array([2.0, 9.0]))
    assert got == (3.0, 1.0)
    assert gradient_noise(np.array([[1.0]]), np.array([1.0]), np.array([1.0 - 1e-16])).variance == 0  # rounding


def test_smoothness_of_a_quadratic() -> None:
    # F = (a/2) w^2 has gradient a w: between any two points |g - g'| / |w - w'| = a. Curvatures 2 and 5.
    w, other = np.array([[1.0], [1.0]]), np.array([[4.0], [-1.0]])
    a = np.array([[2.0], [5.0]])
    assert smoothness(a * w, a * other, np.abs(w - other)[:, 0]) == 5
    assert math.isnan(smoothness(a * w, a * w, np.zeros(2)))


def test_bounds_by_hand() -> None:
    # |omega - Omega| = 0.6, 0.2 with Q = 3, 2 and U = 2: 0.6/6 = 0.1, 0.2/4 = 0.05.
    assert clustering_step(np.array([0.6, 0.2]), np.array([3, 2]), 2.0) == pytest.approx(0.05)
    assert clustering_step(np.ones(1), np.ones(1), 0.0) == math.inf
    # (9 - 0.25 * 4) / (9 + 7) * 2 / 0.5 = 0.5 * 4.
    assert descent_step(9.0, 0.25, 2.0, 7.0, 0.5) == 2.0
    assert descent_step(1.0, 1.0, 2.0, 0.0, 1.0) == -6.0  # B U^2 = 4 > G: no learning rate is covered
    assert descent_step(1.0, math.inf, 1.0, 0.0, 1.0) == -math.inf
    assert descent_step(1.0, 0.0, 1.0, 3.0, 1.0) == 0.5  # 1 / (1 + 3) * 2 / 1
    assert math.isnan(descent_step(1.0, 0.0, 1.0, 0.0, 0.0))
    assert math.isnan(descent_step(0.0, 0.0, 0.0, 0.0, 1.0))
    assert math.isnan(descent_step(1.0, 0.0, 1.0, 0.0, math.nan))


def test_gradient_descent_below_the_bound_lowers_a_quadratic_and_above_it_need_not() -> None:
    # One client, full batches, F = (a/2) w^2: sigma = B = 0, beta = a, so the bound is 2/a, which is sharp.
    a, w = 4.0, 1.5
    bound = descent_step((a * w) ** 2, 0.0, a * w, 0.0, a)
    assert bound == 2 / a
    for lr, falls in ((0.99 * bound, True), (1.01 * bound, False)):
        assert ((w - lr * a * w) ** 2 < w**2) == falls


def test_rounds_of_equation_nine_by_hand() -> None:
    # lr 0.5, beta 2: lr - beta lr^2 / 2 = 0.25, beta lr^2 / 2 = 0.25. B U^2 = 0.1 * 9. eps = 4:
    # 4 * 0.25 - 0.25 * 1 - 0.5 * 0.9 = 0.3, times Q = 5: 1.5; a gap of 6 needs 4 rounds.
    assert rounds_needed(6.0, 4.0, 5, 0.5, 0.1, 3.0, 1.0, 2.0) == pytest.approx(4.0)
    # The floor is where that is 0: (0.25 + 0.45) / 0.25 = 2.8.
    assert least_eps(0.5, 0.1, 3.0, 1.0, 2.0) == pytest.approx(2.8)
    assert rounds_needed(6.0, 2.7, 5, 0.5, 0.1, 3.0, 1.0, 2.0) == math.inf
    just = least_eps(0.5, 0.1, 3.0, 1.0, 2.0) * 1.001
    assert rounds_needed(6.0, just, 5, 0.5, 0.1, 3.0, 1.0, 2.0) > 1000


def test_what_equation_nine_does_not_cover() -> None:
    assert least_eps(1.0, 0.1, 3.0, 1.0, 2.0) == math.inf  # lr = 2 / beta
    assert rounds_needed(6.0, 1e9, 5, 1.0, 0.1, 3.0, 1.0, 2.0) == math.inf
    assert math.isnan(least_eps(0.5, 0.1, 3.0, 1.0, math.nan))
    assert math.isnan(least_eps(0.0, 0.1, 3.0, 1.0, 2.0))
    assert math.isnan(rounds_needed(6.0, 4.0, 0, 0.5, 0.1, 3.0, 1.0, 2.0))


def test_equation_nine_holds_for_gradient_descent_on_a_quadratic() -> None:
    # R = (a/2) w^2, a = 2, from w = 3: R = 9, least 0. No noise, B = 0: mean of g^2 over T >= 9 / (eps (lr - lr^2))
    # rounds of one step is at most eps.
    w, squares = 3.0, []
    lr, eps = 0.1, 2.0
    rounds = math.ceil(rounds_needed(9.0, eps, 1, lr, 0.0, 6.0, 0.0, 2.0))
    for _ in range(rounds):
        squares.append((2 * w) ** 2)
        w -= lr * 2 * w
    assert rounds == 50
    assert np.mean(squares) <= eps
