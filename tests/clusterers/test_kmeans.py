"""The driver: as good as scikit-learn's, never an empty cluster that could be filled, and the degenerate inputs."""

from __future__ import annotations

from importlib import import_module
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from shoal.clusterers import e_step, kmeans, kmeans_from, reseed, seed_centres
from shoal.errors import BadInput
from shoal.types import Array


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def best_by_brute_force(rows: Array, k: int, weights: Array) -> float:
    """The least F over all labelings."""
    best = np.inf
    for labels in product(range(k), repeat=len(rows)):
        total = 0.0
        for j in set(labels):
            mine = np.array(labels) == j
            mean = np.average(rows[mine], axis=0, weights=weights[mine])
            total += float((weights[mine] * np.square(rows[mine] - mean).sum(1)).sum())
        best = min(best, total / weights.sum())
    return best


@pytest.mark.parametrize("seed", range(6))
def test_the_optimum_of_small_problems(seed: int) -> None:
    draw = rng(seed)
    rows, weights = draw.normal(size=(7, 2)), draw.uniform(0.5, 4, 7)
    found = kmeans(rows, 3, weights, rng(seed), starts=300)  # one of them misses it with 100
    assert pytest.approx(best_by_brute_force(rows, 3, weights)) == found.F


@pytest.mark.parametrize(("n", "d"), [(120, 4), (60, 200)])
def test_no_worse_than_scikit_learn(n: int, d: int) -> None:
    ours = theirs = 0.0
    for seed in range(6):
        draw = rng(seed)
        rows, weights = draw.normal(size=(n, d)) + 3 * draw.normal(size=(5, d))[draw.integers(0, 5, n)], np.ones(n)
        ours += kmeans(rows, 5, weights, rng(seed)).F
        theirs += KMeans(5, n_init=10, random_state=seed).fit(rows).inertia_ / n
    assert ours <= theirs * 1.01


@pytest.mark.parametrize("d", [3, 5000])
def test_planted_groups_are_found_in_few_and_in_many_dimensions(d: int) -> None:
    truth = np.arange(50) % 5
    for seed in range(3):
        draw = rng(seed)
        rows = (draw.normal(size=(5, d))[truth] * 4 + 0.3 * draw.normal(size=(50, d))).astype(np.float32)
        found = kmeans(rows, 5, draw.uniform(1, 9, 50), rng(seed))
        assert adjusted_rand_score(truth, found.labels_N) == 1
        assert found.labels_N.tolist() == truth.tolist()  # numbered by their first points
        np.testing.assert_array_equal(e_step(rows, found.centres_KD), found.labels_N)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 12), st.integers(1, 20), st.integers(0, 10**6), st.data())
def test_no_cluster_is_empty_while_there_are_points_for_it(n: int, d: int, seed: int, data: st.DataObject) -> None:
    rows = rng(seed).integers(0, 2, size=(n, d)).astype(float)  # equal points are common
    distinct = len(np.unique(rows, axis=0))
    k = data.draw(st.integers(1, n))
    found = kmeans(rows, k, np.ones(n), rng(seed), starts=2, iterations=data.draw(st.integers(1, 5)))
    used = len(np.unique(found.labels_N))
    assert used == min(k, distinct)
    assert found.labels_N.max() == used - 1  # the empty ones come last
    first = [int(np.argmax(found.labels_N == j)) for j in range(used)]
    assert first == sorted(first)
    if k >= distinct:
        assert pytest.approx(0, abs=1e-20) == found.F
    assert np.isfinite(found.centres_KD).all()


def test_the_same_randomness_gives_the_same_clusters() -> None:
    rows = rng(1).normal(size=(40, 3))
    a, b = kmeans(rows, 4, np.ones(40), rng(5)), kmeans(rows, 4, np.ones(40), rng(5))
    np.testing.assert_array_equal(a.labels_N, b.labels_N)
    np.testing.assert_array_equal(a.centres_KD, b.centres_KD)


@pytest.mark.parametrize("value", [0.0, np.pi, 1e6])
@pytest.mark.parametrize("d", [1, 30])
def test_identical_points(value: float, d: int) -> None:
    found = kmeans(np.full((5, d), value), 3, np.array([1.0, 2, 3, 4, 5]), rng())
    assert found.labels_N.tolist() == [0] * 5
    assert pytest.approx(0, abs=1e-15) == found.F


def test_one_point_and_one_cluster() -> None:
    found = kmeans(np.array([[3.0, 4.0]]), 1, np.ones(1), rng())
    assert (found.labels_N.tolist(), found.centres_KD.tolist(), found.F) == ([0], [[3.0, 4.0]], 0.0)
    found = kmeans(np.array([[0.0], [4.0]]), 1, np.array([3.0, 1.0]), rng())
    assert found.centres_KD.tolist() == [[1.0]]  # F = (3*1 + 1*9)/4
    assert found.F == 3.0


@pytest.mark.parametrize("k", [0, 4])
def test_more_clusters_than_points_or_none(k: int) -> None:
    with pytest.raises(BadInput, match=f"3 clients cannot form {k} groups"):
        kmeans(np.eye(3), k, np.ones(3), rng())


def test_numbers_that_are_none() -> None:
    with pytest.raises(BadInput, match="inf or nan"):
        kmeans(np.array([[0.0], [np.nan]]), 1, np.ones(2), rng())


