"""Which numbers of groups are looked at, and when: by hand, with a clusterer that cuts the clients in order."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.algorithms.parts.number_of_groups import fit_measures, number_of_groups
from shoal.seeds import Key
from shoal.types import Array


def in_order(rows_ND: Array, k: int, rng: np.random.Generator) -> Array:
    return np.arange(len(rows_ND)) * k // len(rows_ND)


def angles(n: int, bundles: int = 3) -> Array:
    """Unit vectors in so many narrow bundles."""
    turn_N = 2 * np.pi * (np.arange(n) * bundles // n) / bundles + 1e-3 * np.arange(n)
    return np.stack([np.cos(turn_N), np.sin(turn_N)], 1)


@pytest.mark.parametrize(("n", "seen"), [(3, [2]), (5, [2, 3, 4]), (12, list(range(2, 11))), (30, list(range(2, 11)))])
def test_from_two_groups_to_ten_and_fewer_than_clients(n: int, seen: list[int]) -> None:
    for groups in ("auto", 2):
        _, values = number_of_groups(angles(n), groups, in_order, Key(0))
        assert list(values["silhouette"]) == [str(k) for k in seen]


def test_the_gap_may_say_one() -> None:
    _, values = number_of_groups(angles(5), "auto", in_order, Key(0), "gap")
    assert list(values["gap"]) == ["1", "2", "3", "4"]


def test_the_number_that_fits_is_found_and_a_number_that_is_given_is_taken() -> None:
    found, values = number_of_groups(angles(12), "auto", in_order, Key(0))
    assert found == 3
    given, same = number_of_groups(angles(12), 5, in_order, Key(0))
    assert given == 5
    assert same == values  # the others are looked at all the same


@pytest.mark.parametrize("n", [1, 2])
def test_two_clients_leave_no_choice(n: int) -> None:
    assert number_of_groups(angles(n), "auto", in_order, Key(0)) == (1, {})
    assert number_of_groups(angles(n), 2, in_order, Key(0)) == (2, {})


def test_a_given_number_is_not_looked_at_among_many_clients() -> None:
    assert number_of_groups(angles(201), 4, in_order, Key(0)) == (4, {})
    assert number_of_groups(angles(200), 4, in_order, Key(0))[1] != {}
    assert number_of_groups(angles(201), "auto", in_order, Key(0))[0] == 3


def test_silhouettes_of_groups_are_those_of_few_clients() -> None:
    labels_N = np.array([0, 0, 1, 1])
    rows = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, 4.0]])
    got = fit_measures(rows, labels_N, rows)
    # Inside a group every cosine distance is 0, between them 1. Sums of squares 1/2 and 9/2, over two members each.
    assert got == {"within": 5.0, "spread": [0.25, 2.25], "group_silhouette": [1.0, 1.0]}
    many = angles(201)
    assert "group_silhouette" not in fit_measures(many, in_order(many, 3, np.random.default_rng(0)), many)
    assert "group_silhouette" in fit_measures(many[1:], in_order(many[1:], 3, np.random.default_rng(0)), many[1:])
