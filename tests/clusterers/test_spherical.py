"""Spherical k-means by hand, its laws, and what it must not see: lengths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.clusterers import spherical_centres, spherical_lloyd, unit
from shoal.errors import BadInput
from shoal.types import Array

Problem = tuple[Array, Array, Array]


def problem(n: int, k: int, d: int, seed: int) -> Problem:
    """Rows on a coarse grid, so that equal and opposite directions occur, none of them zero; centres; weights."""
    rng = np.random.default_rng(seed)
    rows, centres = (rng.integers(-2, 3, size=(m, d)).astype(float) for m in (n, k))
    for some in (rows, centres):
        some[~some.any(1)] = 1.0
    return rows, centres, rng.integers(1, 6, n).astype(float)


problems = st.builds(problem, st.integers(1, 12), st.integers(1, 4), st.integers(1, 4), st.integers(0, 10**6))


def cost(rows_ND: Array, centres_KD: Array, labels_N: Array, weights_N: Array) -> float:
    """sum lambda_i 2 (1 - cos) / sum lambda_i, from cosines."""
    cos_N = (unit(rows_ND) * unit(centres_KD)[labels_N]).sum(1)
    return float((weights_N * 2 * (1 - cos_N)).sum() / weights_N.sum())


def test_one_round_by_hand() -> None:
    # Directions at 0, 90 and 180 degrees, lengths 5, 1, 2, weights 3, 1, 1; centres at 45 and 180 degrees. The row at
    # 90 goes to the first. s = 3 (1, 0) + (0, 1) = (3, 1), length sqrt(10); cosines 3 and 1 over sqrt(10), and 1:
    # F = (3 * 2 (1 - 3/sqrt(10)) + 2 (1 - 1/sqrt(10))) / 5 = (8 - 2 sqrt(10)) / 5.
    rows_ND, weights_N = np.array([[5.0, 0.0], [0.0, 1.0], [-2.0, 0.0]]), np.array([3.0, 1.0, 1.0])
    found = spherical_lloyd(rows_ND, np.array([[7.0, 7.0], [-1.0, 0.0]]), weights_N, 1)
    assert found.labels_N.tolist() == [0, 0, 1]
    np.testing.assert_allclose(found.centres_KD, [[3 / 10**0.5, 1 / 10**0.5], [-1.0, 0.0]])
    assert pytest.approx((8 - 2 * 10**0.5) / 5) == found.F


def test_lengths_do_not_matter_where_euclidean_distance_would_be_misled() -> None:
    # By distance the long row at 10 degrees is alone; by angle it belongs to the short one at 0.
    rows_ND = np.array([[1.0, 0.0], [98.5, 17.4], [0.0, 1.0]])
    found = spherical_lloyd(rows_ND, np.array([[1.0, 0.0], [0.0, 1.0]]), np.ones(3))
    assert found.labels_N.tolist() == [0, 0, 1]


def test_centres_without_a_direction_stay() -> None:
    # Opposite rows have mean zero: the centre stays where it was; so does that of an empty cluster, at length one.
    rows_ND = np.array([[1.0, 0.0], [-1.0, 0.0]])
    found = spherical_centres(rows_ND, np.zeros(2, int), np.ones(2), np.array([[0.0, 1.0], [0.0, -3.0]]))
    assert found.centres_KD.tolist() == [[0.0, 1.0], [0.0, -1.0]]
    assert found.F == 2.0


@given(problems)
def test_no_step_raises_the_objective(given: Problem) -> None:
    rows_ND, centres_KD, weights_N = given
    F = np.inf
    for times in range(1, 6):
        found = spherical_lloyd(rows_ND, centres_KD, weights_N, times)
        assert cost(rows_ND, found.centres_KD, found.labels_N, weights_N) == pytest.approx(found.F, abs=1e-12)
        assert found.F <= F + 1e-12
        F = found.F
    start_N = (unit(rows_ND) @ unit(centres_KD).T).argmax(1)
    assert cost(rows_ND, centres_KD, start_N, weights_N) + 1e-12 >= found.F
    np.testing.assert_allclose(np.square(found.centres_KD).sum(1), 1.0)


@given(problems)
def test_scaling_rows_changes_nothing(given: Problem) -> None:
    rows_ND, centres_KD, weights_N = given
    a, b = (spherical_lloyd(scale * rows_ND, centres_KD, weights_N, 1) for scale in (1.0, 4.0))
    assert a.labels_N.tolist() == b.labels_N.tolist()
    assert a.F == b.F


def test_at_least_one_iteration() -> None:
    with pytest.raises(BadInput, match="at least one iteration"):
        spherical_lloyd(np.ones((1, 1)), np.ones((1, 1)), np.ones(1), 0)
