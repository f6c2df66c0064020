"""Cosine similarity against its definition and against scikit-learn; zero vectors are like nothing."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import cosine_similarity

from shoal.measures import cosine, cosine_from_gram, cosine_to, dissimilarity, gram
from shoal.measures.cosine import cosine_in_tiles
from shoal.types import Array

rows = st.tuples(st.integers(1, 7), st.integers(1, 5), st.integers(0, 10**6)).map(
    lambda s: np.random.default_rng(s[2]).integers(-4, 5, size=s[:2]) / 2.0
)


def test_by_hand() -> None:
    # |(3,4)| = 5, |(4,3)| = 5, <.,.> = 24: 24/25. With (0,-2): -8/10 and -6/10.
    got = cosine(np.array([[3.0, 4.0], [4.0, 3.0], [0.0, -2.0]]))
    np.testing.assert_allclose(got, [[1, 0.96, -0.8], [0.96, 1, -0.6], [-0.8, -0.6, 1]], atol=1e-12)


def test_a_zero_vector_is_like_nothing_not_even_itself() -> None:
    got = cosine(np.array([[0.0, 0.0], [1.0, 1.0]]))
    assert got.tolist() == [[0.0, 0.0], [0.0, 1.0]]
    assert cosine_to(np.zeros((1, 2)), np.ones((1, 2))).tolist() == [[0.0]]
    assert cosine_to(np.ones((1, 2)), np.zeros((1, 2))).tolist() == [[0.0]]
    assert dissimilarity(np.array(0.0)) == 0.5


def test_many_blocks_equal_one_product(monkeypatch: pytest.MonkeyPatch) -> None:
    a = np.random.default_rng(0).normal(size=(9, 1001)).astype(np.float32)
    b = np.random.default_rng(1).normal(size=(4, 1001)).astype(np.float32)
    for name in ("gram", "cosine"):  # 16 blocks of 66 columns, the last one short
        monkeypatch.setattr(import_module(f"shoal.measures.{name}"), "BLOCK", 600)
    np.testing.assert_allclose(gram(a), a.astype(float) @ a.T.astype(float), rtol=1e-12)
    np.testing.assert_allclose(cosine(a), cosine_similarity(a.astype(float)), atol=1e-12)
    np.testing.assert_allclose(cosine_to(a, b), cosine_similarity(a.astype(float), b.astype(float)), atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(rows)
def test_laws(a: Array) -> None:
    s = cosine(a)
    live = np.abs(a).sum(1) > 0
    assert (s == s.T).all()
    assert (np.abs(s) <= 1).all()
    assert (s.diagonal() == live).all()
    np.testing.assert_allclose(s, cosine_similarity(a), atol=1e-12)
    np.testing.assert_allclose(cosine_to(a, a), s, atol=1e-12)
    np.testing.assert_allclose(cosine(3.5 * a), s, atol=1e-12)  # lengths do not matter
    order = np.random.default_rng(0).permutation(len(a))
    np.testing.assert_allclose(cosine(a[order]), s[order][:, order], atol=1e-12)
    np.testing.assert_array_equal(cosine_from_gram(gram(a)), s)
    d = dissimilarity(s)
    assert ((d >= 0) & (d <= 1)).all()


@pytest.mark.parametrize(("dtype", "close"), [("float32", 2e-6), ("float64", 1e-13)])
def test_in_tiles_as_from_the_gram_matrix(dtype: str, close: float) -> None:
    rows = np.random.default_rng(0).normal(size=(70, 300)).astype(dtype)
    rows[3] = 0
    rows[7] = -2 * rows[5]
    tiled = cosine_in_tiles(rows, tile=16)
    assert tiled.dtype == rows.dtype
    np.testing.assert_allclose(tiled, cosine(rows), atol=close)
    assert (tiled == tiled.T).all()
    assert tiled.diagonal().tolist() == [float(i != 3) for i in range(70)]
    assert np.abs(tiled).max() <= 1


@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_rounding_never_leads_past_one(scale: float) -> None:
    """Multiples of one vector: every similarity is 1 or -1, and some products are rounded beyond."""
    rng = np.random.default_rng(0)
    factors = scale * rng.uniform(1, 2, 60) * np.where(np.arange(60) % 2, -1, 1)
    for dtype, close in ((np.float32, 2e-6), (np.float64, 1e-14)):
        rows = np.outer(factors, rng.normal(size=37)).astype(dtype)
        want = np.sign(np.outer(factors, factors))
        for got in (cosine(rows), cosine_to(rows, rows), cosine_in_tiles(rows, tile=7)):
            np.testing.assert_allclose(got, want, atol=close)
            assert np.abs(got).max() <= 1


def test_lists_will_do() -> None:
    assert cosine([[3.0, 0.0], [0.0, 2.0]]).tolist() == [[1.0, 0.0], [0.0, 1.0]]  # type: ignore[arg-type]


def test_many_clients_go_in_tiles() -> None:
    rows = np.random.default_rng(0).normal(size=(1001, 4)).astype(np.float32)
    assert cosine(rows).dtype == np.float32
    assert cosine(rows[1:]).dtype == np.float64
