"""Dealing by shares: exact counts, filling up, the published laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.dataset import Dataset
from shoal.data.datasets.digits import digits
from shoal.data.partition import Classes, ClusterClasses, ClusterDirichlet, Dirichlet
from shoal.data.partition.classes import equal_shares, random_classes
from shoal.data.partition.shares import counts_of, fill_to_minimum
from shoal.errors import BadInput
from shoal.seeds import Key


def test_counts_are_cumulated_shares_rounded_down() -> None:
    """Class of 10, ends at 1, 4.5, 10: cut at 1, 4 and 10; class of 3 with shares 1:1:1 has one each."""
    shares = np.array([[0.1, 0.35, 0.55], [1.0, 1.0, 1.0]])
    assert counts_of(np.array([10, 3]), shares).tolist() == [[1, 3, 6], [1, 1, 1]]


@given(
    seed=st.integers(0, 999),
    sizes=st.lists(st.integers(0, 10**6), min_size=1, max_size=5),
    clients=st.integers(1, 50),
    alpha=st.sampled_from([0.001, 0.1, 10.0]),
)
def test_counts_lose_nothing(seed: int, sizes: list[int], clients: int, alpha: float) -> None:
    shares = np.random.default_rng(seed).dirichlet(np.full(clients, alpha), len(sizes))
    counts = counts_of(np.array(sizes), shares)
    assert counts.min() >= 0
    assert counts.sum(1).tolist() == sizes


def test_fill_takes_from_the_largest_holder_of_the_favourite_class() -> None:
    """Client 2 has nothing; it likes class 1 best, of which client 0 has most (7)."""
    counts = np.array([[9, 1, 0], [7, 2, 0]])
    shares = np.array([[0.9, 0.1, 0.0], [0.7, 0.2, 0.1]])
    filled = fill_to_minimum(counts, shares, 2, np.ones((2, 3), bool))
    assert filled is not None
    assert filled.tolist() == [[9, 1, 0], [5, 2, 2]]


def test_fill_gives_up_where_nobody_can_spare() -> None:
    assert fill_to_minimum(np.array([[2, 0]]), np.array([[1.0, 0.0]]), 2, np.ones((1, 2), bool)) is None
    forbidden = np.array([[True, False]])
    assert fill_to_minimum(np.array([[9, 0]]), np.array([[1.0, 0.0]]), 1, forbidden) is None


def test_a_class_that_nobody_has_is_an_error() -> None:
    with pytest.raises(ValueError, match="no share"):
        counts_of(np.array([1]), np.array([[0.0, 0.0]]))


def test_dirichlet_leaves_nobody_empty() -> None:
    """At alpha = 0.01 most clients would get nothing at all."""
    fed = Dirichlet(alpha=0.01, clients=200)(digits(), Key(1))
    assert fed.train.sizes.min() == 1
    assert fed.test.sizes.min() == 1
    assert fed.train.sizes.sum() + fed.test.sizes.sum() == 1797


def test_the_test_part_has_the_proportions_of_the_training_part() -> None:
    """A client with a share s of class c has s of its training and of its test samples, within one."""
    y = np.concatenate([np.arange(6000) % 3, np.arange(1200) % 3])
    data = Dataset(name="big", x=np.zeros((7200, 1)), y=y, classes=3, first_test=6000)
    fed = Dirichlet(alpha=0.5, clients=10)(data, Key(1))
    for i in range(10):
        train = np.bincount(y[fed.train[i]], minlength=3)
        test = np.bincount(y[fed.test[i]], minlength=3)
        assert np.abs(train / 5 - test).max() <= 2


def test_cluster_dirichlet_has_like_clients_in_a_group() -> None:
    """beta = 1000 gives all clients of a group the same proportions; alpha = 0.3 makes groups differ."""
    y = np.arange(20_000) % 10
    data = Dataset(name="big", x=np.zeros((20_000, 1)), y=y, classes=10)
    fed = ClusterDirichlet(alpha=0.3, beta=1000.0, groups=4, clients=20)(data, Key(2))
    counts = np.array([np.bincount(y[fed.train[i]], minlength=10) for i in range(20)])
    mixes = counts / counts.sum(1, keepdims=True)
    assert fed.truth is not None
    for g in range(4):
        own = mixes[fed.truth == g]
        assert np.abs(own - own.mean(0)).max() < 0.1
    centres = np.array([mixes[fed.truth == g].mean(0) for g in range(4)])
    apart = np.abs(centres[:, None] - centres[None]).sum(2)
    assert apart[~np.eye(4, dtype=bool)].min() > 0.2
    assert fed.train.sizes.min() >= 10


def test_cluster_dirichlet_says_what_to_change() -> None:
    with pytest.raises(BadInput, match="need more than the 1797 of digits"):
        ClusterDirichlet()(digits(), Key(1))
    with pytest.raises(BadInput, match=r"in 1000 draws .* larger alpha"):
        ClusterDirichlet(alpha=0.001, groups=10, clients=100)(digits(), Key(1))


def test_equal_shares_by_hand() -> None:
    """Class 0: groups 0 and 1, half each; in group 0 both clients have it: 1/4 each. Class 1: client 1 alone."""
    has = np.array([[True, True, True], [False, True, False]])
    assert equal_shares(has, np.array([0, 0, 1])).tolist() == [[0.25, 0.25, 0.5], [0.0, 1.0, 0.0]]


@given(seed=st.integers(0, 99), takers=st.integers(1, 8), each=st.integers(1, 4), classes=st.integers(4, 8))
def test_random_classes_cover_all(seed: int, takers: int, each: int, classes: int) -> None:
    if takers * each < classes:
        with pytest.raises(BadInput, match="cannot cover"):
            random_classes(takers, each, classes, np.random.default_rng(seed))
        return
    drawn = random_classes(takers, each, classes, np.random.default_rng(seed))
    assert np.array_equal(np.unique(drawn), np.arange(classes))
    assert all(len(set(row)) == each for row in drawn.tolist())


def test_cluster_classes_has_three_per_group_and_two_per_client() -> None:
    fed = ClusterClasses(groups=5, clients=30)(digits(), Key(1))
    assert fed.truth is not None
    for g in range(5):
        own = [set(fed.y[fed.train[i]].tolist()) for i in np.flatnonzero(fed.truth == g).tolist()]
        assert len(set.union(*own)) == 3
        assert {len(s) for s in own} == {2}
        holders = [sum(c in s for s in own) for c in set.union(*own)]
        assert holders == [4, 4, 4]  # 6 clients with 2 classes each, in turn


def test_classes_share_each_class_equally() -> None:
    fed = Classes(per_client=2, clients=40)(digits(), Key(1))
    counts = np.array([np.bincount(fed.y[np.r_[fed.train[i], fed.test[i]]], minlength=10) for i in range(40)])
    for c in range(10):
        own = counts[counts[:, c] > 0, c]
        assert own.max() - own.min() <= 1
