"""Clusterability B by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import BadInput
from shoal.measures import clusterability


def test_by_hand_with_weights() -> None:
    # Group 0: gbar = (3*(2,0) + 1*(2,4))/4 = (2,1), |gbar| = sqrt 5. |gbar - g_0| = 1, |gbar - g_1| = 3. B = 3/sqrt 5.
    # Group 1: one client, B = 0.
    got = clusterability(np.array([[2.0, 0.0], [2.0, 4.0], [7.0, 7.0]]), np.array([3, 1, 9]), np.array([0, 0, 1]))
    np.testing.assert_allclose(got.B_K, [3 / np.sqrt(5), 0.0])
    assert got.max == pytest.approx(3 / np.sqrt(5))
    assert got.mean == pytest.approx(1.5 / np.sqrt(5))


def test_a_vanishing_mean_gives_infinity() -> None:
    got = clusterability(np.array([[1.0], [-1.0], [2.0]]), np.ones(3), np.array([0, 0, 1]))
    assert got.B_K.tolist() == [np.inf, 0.0]
    assert got.max == got.mean == np.inf
    assert clusterability(np.zeros((2, 3)), np.ones(2), np.zeros(2, int)).max == np.inf


def test_a_group_without_clients_is_left_out() -> None:
    got = clusterability(np.array([[1.0], [3.0]]), np.ones(2), np.array([2, 2]))
    assert np.isnan(got.B_K).tolist() == [True, True, False]
    assert got.max == got.mean == 0.5


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 8), st.integers(0, 10**6))
def test_laws(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    g, w, labels = rng.normal(size=(n, 5)), rng.uniform(0.5, 2, n), rng.integers(0, 3, n)
    got = clusterability(g, w, labels)
    np.testing.assert_allclose(clusterability(9 * g, 4 * w, labels).B_K, got.B_K)  # no unit of gradient or weight
    for k in range(len(got.B_K)):  # the definition: smallest B with |gbar - g_i| <= B |gbar|
        mine = labels == k
        if mine.any():
            mean = np.average(g[mine], axis=0, weights=w[mine])
            ratios = np.linalg.norm(g[mine] - mean, axis=1) / np.linalg.norm(mean)
            assert got.B_K[k] == pytest.approx(ratios.max(), abs=1e-9)


def test_nobody_or_no_weight() -> None:
    with pytest.raises(BadInput, match="one label per client"):
        clusterability(np.zeros((0, 2)), np.zeros(0), np.zeros(0, int))
    with pytest.raises(BadInput, match="no weight"):
        clusterability(np.ones((1, 2)), np.zeros(1), np.zeros(1, int))
