"""Squared distances against scipy, and where the product form would fail."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from shoal.errors import BadInput
from shoal.measures import cosine, pairwise, pairwise_squared_l2, squared_l2
from shoal.measures.l2 import squared_to_own


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 8), st.integers(1, 4), st.integers(1, 6), st.sampled_from([0.0, 1e3, 1e7]), st.integers(0, 10**6))
def test_against_scipy(n: int, k: int, d: int, offset: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, centres = offset + rng.normal(size=(n, d)), offset + rng.normal(size=(k, d))
    want = cdist(rows, centres, "sqeuclidean")
    np.testing.assert_allclose(squared_l2(rows, centres), want, rtol=1e-6, atol=1e-12)
    both = pairwise_squared_l2(rows)
    np.testing.assert_allclose(both, cdist(rows, rows, "sqeuclidean"), rtol=1e-6, atol=1e-12)
    assert (both == both.T).all()
    assert (both.diagonal() == 0).all()
    assert both.min() >= 0


def test_near_vectors_far_from_zero_keep_their_digits() -> None:
    # (1e8 + 1)^2 needs 54 bits: |x|^2 - 2xc + |c|^2 of these gives rubbish, the distance is exactly 1.
    rows = np.array([[1e8], [1e8 + 1], [-3e8]])
    assert squared_l2(rows[:2], rows)[:, :2].tolist() == [[0.0, 1.0], [1.0, 0.0]]
    assert pairwise_squared_l2(rows)[:2, :2].tolist() == [[0.0, 1.0], [1.0, 0.0]]


def test_near_vectors_are_measured_in_all_their_coordinates() -> None:
    # Far from zero, one apart in each of two coordinates: 1 + 1.
    rows = np.array([[1e8, -2e8], [1e8 + 1, -2e8 + 1], [-3e8, 0]])
    assert squared_l2(rows[:2], rows)[:, :2].tolist() == [[0.0, 2.0], [2.0, 0.0]]
    assert pairwise_squared_l2(rows)[:2, :2].tolist() == [[0.0, 2.0], [2.0, 0.0]]


def test_equal_vectors_are_exactly_zero_apart() -> None:
    row = np.random.default_rng(0).normal(size=(1, 999)).astype(np.float32)
    rows = np.repeat(row, 5, axis=0)
    assert (squared_l2(rows, rows[:2]) == 0).all()
    assert (pairwise_squared_l2(rows) == 0).all()


def test_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(0).normal(size=(23, 300)).astype(np.float32)
    want = cdist(rows.astype(float), rows.astype(float), "sqeuclidean")
    monkeypatch.setattr("shoal.measures.l2.BLOCK", 1500)
    np.testing.assert_allclose(squared_l2(rows, rows), want, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(pairwise_squared_l2(rows), want, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("d", [1, 7, 130, 9001])
@pytest.mark.parametrize("order", ["C", "F"])
def test_to_the_own_centre_row_by_row_as_in_one_piece(d: int, order: Literal["C", "F"]) -> None:
    rng = np.random.default_rng(d)
    rows = np.asarray(rng.normal(size=(12, d)), np.float32, order=order)
    centres, labels = rng.normal(size=(3, d)), rng.integers(0, 3, 12)
    whole = np.ascontiguousarray(rows, np.float64) - centres[labels]
    assert squared_to_own(rows, centres, labels).tolist() == np.square(whole).sum(1).tolist()


def test_named_metrics() -> None:
    rows = np.array([[0.0, 1.0], [3.0, 5.0], [0.0, 2.0]])
    # Euclid (0,1): sqrt(9 + 16) = 5; Manhattan: 3 + 4 = 7; cosine (0,2): parallel, 0.
    assert pairwise(rows)[0, 1] == pytest.approx(5)
    assert pairwise(rows, "manhattan")[0, 1] == 7
    np.testing.assert_allclose(pairwise(rows, "cosine"), 1 - cosine(rows), atol=1e-12)
    assert pairwise(np.zeros((2, 2)), "cosine").tolist() == [[0, 1], [1, 0]]
    with pytest.raises(BadInput, match="did you mean 'euclidean'"):
        pairwise(rows, "euclidian")  # type: ignore[arg-type]
