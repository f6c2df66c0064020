"""The order of similarities and the relative deviation by hand."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.errors import BadInput
from shoal.measures import pair_order, relative_deviation

# Pairs: 01 0.9, 02 0.4, 03 0.1, 12 0.5, 13 0.2, 23 0.5.
FOUR = np.array([[1.0, 0.9, 0.4, 0.1], [0.9, 1.0, 0.5, 0.2], [0.4, 0.5, 1.0, 0.5], [0.1, 0.2, 0.5, 1.0]])


def test_order_by_hand() -> None:
    # Inside {0, 1} and {2, 3}: 0.9 and 0.5. Across: 0.4, 0.1, 0.5, 0.2. 0.9 wins 4 of 4, 0.5 wins 3 and ties one.
    assert pair_order(FOUR, np.array([0, 0, 1, 1])) == pytest.approx(7.5 / 8)
    # Inside {0, 3} and {1, 2}: 0.1 and 0.5. Across: 0.9, 0.4, 0.2, 0.5. 0.1 wins none, 0.5 two and a half.
    assert pair_order(FOUR, np.array([5, 2, 2, 5])) == pytest.approx(2.5 / 8)
    # Inside {0, 1, 2}: 0.9, 0.4, 0.5. Across: 0.1, 0.2, 0.5: 3, 2 and 2.5.
    assert pair_order(FOUR, np.array([0, 0, 0, 1])) == pytest.approx(7.5 / 9)


@pytest.mark.parametrize("labels", [[0, 0, 0, 0], [0, 1, 2, 3]])
def test_order_needs_pairs_inside_and_across(labels: list[int]) -> None:
    with pytest.raises(BadInput, match="two groups"):
        pair_order(FOUR, np.array(labels))


def test_deviation_by_hand() -> None:
    # {(2, 1), (2, -1)}: mean (2, 0), each 1 away: 1/2. {(0, 3), (0, 1)}: mean (0, 2), each 1 away: 1/2. As one group
    # the mean is (1, 1), and (2, -1) and (0, 3) are sqrt(5) away: sqrt(5 / 2).
    rows = np.array([[2.0, 1.0], [2.0, -1.0], [0.0, 3.0], [0.0, 1.0]])
    assert relative_deviation(rows, np.array([0, 0, 1, 1])) == pytest.approx(0.5)
    assert relative_deviation(rows, np.zeros(4, int)) == pytest.approx(2.5**0.5)
    assert relative_deviation(np.array([[1.0], [-1.0]]), np.zeros(2, int)) == np.inf
    assert relative_deviation(np.zeros((2, 1)), np.zeros(2, int)) == 0
