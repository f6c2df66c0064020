"""Class probability distance by hand, both kernels, and the objective z."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shoal.errors import BadInput
from shoal.measures import cpd, cpd_pairs, grouping_objective
from shoal.types import Array


def by_definition(p: Array, q: Array, kernel_CC: Array) -> float:
    """E K(x, x') - 2 E K(x, y) + E K(y, y'), term by term."""
    p, q = p / p.sum(), q / q.sum()
    return float(p @ kernel_CC @ p - 2 * p @ kernel_CC @ q + q @ kernel_CC @ q)


def test_onehot_by_hand() -> None:
    # P = (1/2, 1/2, 0), Q = (0, 1/4, 3/4): squared differences 1/4 + 1/16 + 9/16 = 7/8.
    want = (1 - math.exp(-1)) * 7 / 8
    assert cpd(np.array([3, 3, 0]), np.array([0, 1, 3])) == pytest.approx(want)
    assert cpd(np.array([3, 3, 0]), np.array([0, 1, 3]), sigma=0.5) == pytest.approx((1 - math.exp(-4)) * 7 / 8)


def test_index_by_hand() -> None:
    # P - Q = (1, 0, -1): K(0,0) + K(2,2) - 2 K(0,2) = 2 - 2 exp(-4/2).
    assert cpd(np.array([5, 0, 0]), np.array([0, 0, 1]), kernel="index") == pytest.approx(2 - 2 * math.exp(-2))
    near = cpd(np.array([5, 0, 0]), np.array([0, 1, 0]), kernel="index")
    assert near == pytest.approx(2 - 2 * math.exp(-0.5))  # neighbouring classes are nearer


@pytest.mark.parametrize("sigma", [0.5, 1.0, 3.0])
def test_both_kernels_are_the_mmd(sigma: float) -> None:
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 20, (5, 7)) + 1
    apart = np.arange(7)[:, None] - np.arange(7)
    kernels = {
        "onehot": np.where(apart == 0, 1.0, math.exp(-1 / sigma**2)),
        "index": np.exp(-(apart**2) / (2 * sigma**2)),
    }
    pairs = [(i, j) for i in range(5) for j in range(i + 1, 5)]
    for kernel, kernel_CC in kernels.items():
        got = cpd_pairs(counts, sigma, kernel)  # type: ignore[arg-type]
        np.testing.assert_allclose(got, [by_definition(counts[i], counts[j], kernel_CC) for i, j in pairs], atol=1e-12)


def test_ratios_do_not_depend_on_sigma() -> None:
    counts = np.random.default_rng(1).integers(0, 9, (4, 5)) + 1
    a, b = cpd_pairs(counts, 1.0), cpd_pairs(counts, 2.0)
    np.testing.assert_allclose(a / a.sum(), b / b.sum())


def test_size_does_not_matter_only_shares() -> None:
    assert cpd(np.array([1, 2]), np.array([10, 20])) == 0


def test_z_by_hand() -> None:
    # Groups (3, 4), (0, 0), (3, 0): distances 5, 4 and 3.
    assert grouping_objective(np.array([[3, 4], [0, 0], [3, 0]])) == 12


def test_bad_counts_are_refused() -> None:
    with pytest.raises(BadInput, match="at least one sample"):
        cpd(np.array([0, 0]), np.array([1, 0]))
    with pytest.raises(BadInput, match="from 0 up"):
        cpd(np.array([-1, 2]), np.array([1, 0]))
    with pytest.raises(BadInput, match="sigma"):
        cpd(np.array([1]), np.array([1]), sigma=0)
    with pytest.raises(BadInput, match="kernel"):
        cpd(np.array([1]), np.array([1]), kernel="cosine")  # type: ignore[arg-type]
