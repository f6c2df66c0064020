"""MADC against the triple loop of its definition."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import BadInput
from shoal.measures import cosine, madc
from shoal.types import Array


def brute_force(s: Array) -> Array:
    n, out = len(s), np.zeros(s.shape)
    for i in range(n):
        for j in range(n):
            out[i, j] = sum(abs(s[i, z] - s[j, z]) for z in range(n) if z not in (i, j)) / (n - 2)
    return out


def test_by_hand() -> None:
    # n = 4, pair (0, 1): z = 2: |0.2 - 0.4| and z = 3: |0.0 + 0.5|, halved: 0.35.
    s = np.array([[1, 0.9, 0.2, 0.0], [0.9, 1, 0.4, -0.5], [0.2, 0.4, 1, 0.1], [0.0, -0.5, 0.1, 1]])
    got = madc(s)
    assert got[0, 1] == pytest.approx(0.35)
    # Pair (2, 3): z = 0: |0.2 - 0|, z = 1: |0.4 + 0.5|, halved: 0.55.
    assert got[2, 3] == pytest.approx(0.55)


@settings(max_examples=40, deadline=None)
@given(st.integers(3, 12), st.integers(1, 6), st.integers(0, 10**6))
def test_laws(n: int, p: int, seed: int) -> None:
    rows = np.random.default_rng(seed).integers(-3, 4, size=(n, p)).astype(float)  # zero rows and equal rows occur
    s = cosine(rows)
    m = madc(s)
    np.testing.assert_allclose(m, brute_force(s), atol=1e-13)
    assert (m == m.T).all()
    assert (m.diagonal() == 0).all()
    assert m.min() >= 0
    assert m.max() <= 2
    order = np.random.default_rng(seed).permutation(n)
    np.testing.assert_allclose(madc(s[order][:, order]), m[order][:, order], atol=1e-13)


def test_equal_clients_are_at_distance_zero_and_opposite_ones_at_two() -> None:
    # Clients 0 and 1 agree; everybody else is +-1 with them: |1 - (-1)| = 2 for each of the others.
    a = np.array([[1.0], [1.0], [-1.0], [-1.0]])
    assert madc(cosine(a)).tolist() == [[0, 0, 2, 2], [0, 0, 2, 2], [2, 2, 0, 0], [2, 2, 0, 0]]


@pytest.mark.parametrize("n", [0, 1, 2])
def test_fewer_than_three_clients(n: int) -> None:
    with pytest.raises(BadInput, match=f"at least 3 of them; there are {n}"):
        madc(np.eye(n))


@pytest.mark.parametrize("n", [3, 63, 64, 65, 200, 300])
def test_with_and_without_the_kernel(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(n).normal(size=(n, 5))
    rows[1] = rows[0]
    s = cosine(rows)
    s[1], s[:, 1] = s[0], s[:, 0]
    fast = madc(s)
    monkeypatch.setattr(importlib.import_module("shoal.measures.madc"), "sums_of_larger", lambda rows: None)
    np.testing.assert_allclose(fast, madc(s), atol=1e-12)
    assert fast[0, 1] == 0
