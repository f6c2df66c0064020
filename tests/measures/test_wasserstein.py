"""The shift test: numbers by hand, scipy's distance, and the swap that only one mode sees."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance

from shoal.errors import BadInput
from shoal.measures import shift_distance, shifted, threshold
from shoal.measures.wasserstein import ShiftMode

histograms = st.integers(1, 12).flatmap(
    lambda c: st.tuples(*[st.lists(st.integers(0, 60), min_size=c, max_size=c).map(np.array)] * 2)
)


@pytest.mark.parametrize("mode", ["counts", "aligned"])
def test_the_example_of_the_spec(mode: ShiftMode) -> None:
    # tau = 0.2/4 * 100 = 5. (50,50,0,0) -> (40,40,0,0): (10 + 10)/4 = 5, not greater; -> (39,40,0,0): 21/4 = 5.25.
    reference = np.array([50, 50, 0, 0])
    assert shifted(np.array([40, 40, 0, 0]), reference, 100, mode) == (5.0, 5.0, False)
    assert shifted(np.array([39, 40, 0, 0]), reference, 100, mode) == (5.25, 5.0, True)


def test_a_swap_of_classes_is_seen_by_the_aligned_test_alone() -> None:
    # Departure D19: {0, 1} with 5 samples each become {2, 3} with 5 each.
    before, after = np.array([5, 5, 0, 0]), np.array([0, 0, 5, 5])
    assert shifted(after, before, mode="counts") == (0.0, 0.5, False)
    assert shifted(after, before, mode="aligned") == (5.0, 0.5, True)


@settings(max_examples=60, deadline=None)
@given(histograms)
def test_counts_is_the_distance_of_scipy_and_never_above_aligned(pair: tuple[list[int], list[int]]) -> None:
    a, b = np.asarray(pair[0]), np.asarray(pair[1])
    counts, aligned = shift_distance(a, b, "counts"), shift_distance(a, b, "aligned")
    assert counts == pytest.approx(wasserstein_distance(a, b), abs=1e-9)
    assert counts <= aligned + 1e-9
    assert aligned == shift_distance(b, a, "aligned")


@settings(max_examples=100, deadline=None)
@given(st.integers(2, 62), st.integers(1, 3000))
def test_exactly_a_fifth_is_no_shift_whatever_the_rounding(classes: int, fifth: int) -> None:
    # n = 5 * fifth samples of class 0, a fifth of them gone: equality, in exact arithmetic.
    reference, current = np.zeros(classes), np.zeros(classes)
    reference[0], current[0] = 5 * fifth, 4 * fifth
    got = shifted(current, reference)
    assert not got.shifted
    assert got.distance == pytest.approx(got.tau)
    current[0] -= 1
    assert shifted(current, reference).shifted


def test_the_size_is_that_of_the_reference_unless_given() -> None:
    current, reference = np.array([12, 0]), np.array([10, 0])
    assert shifted(current, reference).tau == threshold(10, 2) == 1.0
    assert shifted(current, reference, 5).tau == 0.5
    assert shifted(current, reference, 5).shifted


def test_unlike_histograms_and_an_unknown_mode() -> None:
    with pytest.raises(BadInput, match="same classes"):
        shift_distance(np.zeros(3), np.zeros(4))
    with pytest.raises(BadInput, match="same classes"):
        shift_distance(np.zeros(0), np.zeros(0))
    with pytest.raises(BadInput, match="did you mean 'aligned'"):
        shift_distance(np.zeros(3), np.zeros(3), "alligned")  # type: ignore[arg-type]
