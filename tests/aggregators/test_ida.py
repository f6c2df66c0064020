"""Inverse distance aggregation by hand."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.aggregators import InverseDistance, inverse_distances
from shoal.errors import BadInput

# Three updates with the mean (2, 0): differences (-2, 0), (-2, 0) and (4, 0).
ROWS = np.array([[0.0, 0.0], [0.0, 0.0], [6.0, 0.0]])


def test_by_hand() -> None:
    # 1/2, 1/2, 1/4 over 5/4.
    np.testing.assert_allclose(inverse_distances(ROWS), [0.4, 0.4, 0.2])


def test_two_clients_always_count_the_same_unless_samples_do() -> None:
    # Both are equally far from their mean, so only n_k tells them apart: 1 and 3 samples.
    rows = np.array([[1.0, 2.0], [5.0, -1.0]])
    np.testing.assert_allclose(InverseDistance().shares(rows, np.array([1, 3])), [0.5, 0.5])
    np.testing.assert_allclose(InverseDistance(by="samples").shares(rows, np.array([1, 3])), [0.25, 0.75])


def test_the_norm_matters_where_directions_differ() -> None:
    # Mean (1, 1). Differences (-1, -1): 1-norm 2, 2-norm sqrt 2; (2, -1): 3, sqrt 5; (-1, 2): 3, sqrt 5.
    rows = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]])
    one, two = np.array([1 / 2, 1 / 3, 1 / 3]), np.array([2**-0.5, 5**-0.5, 5**-0.5])
    np.testing.assert_allclose(inverse_distances(rows, 1), one / one.sum())
    np.testing.assert_allclose(inverse_distances(rows, 2), two / two.sum())


def test_models_that_coincide_count_the_same() -> None:
    rows = np.tile(np.random.default_rng(0).normal(size=50), (3, 1))
    assert InverseDistance().shares(rows, np.array([1, 1, 9])).tolist() == [1 / 3] * 3


def test_one_client_counts_alone() -> None:
    assert InverseDistance().shares(ROWS[:1], np.array([5])).tolist() == [1.0]


def test_a_client_in_the_middle_does_not_take_all_with_a_large_eps() -> None:
    rows = np.array([[0.0], [1.0], [2.0]])
    assert inverse_distances(rows)[1] > 0.999
    np.testing.assert_allclose(inverse_distances(rows, eps=1.0), np.array([1 / 2, 1, 1 / 2]) / 2)


def test_what_cannot_be_is_one_sentence() -> None:
    for wrong in ({"order": 3}, {"eps": 0.0}):
        with pytest.raises(BadInput, match="norms 1 and 2"):
            InverseDistance(**wrong)
