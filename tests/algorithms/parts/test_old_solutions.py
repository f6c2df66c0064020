"""The E step by old solutions, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.algorithms.parts.old_solutions import LIMIT, by_old_solution, check_before, how_many_moved, never_trained
from shoal.errors import BadInput
from shoal.table import Table
from shoal.vectors import Vectors

CENTRES = np.array([[1.0], [6.0]])


def test_who_trained_goes_to_the_centre_nearest_to_its_last_solution() -> None:
    # Last solutions 0, 6, 9; centres 1 and 8: ann to 0, bob (5 and 2 away) to 1. cyd is not selected, dan has never
    # trained.
    old = Vectors().put(("ann", "bob", "cyd"), np.array([[0.0], [6.0], [9.0]]))
    group = Table().put(("ann", "bob", "cyd", "dan"), np.array([1, 0, 0, 0]))
    found = by_old_solution(group, old, ("ann", "bob", "dan"), np.array([[1.0], [8.0]]))
    assert found.get(("ann", "bob", "cyd", "dan"), -1).tolist() == [0, 1, 0, 0]
    assert by_old_solution(group, Vectors(), ("ann",), np.array([[1.0], [8.0]])) is group


def test_newcomers_have_moved_only_if_they_end_elsewhere_than_they_trained() -> None:
    was = Table().put(("ann", "bob"), np.array([0, 1]))
    cohort = ("ann", "bob", "cyd", "dan")
    assert how_many_moved(was, cohort, np.array([1, 1, 0, 0]), np.array([1, 1, 0, 1])) == 2  # ann and dan


def test_who_never_trained_goes_to_the_centre_nearest_to_the_start() -> None:
    # w_0 at 5, centres at 1 and 6: bob and cyd to 1; ann has its centre; dan is not selected.
    group = never_trained(Table().put(("ann",), np.array([0])), ("ann", "bob", "cyd"), np.array([[5.0]]), CENTRES)
    assert (group.ids, group.rows.tolist()) == (("ann", "bob", "cyd"), [0, 1, 1])
    assert never_trained(group, ("bob",), np.array([[1.0]]), CENTRES) is group


def test_the_e_step_before_training_is_one_and_takes_room() -> None:
    check_before(1, 1_000, np.zeros(7_850, np.float32))
    with pytest.raises(BadInput, match=r"would keep 1,000,000 solutions of 7,850 numbers, 31\.4 GB"):
        check_before(1, 1_000_000, np.zeros(7_850, np.float32))
    for em_steps in (0, 2):
        with pytest.raises(BadInput, match="give em_steps=1"):
            check_before(em_steps, 1_000, np.zeros(7_850, np.float32))
    eight = np.zeros((1, 1))  # bytes
    check_before(1, int(LIMIT) // 8, eight)
    with pytest.raises(BadInput, match=r"2\.0 GB, above the limit of 2\.0 GB"):
        check_before(1, int(LIMIT) // 8 + 1, eight)
