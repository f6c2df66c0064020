"""CFL's criteria by hand: the weighted and the plain mean, strict and weak comparisons, size and round."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.algorithms.criteria import cfl_criteria
from shoal.errors import BadInput

UPDATES = np.array([[3.0, 4.0], [-3.0, -4.0], [0.0, 3.0]])


def test_norms_by_hand() -> None:
    # Weighted by 1, 1, 2: (0, 6)/4, norm 1.5. Plain: (0, 3)/3, norm 1. Largest: 5.
    sizes = np.array([1, 1, 2])
    assert cfl_criteria(UPDATES, sizes, 1.6, 4.0) == (1.5, 5.0, True)
    assert cfl_criteria(UPDATES, sizes, 1.6, 4.0, "notebook", round=21) == (1.0, 5.0, True)


def test_comparisons_at_equality() -> None:
    sizes = np.ones(3)  # both means have norm 1
    assert not cfl_criteria(UPDATES, sizes, 1.0, 4.0).split  # mean norm must be below eps1
    assert cfl_criteria(UPDATES, sizes, 1.1, 5.0).split  # paper: at least eps2
    assert not cfl_criteria(UPDATES, sizes, 1.1, 5.0, "notebook", round=99).split  # notebook: over eps2
    assert cfl_criteria(UPDATES, sizes, 1.1, 4.9, "notebook", round=99).split


def test_round_and_size() -> None:
    sizes = np.ones(3)
    assert not cfl_criteria(UPDATES, sizes, 2, 1, "notebook", round=20).split
    assert cfl_criteria(UPDATES, sizes, 2, 1, "notebook", round=3, min_round=2).split
    assert cfl_criteria(UPDATES, sizes, 2, 1, round=0).split  # the paper knows no first round
    assert not cfl_criteria(UPDATES[:2], sizes[:2], 2, 1, "notebook", round=99).split
    assert cfl_criteria(UPDATES[:2], sizes[:2], 2, 1, "notebook", round=99, min_cluster_size=1).split
    assert cfl_criteria(UPDATES[:2], sizes[:2], 2, 1).split
    assert not cfl_criteria(UPDATES[:1], sizes[:1], 99, 1).split  # a singleton never
    assert not cfl_criteria(UPDATES[:1], sizes[:1], 99, 1, "notebook", round=99, min_cluster_size=0).split


def test_congruent_clients_are_not_split() -> None:
    got = cfl_criteria(np.full((4, 2), 1e-3), np.ones(4), 0.1, 0.3)  # all alike: both norms are 1e-3 sqrt 2
    assert got[:2] == pytest.approx((2e-6**0.5, 2e-6**0.5))
    assert not got.split


def test_bad_input() -> None:
    with pytest.raises(BadInput, match="one size for each"):
        cfl_criteria(UPDATES, np.ones(2), 1, 1)
    with pytest.raises(BadInput, match="one size for each"):
        cfl_criteria(UPDATES[:0], np.ones(0), 1, 1)
    with pytest.raises(BadInput, match="did you mean 'notebook'"):
        cfl_criteria(UPDATES, np.ones(3), 1, 1, "notebok")  # type: ignore[arg-type]
