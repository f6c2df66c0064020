"""EDC against an explicit singular value decomposition, on every way it is computed."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import BadInput
from shoal.measures import cosine, edc, edc_embedding, madc, pairwise_squared_l2
from shoal.measures.gram import gram, norms
from shoal.types import Array


def explicit(rows: Array, m: int) -> Array:
    """Cosines with the top m right singular vectors, from numpy's decomposition."""
    V = np.linalg.svd(rows, full_matrices=False)[2][:m].T
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(np.divide(rows @ V, lengths, out=np.zeros((len(rows), V.shape[1])), where=lengths > 0))


def clustered(n: int, p: int, k: int, seed: int, noise: float = 0.5) -> Array:
    rng = np.random.default_rng(seed)
    return np.asarray(rng.normal(size=(k, p))[np.arange(n) % k] + noise * rng.normal(size=(n, p)))


def test_by_hand() -> None:
    # Rows along three axes with 4, 2 and 1 rows: the singular vectors are the axes, the values sqrt(4 > 2 > 1).
    rows = np.eye(3)[[0, 0, 0, 0, 1, 1, 2]]
    np.testing.assert_allclose(edc_embedding(rows, 2), np.eye(3)[[0, 0, 0, 0, 1, 1, 2]][:, :2], atol=1e-12)
    # EDC(0, 4) = |(1,0) - (0,1)| / 2 = sqrt(2)/2; EDC(4, 6) = |(0,1) - (0,0)| / 2 = 1/2.
    got = edc(rows, 2)
    assert got[0, 4] == pytest.approx(np.sqrt(2) / 2)
    assert got[4, 6] == pytest.approx(0.5)
    assert got[0, 3] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("shape", [(30, 200), (200, 30), (60, 60)])
@pytest.mark.parametrize("gram_up_to", [1000, 40, 0])
def test_all_three_ways_agree_with_the_explicit_decomposition(shape: tuple[int, int], gram_up_to: int) -> None:
    rows = clustered(*shape, 4, seed=1)
    got, want = edc_embedding(rows, 4, gram_up_to=gram_up_to), explicit(rows, 4)
    np.testing.assert_allclose(got, want * np.sign((got * want).sum(0)), atol=1e-7)
    assert (got[np.abs(got * np.linalg.norm(rows, axis=1)[:, None]).argmax(0), np.arange(4)] > 0).all()


def test_single_precision_on_the_iterative_way() -> None:
    rows = clustered(80, 120, 3, seed=2)
    got, want = edc_embedding(rows.astype(np.float32), 3, gram_up_to=10), edc_embedding(rows, 3)
    assert got.dtype == np.float64
    np.testing.assert_allclose(got, want, atol=1e-4)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 9), st.integers(2, 9), st.integers(0, 10**6))
def test_with_all_directions_it_is_the_chord_of_the_angle(n: int, p: int, seed: int) -> None:
    # With m = rank (or more), EDC = sqrt(2 - 2 S) / m.
    rows = np.random.default_rng(seed).normal(size=(n, p))
    m = min(n, p)
    want = np.sqrt(np.maximum(2 - 2 * cosine(rows), 0)) / m
    np.testing.assert_allclose(edc(rows, m), want, atol=1e-6)
    np.testing.assert_allclose(edc(rows, m + 3) * (m + 3), want * m, atol=1e-6)


@settings(max_examples=30, deadline=None)
@given(st.integers(3, 12), st.integers(1, 3), st.integers(0, 10**6))
def test_laws(n: int, m: int, seed: int) -> None:
    rows = np.random.default_rng(seed).normal(size=(n, 20))
    d = edc(rows, m)
    assert (d == d.T).all()
    assert (d.diagonal() == 0).all()
    assert d.max() <= 2 / m + 1e-12  # two unit vectors are at most 2 apart, and projecting brings them closer
    order = np.random.default_rng(seed).permutation(n)
    np.testing.assert_allclose(edc(rows[order], m), d[order][:, order], atol=1e-7)
    scale = np.random.default_rng(seed).choice([1.0, 7.0])
    np.testing.assert_allclose(edc(scale * rows, m), d, atol=1e-7)


def test_quick_products_are_as_exact_as_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    rows = (rng.normal(size=(20, 5000)) + 3 * rng.normal(size=(4, 5000))[np.arange(20) % 4]).astype(np.float32)
    exact_NN, quick_NN, lengths_N = gram(rows), gram(rows, quick=True), norms(rows)
    # Single precision rounds by 6e-8; the errors of 5,000 products add up like a random walk, to about 70 of that.
    assert 0 < np.abs(quick_NN - exact_NN).max() < 5e-6 * lengths_N.max() ** 2
    assert (gram(rows.astype(float), quick=True) - exact_NN).max() < 1e-9 * lengths_N.max() ** 2  # nothing to gain
    exact = edc_embedding(rows, 4)
    monkeypatch.setattr(sys.modules[edc.__module__], "MANY", 20 * 20 * 5000 - 1)  # products of all pairs, just above
    quick = edc_embedding(rows, 4)
    assert (quick != exact).any()
    np.testing.assert_allclose(quick, exact, atol=2e-5)


