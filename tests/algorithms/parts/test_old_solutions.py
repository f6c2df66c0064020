"""The E step by old solutions, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.algorithms.parts.old_solutions import by_old_solution, check_room, how_many_moved, m_step_alone
from shoal.errors import BadInput
from shoal.table import Table


def test_who_trained_goes_to_the_centre_nearest_to_its_last_solution() -> None:
    # Last solutions 0, 6, 9; centres 1 and 8: ann to 0, bob (5 and 2 away) to 1. cyd is not selected, dan has never
    # trained.
    old = Table().put(("ann", "bob", "cyd"), np.array([[0.0], [6.0], [9.0]]))
    group = Table().put(("ann", "bob", "cyd", "dan"), np.array([1, 0, 0, 0]))
    found = by_old_solution(group, old, ("ann", "bob", "dan"), np.array([[1.0], [8.0]]))
    assert found.get(("ann", "bob", "cyd", "dan"), -1).tolist() == [0, 1, 0, 0]
    assert by_old_solution(group, Table(), ("ann",), np.array([[1.0], [8.0]])) is group


def test_the_m_step_alone_keeps_groups_and_never_raises_the_objective() -> None:
    # Weights 1 and 3 at 1 and 5: mean 4, F = (9 + 3 * 1) / 4 = 3. Group 1 is empty and stays at 7.
    found = m_step_alone(np.array([[1.0], [5.0]]), np.array([[0.0], [7.0]]), np.array([0, 0]), np.array([1.0, 3.0]))
    assert found.labels_N.tolist() == [0, 0]
    assert found.centres_KD.tolist() == [[4.0], [7.0]]
    assert pytest.approx(3.0) == found.F


def test_newcomers_have_moved_only_if_they_end_elsewhere_than_they_trained() -> None:
    was = Table().put(("ann", "bob"), np.array([0, 1]))
    cohort = ("ann", "bob", "cyd", "dan")
    assert how_many_moved(was, cohort, np.array([1, 1, 0, 0]), np.array([1, 1, 0, 1])) == 2  # ann and dan


def test_too_many_old_solutions_are_refused() -> None:
    check_room(1_000, np.zeros(7_850, np.float32))
    with pytest.raises(BadInput, match=r"would keep 1,000,000 solutions of 7,850 numbers, 31\.4 GB"):
        check_room(1_000_000, np.zeros(7_850, np.float32))
