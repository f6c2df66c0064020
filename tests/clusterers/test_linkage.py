"""Linkage against scikit-learn, with ties, and its edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics import adjusted_rand_score

from shoal.clusterers import Linkage, by_first, cut_at, cut_into
from shoal.errors import BadInput


@pytest.mark.parametrize("linkage", ["complete", "average", "single"])
@pytest.mark.parametrize("seed", range(4))
def test_against_scikit_learn(linkage: Linkage, seed: int) -> None:
    rows = np.random.default_rng(seed).normal(size=(25, 3))
    d = cdist(rows, rows)
    for k in (1, 2, 5, 25):
        theirs = AgglomerativeClustering(k, metric="precomputed", linkage=linkage).fit_predict(d)
        assert adjusted_rand_score(cut_into(d, k, linkage), theirs) == 1
    for threshold in (0.3, 1.0, 2.0):
        theirs = AgglomerativeClustering(
            None, metric="precomputed", linkage=linkage, distance_threshold=threshold
        ).fit_predict(d)
        assert adjusted_rand_score(cut_at(d, threshold, linkage), theirs) == 1


def test_complete_linkage_by_hand() -> None:
    # 0 1 | 2.1 3: single linkage chains them (gaps 1, 1.1, 0.9); complete keeps pairs, as 0 and 3 are 3 apart.
    x = np.array([0.0, 1.0, 2.1, 3.0])
    d = np.abs(np.subtract.outer(x, x))
    assert cut_at(d, 1.2).tolist() == [0, 0, 1, 1]
    assert cut_at(d, 1.2, "single").tolist() == [0, 0, 0, 0]
    assert cut_into(d, 2).tolist() == [0, 0, 1, 1]
    assert cut_at(d, 3.0).tolist() == [0, 0, 0, 0]  # at most the threshold: equality merges


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 12), st.integers(0, 10**6), st.data())
def test_exactly_k_even_with_ties(n: int, seed: int, data: st.DataObject) -> None:
    half = np.triu(np.random.default_rng(seed).integers(0, 3, size=(n, n)), 1).astype(float)
    d, k = half + half.T, data.draw(st.integers(1, n))
    labels = cut_into(d, k)
    assert sorted(set(labels.tolist())) == list(range(k))
    np.testing.assert_array_equal(labels, by_first(labels))
    inside = d[labels[:, None] == labels]
    assert cut_at(d, inside.max()).max() + 1 <= k


def test_equal_distances_everywhere() -> None:
    d = 1.0 - np.eye(6)
    assert len(set(cut_into(d, 4).tolist())) == 4
    assert cut_at(d, 0.99).tolist() == [0, 1, 2, 3, 4, 5]
    assert cut_at(np.zeros((3, 3)), 0.0).tolist() == [0, 0, 0]


def test_one_client() -> None:
    assert cut_into(np.zeros((1, 1)), 1).tolist() == [0]
    assert cut_at(np.zeros((1, 1)), 0.5).tolist() == [0]


def test_bad_input() -> None:
    with pytest.raises(BadInput, match="3 clients cannot form 4 groups"):
        cut_into(np.zeros((3, 3)), 4)
    with pytest.raises(BadInput, match="square matrix"):
        cut_at(np.zeros((2, 3)), 1.0)
    with pytest.raises(BadInput, match="not a finite number"):
        cut_at(np.array([[0.0, np.nan], [np.nan, 0.0]]), 1.0)
    with pytest.raises(BadInput, match="did you mean 'complete'"):
        cut_into(np.zeros((3, 3)), 2, "complet")  # type: ignore[arg-type]


def test_labels_by_first_occurrence() -> None:
    assert by_first(np.array([5, 5, -1, 3, -1, 5])).tolist() == [0, 0, 1, 2, 1, 0]
    assert by_first(np.array([], int)).tolist() == []


def test_distances_may_be_a_list() -> None:
    rows: Any = [[0, 1, 5], [1, 0, 4], [5, 4, 0]]
    assert cut_at(rows, 1.0).tolist() == [0, 0, 1]
