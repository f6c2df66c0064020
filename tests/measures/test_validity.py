"""Validity of labels against scikit-learn, and the right number of planted groups by every criterion."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score

from shoal.errors import BadInput
from shoal.measures import Criterion, choose_k, gap, silhouette, silhouettes, within, within_groups
from shoal.types import Array


def cluster(rows: Array, k: int, rng: np.random.Generator) -> Array:
    return np.asarray(KMeans(k, n_init=4, random_state=int(rng.integers(1 << 31))).fit_predict(rows))


def planted(k: int, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    centres = 8.0 * np.eye(6)[:k]
    return np.asarray(np.repeat(centres, 15, axis=0) + rng.normal(size=(15 * k, 6)))


def test_within_by_hand() -> None:
    # Group 0 = {0, 4} with weights 1, 3: mean 3, 1*9 + 3*1 = 12; plain: mean 2, 4 + 4 = 8. Group 1 = {9}: 0.
    rows, labels = np.array([[0.0], [4.0], [9.0]]), np.array([0, 0, 1])
    assert within(rows, labels) == 8
    assert within(rows, labels, np.array([1, 3, 1])) == pytest.approx(12)
    assert within_groups(rows, labels + 1).tolist() == [0, 8, 0]


@settings(max_examples=40, deadline=None)
@given(st.integers(4, 20), st.integers(2, 4), st.integers(0, 10**6))
def test_silhouette_is_that_of_scikit_learn(n: int, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, labels = rng.normal(size=(n, 3)), rng.permutation(np.r_[np.arange(k), rng.integers(0, k, n - k)])
    if k < n:
        assert silhouette(cdist(rows, rows), labels) == pytest.approx(silhouette_score(rows, labels), abs=1e-12)


def test_silhouette_at_the_edges() -> None:
    d = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert silhouette(d, np.array([0, 0])) == 0  # one group
    assert silhouette(d, np.array([0, 1])) == 0  # everybody alone
    assert silhouette(np.zeros((4, 4)), np.array([0, 0, 1, 1])) == 0  # identical clients


@pytest.mark.parametrize("criterion", ["silhouette", "gap", "within"])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_planted_groups_are_counted(criterion: Criterion, k: int) -> None:
    for seed in range(2):
        choice = choose_k(planted(k, seed), range(1, 8), cluster, criterion, np.random.default_rng(seed))
        assert choice.k == k
        assert list(choice.values) == list(range(1, 8))


def test_one_group_by_the_gap() -> None:
    rows = np.random.default_rng(3).uniform(size=(60, 2))
    assert choose_k(rows, [1, 2, 3], cluster, "gap", np.random.default_rng(0)).k == 1


def test_silhouette_may_use_other_distances() -> None:
    # By the points alone 0,1 | 2,3; the distances given say 0,2 | 1,3, and three groups fit them worse.
    rows = np.array([[0.0], [1.0], [9.0], [10.0]])
    d = np.full((4, 4), 5.0)
    for i, j in ((0, 2), (1, 3)):
        d[i, j] = d[j, i] = 1.0
    np.fill_diagonal(d, 0)
    ways = {2: np.array([0, 1, 0, 1]), 3: np.array([0, 1, 2, 1])}
    choice = choose_k(rows, [3, 2], lambda x, k, rng: ways[k], "silhouette", np.random.default_rng(0), d)
    assert choice.k == 2
    assert choice.values[2] == pytest.approx(0.8)  # (5 - 1)/5 for everyone
    assert choice.values[3] == pytest.approx(0.4)  # two of them alone, which counts 0


def test_a_perfect_fit_has_a_finite_gap() -> None:
    rows = np.repeat(np.eye(3), 4, axis=0)
    value, error = gap(rows, 3, lambda x, k, rng: np.repeat(np.arange(3), 4), np.random.default_rng(0))
    assert np.isfinite([value, error]).all()
    same, _ = gap(np.ones((4, 2)), 1, lambda x, k, rng: np.zeros(4, int), np.random.default_rng(0))
    assert np.isfinite(same)


@pytest.mark.parametrize("candidates", [[], [0, 1], [2, 99]])
def test_candidates_out_of_range(candidates: list[int]) -> None:
    with pytest.raises(BadInput, match="among 1 to 4"):
        choose_k(np.eye(4), candidates, cluster, "silhouette", np.random.default_rng(0))


def test_an_unknown_criterion() -> None:
    with pytest.raises(BadInput, match="did you mean 'silhouette'"):
        choose_k(np.eye(4), [1], cluster, "silhouete", np.random.default_rng(0))  # type: ignore[arg-type]


def test_a_single_candidate_is_taken() -> None:
    for criterion in ("silhouette", "gap", "within"):
        for k in (1, 3):
            got = choose_k(planted(3, 0), [k], cluster, criterion, np.random.default_rng(0))
            assert got.k == k


def test_the_error_of_the_gap_by_its_definition() -> None:
    # One group, so that W is the sum of squares around the mean; four samples drawn as the function draws them.
    rows, rng = np.array([[0.0], [1.0], [4.0]]), np.random.default_rng(7)
    logs = [np.log(np.var(rng.uniform(0.0, 4.0, (3, 1))) * 3) for _ in range(4)]
    value, error = gap(rows, 1, lambda x, k, rng: np.zeros(3, int), np.random.default_rng(7), references=4)
    assert value == pytest.approx(np.mean(logs) - np.log(np.var(rows) * 3))
    assert error == pytest.approx(np.std(logs) * np.sqrt(1 + 1 / 4))


def test_weights_below_one_and_no_points() -> None:
    # Mean 1, each point 1 away: 1/4 + 1/4.
    assert within(np.array([[0.0], [2.0]]), np.zeros(2, int), np.array([0.25, 0.25])) == 0.5
    assert within_groups(np.zeros((0, 2)), np.zeros(0, int)).tolist() == []


@pytest.mark.parametrize("d", [1, 2, 9, 641])
def test_within_is_the_same_in_pieces_of_columns(d: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(d)
    rows, labels, weights = rng.normal(size=(60, d)).astype(np.float32), rng.integers(0, 3, 60), rng.random(60)
    want = []
    for k in range(3):  # by the definition, all columns at once
        own, share = rows[labels == k].astype(np.float64), weights[labels == k]
        apart = own - np.average(own, axis=0, weights=share)
        want.append((share * np.square(apart).sum(1)).sum())
    assert within_groups(rows, labels, weights).tolist() == want
    monkeypatch.setattr("shoal.measures.validity.PIECE", 10)
    assert within_groups(rows, labels, weights).tolist() == want


def test_silhouettes_have_no_unit() -> None:
    d = np.abs(np.subtract.outer([0.0, 1.0, 5.0, 7.0], [0.0, 1.0, 5.0, 7.0]))
    labels = np.array([0, 0, 1, 1])
    np.testing.assert_allclose(silhouettes(0.001 * d, labels), silhouettes(d, labels))
    assert silhouettes(np.zeros((4, 4)), labels).tolist() == [0.0] * 4


@pytest.mark.parametrize(("last", "k"), [(3.0, 2), (8.0, 2), (2.4, 3)])
def test_the_elbow_by_hand(last: float, k: int) -> None:
    # Points 0, 2 and y as one group, as {0, 2} and {y}, each alone: W(1) = 4 + y^2 - (2 + y)^2 / 3, which is 14 / 3,
    # 34.7 and 3.3; W(2) = 2; W(3) = 0. The chord from (1, W(1)) to (3, 0) passes W(1) / 2 at 2: below it lies 2 unless
    # W(1) < 4.
    rows = np.array([[0.0], [2.0], [last]])
    labels = {2: np.array([0, 0, 1]), 3: np.array([0, 1, 2])}
    found = choose_k(rows, [2, 3], lambda x, k, rng: labels[k], "within", np.random.default_rng(0))
    assert found.k == k
    assert found.values == {2: pytest.approx(2.0), 3: pytest.approx(0.0)}
