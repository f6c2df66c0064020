"""CFL's cut: exact against all 2-partitions, the notebook's as it is, a split of a split."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import AgglomerativeClustering

from shoal.clusterers import bipartition, complete_bipartition, optimal_bipartition
from shoal.errors import BadInput
from shoal.types import Array


def symmetric(n: int, seed: int, levels: int | None) -> Array:
    draw = np.random.default_rng(seed)
    a = draw.uniform(-1, 1, (n, n)) if levels is None else draw.integers(-levels, levels + 1, (n, n)) / levels
    a = np.triu(a, 1) + np.triu(a, 1).T
    np.fill_diagonal(a, 1)
    return np.asarray(a)


def cross(a: Array, labels: Array) -> float:
    return float(a[labels == 0][:, labels == 1].max())


def least_cross(a: Array) -> float:
    """Over all 2^(n-1) - 1 partitions into two."""
    tails = product((0, 1), repeat=len(a) - 1)
    return min(cross(a, np.array((0, *tail))) for tail in tails if any(tail))


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 9), st.integers(0, 10**6), st.sampled_from([None, 1, 3]))
def test_optimal_against_all_partitions(n: int, seed: int, levels: int | None) -> None:
    a = symmetric(n, seed, levels)  # with few levels most similarities are tied
    got = optimal_bipartition(a)
    assert set(got.labels_N.tolist()) == {0, 1}
    assert got.labels_N[0] == 0
    assert got.cross == cross(a, got.labels_N) == least_cross(a)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 12), st.integers(0, 10**6))
def test_order_of_clients_does_not_matter(n: int, seed: int) -> None:
    a = symmetric(n, seed, None)
    order = np.random.default_rng(seed).permutation(n)
    for mode in ("optimal", "complete"):
        one, two = bipartition(a, mode), bipartition(a[order][:, order], mode)
        same = one.labels_N[order] == one.labels_N[order[0]]
        np.testing.assert_array_equal(two.labels_N == 0, same)
        assert one.cross == two.cross


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 12), st.integers(0, 10**6))
def test_complete_is_the_notebooks_and_never_better(n: int, seed: int) -> None:
    a = symmetric(n, seed, None)
    got = complete_bipartition(a)
    theirs = AgglomerativeClustering(2, metric="precomputed", linkage="complete").fit_predict(-a)
    np.testing.assert_array_equal(got.labels_N == 0, theirs == theirs[0])
    assert got.cross == cross(a, got.labels_N)
    assert got.cross >= optimal_bipartition(a).cross


def test_the_two_differ() -> None:
    # A chain 0 - 1 - 2 - 3 of similarities 0.9, 0.8, 0.7, all else 0. The weakest link of the tree is 0.7: {3} goes.
    # Complete linkage joins 0, 1 at 0.9, then 2, 3 at 0.7 (others have a pair of similarity 0): cross 0.8.
    a = np.eye(4)
    for i, s in enumerate((0.9, 0.8, 0.7)):
        a[i, i + 1] = a[i + 1, i] = s
    one, two = optimal_bipartition(a), complete_bipartition(a)
    assert (one.labels_N.tolist(), one.cross) == ([0, 0, 0, 1], 0.7)
    assert (two.labels_N.tolist(), two.cross) == ([0, 0, 1, 1], 0.8)


def test_well_separated_groups_and_a_split_of_a_split() -> None:
    # Groups of ids {1, 4, 5}, {0, 3}, {2, 6} with similarity 0.8 inside, -0.6 to the first, -0.2 between the others.
    group = np.array([1, 0, 2, 1, 0, 0, 2])
    between = np.array([[0.8, -0.6, -0.6], [-0.6, 0.8, -0.2], [-0.6, -0.2, 0.8]])
    a = between[group][:, group]
    ids = np.arange(7)
    for mode in ("optimal", "complete"):
        first = bipartition(a, mode)
        assert ids[first.labels_N == 1].tolist() == [1, 4, 5]
        assert first.cross == -0.6
        rest = ids[first.labels_N == 0]
        second = bipartition(a[rest][:, rest], mode)
        assert rest[second.labels_N == 1].tolist() == [2, 6]
        assert second.cross == -0.2


def test_two_identical_and_all_identical_clients() -> None:
    assert optimal_bipartition(np.ones((2, 2))).labels_N.tolist() == [0, 1]
    assert complete_bipartition(np.ones((2, 2))).cross == 1
    got = optimal_bipartition(np.ones((4, 4)))
    assert got.cross == 1
    assert set(got.labels_N.tolist()) == {0, 1}


def test_bad_input() -> None:
    for n in (0, 1):
        with pytest.raises(BadInput, match=f"a cluster of {n} cannot be split"):
            bipartition(np.ones((n, n)))
    one = np.ones((3, 3))
    one[0, 2] = np.nan
    for similarity in (one, np.full((2, 2), np.nan)):
        for mode in ("optimal", "complete"):
            with pytest.raises(BadInput, match="a similarity between two clients is not a finite number"):
                bipartition(similarity, mode)
    with pytest.raises(BadInput, match="did you mean 'optimal'"):
        bipartition(np.ones((2, 2)), "optimum")  # type: ignore[arg-type]