def test_seeding_prefers_far_points_and_ignores_weightless_ones() -> None:
    rows = np.array([[0.0], [0.0], [10.0], [99.0]])
    for seed in range(20):
        centres = seed_centres(rows, 2, np.array([1.0, 1.0, 1.0, 0.0]), rng(seed))
        assert sorted(centres[:, 0]) == [0.0, 10.0]


def test_seeding_draws_by_weighted_squared_distance() -> None:
    # From 0 the points 1 and 2 with weights 4 and 1 have masses 4*1 and 1*4: as likely, but for the greedy choice. With
    # two equal masses and two tries (k = 2: 2 + floor(ln 2)) the better one is missed with probability 1/4.
    rows, weights = np.array([[0.0], [1.0], [2.0]]), np.array([1e9, 4.0, 1.0])
    # Taking 1 leaves 1*1 = 1, taking 2 leaves 4*1 = 4: 1 is better, so 2 comes only if both tries fall on it.
    second = np.array([seed_centres(rows, 2, weights, rng(seed))[1, 0] for seed in range(2000)])
    assert np.mean(second == 2) == pytest.approx(0.25, abs=0.04)


def test_reseed_takes_the_farthest_by_weight() -> None:
    # One cluster, weighted mean (0*1 + 4*1 + 6*1 + 5*10)/13 = 60/13 = 4.6; lambda d: 21.3, 0.4, 1.9, 1.5: point 0.
    rows, weights = np.array([[0.0], [4.0], [6.0], [5.0]]), np.array([1.0, 1, 1, 10])
    labels, centres, moved = reseed(rows, np.zeros(4, int), weights, np.zeros((2, 1)))
    assert labels.tolist() == [1, 0, 0, 0]
    assert moved == (0,)
    np.testing.assert_allclose(centres, [[60 / 12], [0.0]])
    # Without weight point 0 cannot be taken: mean 60/12 = 5, lambda d: 0, 1, 1, 0, and the lowest of equals goes.
    assert reseed(rows, np.zeros(4, int), np.array([0.0, 1, 1, 10]), np.zeros((2, 1)))[2] == (1,)


def test_of_two_points_equally_far_from_their_mean_the_first_is_moved() -> None:
    """Two points always are; rounding makes one of them seem farther in many draws."""
    rng = np.random.default_rng(0)
    pairs = (rng.normal(size=(2, 7)) for _ in range(100))
    assert {reseed(rows, np.zeros(2, int), np.ones(2), np.zeros((2, 7)))[2] for rows in pairs} == {(0,)}


def test_reseed_leaves_equal_points_together_and_full_clusters_alone() -> None:
    labels, _, moved = reseed(np.full((3, 2), np.pi), np.zeros(3, int), np.ones(3), np.zeros((2, 2)))
    assert (labels.tolist(), moved) == ([0, 0, 0], ())
    labels, _, moved = reseed(np.eye(2), np.array([1, 0]), np.ones(2), np.zeros((2, 2)))
    assert (labels.tolist(), moved) == ([1, 0], ())


def test_from_given_centres_numbers_stay() -> None:
    rows = np.array([[0.0], [1.0], [10.0], [11.0], [20.0]])
    # 10 is as near to 19 as to 1: cluster 0, whose mean is then 41/3; 20 is the farthest point and fills cluster 1.
    found = kmeans_from(rows, np.array([[19.0], [500.0], [1.0]]), np.ones(5))
    assert found.labels_N.tolist() == [2, 2, 0, 0, 1]
    assert found.centres_KD.tolist() == [[10.5], [20.0], [0.5]]


def test_after_an_empty_cluster_is_filled_the_iteration_goes_on() -> None:
    # All six are nearest to 5; their mean is 37/6, and 13, the farthest, fills cluster 1. The others' mean is then 4.8:
    # 10 and 11 are nearer to 13, and the centres end at 1 and 34/3. F = (1 + 0 + 1 + (16 + 1 + 25) / 9) / 6.
    rows = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [13.0]])
    found = kmeans_from(rows, np.array([[5.0], [500.0]]), np.ones(6))
    assert found.labels_N.tolist() == [0, 0, 0, 1, 1, 1]
    np.testing.assert_allclose(found.centres_KD, [[1.0], [34 / 3]])
    assert pytest.approx((2 + 42 / 9) / 6) == found.F


def test_ten_starts_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each start draws its centres: k-means++ is asked ten times, and as often as asked for."""
    module, drawn = import_module("shoal.clusterers.kmeans"), list[int]()
    honest = module.seed_centres

    def counted(*args: Any) -> Any:
        drawn.append(1)
        return honest(*args)

    monkeypatch.setattr(module, "seed_centres", counted)
    rows, ones = np.arange(6.0)[:, None], np.ones(6)
    kmeans(rows, 2, ones, rng())
    kmeans(rows, 2, ones, rng(), starts=3)
    assert len(drawn) == 13


def test_points_far_from_the_origin_are_told_apart() -> None:
    # Three points at 1e8 and one a step beside: whichever is drawn first, the second centre is another point.
    rows_ND = 1e8 + np.array([[0.0], [0.0], [0.0], [1.0]])
    for seed in range(8):
        centres_KD = seed_centres(rows_ND, 2, np.ones(4), np.random.default_rng(seed))
        assert sorted(centres_KD[:, 0] - 1e8) == [0.0, 1.0]
