"""Equal-size assignment: against every assignment of small cases, against a second solver on large ones; k-means."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from shoal.clusterers.equal_size import assign_equal, equal_size, equal_size_kmeans, half_squares, means
from shoal.errors import BadInput
from shoal.types import Array


def total(cost_NL: Array, labels_N: Array) -> float:
    return float(cost_NL[np.arange(len(labels_N)), labels_N].sum())


def cheapest(cost_NL: Array) -> float:
    """The least cost over all ways to give every cluster as many points."""
    n, clusters = cost_NL.shape
    seats = sorted(list(range(clusters)) * (n // clusters))
    return min(total(cost_NL, np.array(labels)) for labels in set(permutations(seats)))


def by_linear_assignment(cost_NL: Array) -> float:
    """The same by another algorithm: as many columns per centre as it takes points."""
    n, clusters = cost_NL.shape
    rows, columns = linear_sum_assignment(np.repeat(cost_NL, n // clusters, axis=1))
    return float(np.repeat(cost_NL, n // clusters, axis=1)[rows, columns].sum())


SHAPES = st.sampled_from([(1, 1), (2, 1), (2, 2), (3, 3), (4, 2), (6, 2), (6, 3), (5, 5), (8, 2)])


@st.composite
def costs(draw: st.DrawFn) -> Array:
    n, clusters = draw(SHAPES)
    number = draw(st.sampled_from([st.integers(0, 3).map(float), st.floats(0, 1e6, allow_subnormal=False)]))
    rows = draw(st.lists(st.lists(number, min_size=clusters, max_size=clusters), min_size=n, max_size=n))
    return np.array(rows)


@given(costs())
@settings(max_examples=150, deadline=None)
def test_nothing_is_cheaper(cost_NL: Array) -> None:
    labels_N = assign_equal(cost_NL)
    n, clusters = cost_NL.shape
    assert np.bincount(labels_N, minlength=clusters).tolist() == [n // clusters] * clusters
    assert total(cost_NL, labels_N) <= cheapest(cost_NL) * (1 + 1e-9) + 1e-9 * cost_NL.max()


@given(st.integers(0, 2**32 - 1), st.sampled_from([(4, 2), (6, 3), (6, 2), (8, 2), (5, 5)]))
@settings(max_examples=60, deadline=None)
def test_points_and_centres_of_class_counts(seed: int, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(seed)
    rows_ND = rng.integers(0, 20, (shape[0], 5)).astype(float)
    centres_LD = rng.uniform(0, 20, (shape[1], 5))
    found = equal_size(rows_ND, centres_LD)
    cost_NL = np.array([[((row - c) ** 2).sum() / 2 for c in centres_LD] for row in rows_ND])
    assert found.cost == pytest.approx(cheapest(cost_NL), rel=1e-9)
    assert found.cost == pytest.approx(total(cost_NL, found.labels_N), rel=1e-9)


@pytest.mark.parametrize(("n", "clusters"), [(364, 7), (360, 36), (368, 2)])
def test_a_second_solver_finds_the_same_cost(n: int, clusters: int) -> None:
    rng = np.random.default_rng(n + clusters)
    rows_ND = rng.poisson(rng.gamma(0.3, 10, (n, 62))).astype(float)  # as uneven as label counts of writers
    centres_LD = rows_ND[rng.choice(n, clusters, replace=False)] + rng.normal(size=(clusters, 62))
    found = equal_size(rows_ND, centres_LD)
    assert np.bincount(found.labels_N).tolist() == [n // clusters] * clusters
    assert found.cost == pytest.approx(by_linear_assignment(half_squares(rows_ND, centres_LD)), rel=1e-10)
    nearest = half_squares(rows_ND, centres_LD).min(1).sum()
    assert found.cost > nearest  # else the sizes would not have mattered


def test_by_hand() -> None:
    # Points 0, 1, 2, 9 and centres 0, 1. Free, only 0 would go to the first. Two each: somebody must join it.
    # 0 and 1: (0 + 1 + 1 + 64)/2 = 33; 0 and 2: (0 + 4 + 0 + 64)/2 = 34; 0 and 9: (0 + 81 + 0 + 1)/2 = 41.
    found = equal_size(np.array([[0.0], [1], [2], [9]]), np.array([[0.0], [1]]))
    assert found.labels_N.tolist() == [0, 0, 1, 1]
    assert found.cost == 33


def test_nothing_to_choose() -> None:
    assert assign_equal(np.full((6, 3), 7.0)).tolist() == [0, 0, 1, 1, 2, 2]
    assert assign_equal(np.arange(3.0)[:, None]).tolist() == [0, 0, 0]


def test_tiny_differences_count_beside_large_costs() -> None:
    # Everything costs a million; that one pair is cheaper by a thousandth decides.
    cost = np.full((4, 2), 1e6)
    cost[3, 0] -= 1e-3
    cost[0, 1] -= 1e-3
    assert assign_equal(cost)[[0, 3]].tolist() == [1, 0]


@pytest.mark.parametrize("shape", [(5, 2), (0, 1), (2, 3)])
def test_sizes_that_do_not_fit_are_refused(shape: tuple[int, int]) -> None:
    with pytest.raises(BadInput, match="clusters of equal size"):
        assign_equal(np.zeros(shape))


def test_what_is_not_finite_is_refused() -> None:
    with pytest.raises(BadInput, match="finite"):
        assign_equal(np.array([[0.0, np.nan], [1.0, 2.0]]))


def test_cost_never_rises_from_iteration_to_iteration() -> None:
    rng = np.random.default_rng(4)
    rows_ND = rng.poisson(rng.gamma(0.3, 10, (60, 8))).astype(float)
    costs = [equal_size_kmeans(rows_ND, 6, np.random.default_rng(1), i).cost for i in range(1, 11)]
    assert all(b <= a * (1 + 1e-12) for a, b in pairwise(costs))
    assert costs[-1] < costs[0]


def test_centres_are_the_means_of_their_points() -> None:
    rng = np.random.default_rng(5)
    rows_ND = rng.integers(0, 30, (24, 4)).astype(float)
    found = equal_size_kmeans(rows_ND, 4, rng)
    np.testing.assert_allclose(found.centres_LD, means(rows_ND, found.labels_N, 4))
    want = sum(((rows_ND[found.labels_N == k] - found.centres_LD[k]) ** 2).sum() / 2 for k in range(4))
    assert found.cost == pytest.approx(want)


def test_one_cluster_has_the_mean_of_all() -> None:
    # Mean 3, half squares (9 + 1 + 4) / 2.
    found = equal_size_kmeans(np.array([[0.0], [4.0], [5.0]]), 1, np.random.default_rng(0))
    assert (found.labels_N.tolist(), found.centres_LD.tolist(), found.cost) == ([0, 0, 0], [[3.0]], 7.0)


def test_points_far_from_the_origin_are_told_apart() -> None:
    # Squares of 1e9 have 18 digits, of which a double holds 16: the differences would be lost.
    far = half_squares(1e9 + np.array([[0.0], [3.0]]), 1e9 + np.array([[1.0], [5.0]]))
    np.testing.assert_allclose(far, [[0.5, 12.5], [2.0, 2.0]])


def test_one_cluster_takes_all() -> None:
    assert assign_equal(np.array([[3.0], [1.0]])).tolist() == [0, 0]
