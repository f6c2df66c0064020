"""The bare steps of weighted k-means by hand, their laws, and scikit-learn from the same centres."""

from __future__ import annotations

from importlib import import_module
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans

from shoal.clusterers import e_step, lloyd, m_step
from shoal.errors import BadInput
from shoal.types import Array

Problem = tuple[Array, Array, Array]


def problem(n: int, k: int, d: int, seed: int) -> Problem:
    """Points on a coarse grid, so that equal points and equal distances occur; centres; weights."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(-3, 4, size=(n, d)).astype(float)
    return rows, rng.integers(-3, 4, size=(k, d)).astype(float), rng.integers(1, 6, n).astype(float)


problems = st.builds(problem, st.integers(1, 12), st.integers(1, 5), st.integers(1, 4), st.integers(0, 10**6))


def test_one_round_by_hand() -> None:
    # Points 0, 2, 3, 10 with weights 1, 1, 2, 4; centres 0, 4, 50.
    # E: 2 is as far from 0 as from 4: the lowest. M: (0 + 2)/2 = 1; (2*3 + 4*10)/6 = 23/3; nobody: stays at 50.
    rows, weights = np.array([[0.0], [2.0], [3.0], [10.0]]), np.array([1.0, 1.0, 2.0, 4.0])
    centres = np.array([[0.0], [4.0], [50.0]])
    labels = e_step(rows, centres)
    assert labels.tolist() == [0, 0, 1, 1]
    np.testing.assert_allclose(m_step(rows, labels, weights, centres), [[1.0], [23 / 3], [50.0]])
    # The same as one iteration; F = (1*1 + 1*1 + 2*(14/3)^2 + 4*(7/3)^2)/8.
    found = lloyd(rows, centres, weights, iterations=1)
    assert found.labels_N.tolist() == [0, 0, 1, 1]
    assert pytest.approx((2 + 2 * (14 / 3) ** 2 + 4 * (7 / 3) ** 2) / 8) == found.F
    # To convergence: 3 is nearer to 1 than to 23/3; then centres (0 + 2 + 6)/4 = 2 and 10.
    found = lloyd(rows, centres, weights)
    assert found.labels_N.tolist() == [0, 0, 0, 1]
    np.testing.assert_allclose(found.centres_KD, [[2.0], [10.0], [50.0]])
    assert pytest.approx((4 + 0 + 2 * 1 + 0) / 8) == found.F


@settings(max_examples=80, deadline=None)
@given(problems)
def test_nearest_centre_ties_to_the_lowest(p: Problem) -> None:
    rows, centres, _ = p
    np.testing.assert_array_equal(e_step(rows, centres), cdist(rows, centres, "sqeuclidean").argmin(1))


@pytest.mark.parametrize("k", [2, 3, 5, 8, 17])
def test_equal_centres_tie_whatever_the_matrix_product_rounds(k: int) -> None:
    rng = np.random.default_rng(k)
    rows, centre = rng.normal(size=(40, 333)).astype(np.float32), rng.normal(size=333)
    far = centre + 100.0
    centres = np.vstack([far, np.tile(centre, (k, 1))])
    assert (e_step(rows, centres) == 1).all()


def test_near_centres_far_from_zero() -> None:
    # 1e8 and 1e8 + 1 differ in the ninth digit; squares of such numbers have no digit left for it.
    rows = np.array([[1e8 + 0.25], [1e8 + 0.75]])
    assert e_step(rows, np.array([[1e8], [1e8 + 1]])).tolist() == [0, 1]


@settings(max_examples=60, deadline=None)
@given(problems)
def test_f_never_rises_over_the_steps(p: Problem) -> None:
    rows, centres, weights = p

    def F(labels: Array, centres: Array) -> float:
        return float((weights * np.square(rows - centres[labels]).sum(1)).sum() / weights.sum())

    labels = np.random.default_rng(0).integers(0, len(centres), len(rows))
    last = F(labels, centres)
    for _ in range(4):
        labels = e_step(rows, centres)
        assert F(labels, centres) <= last + 1e-12
        new = m_step(rows, labels, weights, centres)
        assert F(labels, new) <= F(labels, centres) + 1e-12
        last, centres = F(labels, new), new
    values = [lloyd(rows, p[1], weights, i).F for i in (1, 2, 3, 300)]
    assert all(a >= b - 1e-12 for a, b in pairwise(values))


@settings(max_examples=40, deadline=None)
@given(problems)
def test_a_fixed_point_and_equivariance(p: Problem) -> None:
    rows, centres, weights = p
    found = lloyd(rows, centres, weights)
    np.testing.assert_array_equal(e_step(rows, found.centres_KD), found.labels_N)
    again = lloyd(rows, found.centres_KD, weights)
    np.testing.assert_array_equal(again.labels_N, found.labels_N)
    empty = np.setdiff1d(np.arange(len(centres)), found.labels_N)
    assert found.centres_KD.shape == centres.shape
    # On the grid a point may lie in the middle of two means, and rounding, which the order changes, decides for one.
    rng = np.random.default_rng(0)
    spread, order = rows + 0.1 * rng.normal(size=rows.shape), rng.permutation(len(rows))
    there, mixed = lloyd(spread, centres, weights), lloyd(spread[order], centres, weights[order])
    np.testing.assert_array_equal(mixed.labels_N, there.labels_N[order])
    if len(empty) == len(centres) - 1:  # all in one cluster: its centre is the weighted mean
        k = found.labels_N[0]
        np.testing.assert_allclose(found.centres_KD[k], np.average(rows, axis=0, weights=weights), atol=1e-12)


def test_against_scikit_learn_from_the_same_centres() -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        rows, weights = rng.normal(size=(60, 5)), rng.uniform(0.5, 3, 60)
        centres = rows[rng.choice(60, 4, replace=False)]
        theirs = KMeans(4, init=centres, n_init=1, tol=0, max_iter=300).fit(rows, sample_weight=weights)
        found = lloyd(rows, centres, weights)
        np.testing.assert_array_equal(found.labels_N, theirs.labels_)
        np.testing.assert_allclose(found.centres_KD, theirs.cluster_centers_, atol=1e-10)
        assert pytest.approx(theirs.inertia_ / weights.sum()) == found.F


def test_weights_equal_repetition() -> None:
    rng = np.random.default_rng(0)
    rows, times = rng.normal(size=(20, 3)), rng.integers(1, 5, 20)
    once, many = lloyd(rows, rows[:3], times), lloyd(np.repeat(rows, times, axis=0), rows[:3], np.ones(times.sum()))
    np.testing.assert_array_equal(np.repeat(once.labels_N, times), many.labels_N)
    np.testing.assert_allclose(once.centres_KD, many.centres_KD)
    assert pytest.approx(many.F) == once.F


def test_blocks_and_single_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(50, 40)).astype(np.float32)
    want = lloyd(rows, rows[:3], np.ones(50))
    monkeypatch.setattr(import_module("shoal.clusterers.lloyd"), "WHOLE", 0)  # nothing is converted as a whole
    monkeypatch.setattr(import_module("shoal.clusterers.lloyd").in_blocks, "__defaults__", (400,))  # 10 rows a block
    got = lloyd(rows, rows[:3], np.ones(50))
    np.testing.assert_array_equal(got.labels_N, want.labels_N)
    np.testing.assert_allclose(got.centres_KD, want.centres_KD, atol=1e-12)


@pytest.mark.parametrize("weights", [np.ones(2), np.array([1.0, -1.0, 1.0]), np.zeros(3), np.array([1.0, np.inf, 1.0])])
def test_bad_weights(weights: Array) -> None:
    with pytest.raises(BadInput, match="one weight"):
        lloyd(np.eye(3), np.eye(3), weights)


def test_no_iteration() -> None:
    with pytest.raises(BadInput, match="at least one iteration"):
        lloyd(np.eye(3), np.eye(3), np.ones(3), iterations=0)


def test_a_point_without_weight_goes_along_but_does_not_pull() -> None:
    found = lloyd(np.array([[0.0], [1.0], [9.0]]), np.array([[0.0], [9.0]]), np.array([1.0, 0.0, 1.0]))
    assert found.labels_N.tolist() == [0, 0, 1]
    assert found.centres_KD.tolist() == [[0.0], [9.0]]
    only = m_step(np.array([[3.0]]), np.array([0]), np.array([0.0]), np.array([[7.0]]))
    assert only.tolist() == [[7.0]]  # a cluster without weight has no mean: its centre stays


def test_iterations_are_as_many_as_in_scikit_learn() -> None:
    assert import_module("shoal.clusterers.lloyd").ITERATIONS == KMeans().max_iter == 300
