"""CFL's criteria by hand: the weighted and the plain mean, strict and weak comparisons, size and round."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.algorithms.parts.split_criteria import cfl_criteria, cluster_norms, rounds_of, young_clusters
from shoal.errors import BadInput
from shoal.table import Table

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
    assert not cfl_criteria(UPDATES, sizes, 1.0, 4.9, "notebook", round=99).split


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


def test_rounds_are_numbers_with_plus_signs() -> None:
    assert rounds_of("50+100+150") == (50, 100, 150)
    assert rounds_of("") == ()
    with pytest.raises(BadInput, match=r"^split_rounds=50,100 is not possible: write rounds like"):
        rounds_of("50,100")


def test_clusters_wait_for_members_without_a_young_update() -> None:
    group = Table().put(("a", "b", "c", "d", "e"), np.array([0, 0, 1, 1, 2]))
    age = Table().put(("a", "b", "c"), np.array([7, 10, 6]))
    ids = ("a", "b", "c", "d", "e")
    # At round 10 a is 3 rounds old, c 4; d and e were never heard of.
    assert young_clusters(group, age, ids, (), 10, 3) == ({0: ("a", "b")}, [1, 2])
    assert young_clusters(group, age, ids, (), 10, 2) == ({}, [0, 1, 2])
    assert young_clusters(group, age, ids, ("d",), 10, 4) == ({0: ("a", "b"), 1: ("c",)}, [2])  # d was asked and failed
    assert young_clusters(group, age, ids, ("d", "e"), 10, 3) == ({0: ("a", "b")}, [1])  # nothing is known of cluster 2
    assert young_clusters(group, age, ("b", "c"), (), 10, 3) == ({0: ("b",)}, [1])  # who left is not waited for
    assert young_clusters(group, Table(), ids, (), 1, 5) == ({}, [0, 1, 2])


@pytest.mark.parametrize("sizes", [[0, 0, 0], [1, 1], [1, 1, 1, 1]])
def test_criteria_need_a_size_for_each_update_and_a_sample(sizes: list[int]) -> None:
    with pytest.raises(BadInput, match="one size for each of its 3 updates, and a sample"):
        cluster_norms(UPDATES, np.array(sizes))


def test_one_sample_is_enough() -> None:
    assert cluster_norms(UPDATES, np.array([0, 0, 1])).mean_norm == 3.0