@pytest.mark.parametrize("gram_up_to", [1000, 3, 0])
def test_zero_rows_lie_at_zero(gram_up_to: int) -> None:
    rows = np.vstack([np.zeros(8), clustered(7, 8, 2, seed=3)])
    got = edc_embedding(rows, 2, gram_up_to=gram_up_to)
    assert (got[0] == 0).all()
    assert (np.abs(got[1:]).sum(1) > 0).all()
    assert edc_embedding(np.zeros((4, 8)), 2, gram_up_to=gram_up_to).tolist() == [[0, 0]] * 4


def test_more_directions_than_rank_or_clients_are_zero_columns() -> None:
    one = np.outer([1.0, 2.0, -1.0], [1.0, 1.0, 0.0, 1.0])  # rank 1
    np.testing.assert_allclose(edc_embedding(one, 5), [[1, 0, 0, 0, 0], [1, 0, 0, 0, 0], [-1, 0, 0, 0, 0]], atol=1e-12)
    assert (edc_embedding(one, 5)[:, 1:] == 0).all()
    assert edc_embedding(np.array([[3.0, 4.0]]), 2).tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize("gram_up_to", [1000, 0])
def test_weak_directions_count_and_noise_does_not(gram_up_to: int) -> None:
    # Singular values 1 and 1e-4: a weak direction, but not rounding. Of rank 1: no second direction.
    rows = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 1e-4, 0.0, 0.0], [0.0, 0.0, 1e-5, 0.0], [0.0, 0.0, 0.0, 1e-5]])
    got = edc_embedding(rows, 2, gram_up_to=gram_up_to)
    np.testing.assert_allclose(got, np.eye(4)[:, :2], atol=1e-9)
    one = np.outer([1.0, 2.0, -1.0, 4.0], [1.0, 1.0, 0.0, 1.0])
    np.testing.assert_allclose(
        edc_embedding(one, 2, gram_up_to=gram_up_to), [[1, 0], [1, 0], [-1, 0], [1, 0]], atol=1e-9
    )
    assert edc_embedding(one, 2, gram_up_to=gram_up_to)[:, 1].tolist() == [0.0] * 4
    np.testing.assert_allclose(edc_embedding(one, 1, gram_up_to=gram_up_to)[:, 0], [1, 1, -1, 1], atol=1e-9)


@pytest.mark.parametrize(("shape", "gram_up_to"), [((3, 4), 2), ((4, 3), 2), ((7, 3), 3), ((7, 3), 2)])
def test_as_many_directions_as_there_are(shape: tuple[int, int], gram_up_to: int) -> None:
    """The iterative way cannot give all singular vectors; with all of them the embedding keeps every angle."""
    rows = np.random.default_rng(5).normal(size=shape)
    got = edc_embedding(rows, min(shape), gram_up_to=gram_up_to)
    np.testing.assert_allclose(got @ got.T, cosine(rows), atol=1e-9)


@pytest.mark.parametrize("gram_up_to", [1000, 10, 0])
def test_neither_kind_nor_length_of_the_rows_matters(gram_up_to: int) -> None:
    rows = np.random.default_rng(3).integers(-9, 10, size=(14, 12))
    want = edc_embedding(rows.astype(float), 3)
    for same in (rows, rows.tolist(), 1e-3 * rows):
        np.testing.assert_allclose(edc_embedding(same, 3, gram_up_to=gram_up_to), want, atol=1e-7)


def test_rounding_never_leads_past_one() -> None:
    rows = np.outer(np.random.default_rng(0).uniform(-2, 2, 300), np.random.default_rng(1).normal(size=37))
    got = edc_embedding(rows, 1)
    np.testing.assert_allclose(np.abs(got), 1, atol=1e-12)
    assert np.abs(got).max() <= 1


def test_no_direction() -> None:
    with pytest.raises(BadInput, match="at least one direction"):
        edc_embedding(np.eye(3), 0)


def test_it_goes_with_madc() -> None:
    # The papers' claim on planted groups: EDC is nearly a linear function of MADC.
    rows = clustered(60, 300, 4, seed=4, noise=0.7)
    pairs = np.triu_indices(60, 1)
    assert np.corrcoef(edc(rows, 4)[pairs], madc(cosine(rows))[pairs])[0, 1] > 0.9
    assert pairwise_squared_l2(edc_embedding(rows, 4)).max() > 1


@pytest.mark.parametrize("gram_up_to", [1000, 0])
def test_columns_beyond_the_rank_are_zero_and_not_noise(gram_up_to: int) -> None:
    rows = np.outer(np.arange(1.0, 13), np.random.default_rng(0).normal(size=10))  # one direction
    got = edc_embedding(rows, 3, gram_up_to=gram_up_to)
    np.testing.assert_allclose(got[:, 0], 1.0)
    assert not got[:, 1:].any()
