"""Which numbers of groups are looked at, and when: by hand, with a clusterer that cuts the clients in order."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.algorithms.parts.number_of_groups import fit_measures, number_of_groups
from shoal.clusterers import kmeans
from shoal.seeds import Key
from shoal.types import Array

A, A20 = np.array([0, 0, 1]), np.arange(20)


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


def test_clients_that_learn_alike_but_for_noise_are_one_group() -> None:
    rows = np.ones(50) + np.random.default_rng(0).normal(size=(20, 50))
    found, values = number_of_groups(rows, "auto", lambda x, k, rng: kmeans(x, k, np.ones(20), rng).labels_N, Key(0))
    assert found == 1
    assert max(values["silhouette"].values()) > 0.02 > max(values["clarity"].values())


def test_clarity_by_hand() -> None:
    """Directions at 0, 30 and 60 degrees, cut after the second.

    The first is 1 - cos 30 = 0.134 from its own and 1/2 from the other group: silhouette (0.5 - 0.134) / 0.5 = 0.732.
    The second is as far from both, and the third alone: 0.
    """
    three = np.deg2rad([0.0, 30.0, 60.0])
    _, values = number_of_groups(np.stack([np.cos(three), np.sin(three)], 1), "auto", lambda x, k, r: A, Key(0))
    assert values["silhouette"]["2"] == pytest.approx(0.7320508 / 3)
    assert values["clarity"]["2"] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("outliers", [1, 2])
def test_one_client_of_ten_may_stand_between_groups(outliers: int) -> None:
    """Ten clients at 0 degrees and ten at 90, of which so many of the first stand at 45."""
    turn = np.deg2rad(np.array([0.0] * (10 - outliers) + [45.0] * outliers + [90.0] * 10))
    rows = np.stack([np.cos(turn), np.sin(turn)], 1)
    found, _ = number_of_groups(rows, "auto", lambda x, k, r: A20 // 10 if k == 2 else A20 % k, Key(0))
    assert found == (2 if outliers == 1 else 1)


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
