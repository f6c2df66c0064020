"""ICG: sizes, one member of every cluster per group, and the property of its expectation."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.clusterers import Grouping, Sizes, icg, icg_sizes, seat_the_rest
from shoal.errors import BadInput
from shoal.measures import cpd_pairs
from shoal.types import Array


def counts(n: int, classes: int = 10, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    return np.asarray(rng.poisson(rng.gamma(0.4, 10, (n, classes))))


@pytest.mark.parametrize(
    ("clients", "f", "want", "unused"),
    [
        (368, 52, (52, 7, 364, 52), 0),  # the paper's 364
        (368, 130, (130, 2, 368, 184), 108),
        (368, 10, (10, 36, 360, 10), 0),
        (368, 1, (1, 368, 368, 1), 0),
        (368, 999, (368, 1, 368, 368), 0),  # f > K: one client each
        (10, 4, (4, 2, 10, 5), 2),
    ],
)
def test_sizes_by_hand(clients: int, f: int, want: tuple[int, ...], unused: int) -> None:
    found = icg_sizes(clients, f)
    assert found == Sizes(*want)
    assert found.unused == unused


@given(st.integers(1, 400), st.integers(1, 500))
def test_sizes_always_leave_enough_for_every_group(clients: int, f: int) -> None:
    m, clusters, kept, each = icg_sizes(clients, f)
    assert m == min(f, clients)
    assert clusters * each == kept <= clients
    assert each >= m  # every group finds somebody in every cluster
    assert clients - kept < clusters


@given(st.integers(1, 40), st.integers(1, 50), st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_a_group_has_one_member_of_every_cluster(n: int, f: int, seed: int) -> None:
    found = icg(counts(n, 5, seed), f, np.random.default_rng(seed))
    m, clusters, kept, each = icg_sizes(n, f)
    assert len(found.groups) == m
    for group in found.groups:
        assert sorted(found.cluster_N[group].tolist()) == list(range(clusters))
        assert group.tolist() == sorted(group.tolist())
    members = np.concatenate(found.groups)
    assert len(np.unique(members)) == len(members) == m * clusters
    assert (found.cluster_N >= 0).sum() == kept
    assert (found.cluster_N == -1).sum() == n - kept  # in no cluster
    assert np.bincount(found.cluster_N[found.cluster_N >= 0]).tolist() == [each] * clusters
    firsts = [int(group[0]) for group in found.groups]
    assert firsts == sorted(firsts)


def test_same_seed_same_groups() -> None:
    def draw(seed: int) -> Grouping:
        return icg(counts(30), 5, np.random.default_rng(seed))

    assert all(np.array_equal(a, b) for a, b in zip(draw(3).groups, draw(3).groups, strict=True))
    assert any(not np.array_equal(a, b) for a, b in zip(draw(3).groups, draw(4).groups, strict=True))


def test_groups_look_alike_where_clusters_are_clear() -> None:
    # Three kinds of clients, five of each, all of a kind equal: every group has one of each, so all groups are equal.
    rows = np.repeat(np.eye(3, dtype=int) * 7, 5, axis=0)
    found = icg(rows, 5, np.random.default_rng(0))
    assert [rows[g].sum(0).tolist() for g in found.groups] == [[7, 7, 7]] * 5
    assert cpd_pairs(np.array([rows[g].sum(0) for g in found.groups])).max() == 0


def test_the_mean_group_is_the_federation_and_its_spread_as_computed() -> None:
    # Departure D17, in expectation: |C_m - C_global|^2 = (1/L^2) sum_l (mean squared distance of cluster l to its mean)
    rows = counts(40, 6, 1).astype(float)
    found = icg(rows, 10, np.random.default_rng(0))
    clusters = [rows[found.cluster_N == k] for k in range(4)]
    means = np.array([c.mean(0) for c in clusters])
    want = sum(((c - c.mean(0)) ** 2).sum(1).mean() for c in clusters) / 4**2
    rng = np.random.default_rng(1)
    drawn = np.stack([c[rng.integers(0, 10, 20_000)] for c in clusters]).mean(0)  # centroids of random groups
    np.testing.assert_allclose(drawn.mean(0), means.mean(0), atol=0.15)
    assert ((drawn - means.mean(0)) ** 2).sum(1).mean() == pytest.approx(want, rel=0.03)
    groups = np.array([rows[g].mean(0) for g in found.groups])
    np.testing.assert_allclose(groups.mean(0), means.mean(0))  # everybody is in one: exact


def test_icg_beats_random_groups_of_the_same_size() -> None:
    rows, rng = counts(84, 10, 2), np.random.default_rng(0)
    good = [np.median(cpd_pairs(np.array([rows[g].sum(0) for g in icg(rows, 12, rng).groups]))) for _ in range(5)]
    dealt = [np.split(rng.permutation(84), 12) for _ in range(5)]
    chance = [np.median(cpd_pairs(np.array([rows[g].sum(0) for g in groups]))) for groups in dealt]
    assert np.mean(good) < 0.9 * np.mean(chance)


@pytest.mark.parametrize(("clients", "f"), [(0, 1), (5, 0)])
def test_nothing_to_group_is_refused(clients: int, f: int) -> None:
    with pytest.raises(BadInput, match="both must be at least 1"):
        icg_sizes(clients, f)


# ------------------------------------------------------------------------------------------------- who found no group


def test_the_rest_is_seated_where_it_is_missed() -> None:
    # Sums of the groups (4, 0), (0, 4), (3, 3); clients 6 with (0, 2) and 7 with (2, 0). T = (3, 3): away from it are
    # (1, -3), (-3, 1), (0, 0). Twice the products with (0, 2): -12, 4, 0, with (2, 0): 4, -12, 0; each takes its -12.
    rows = np.array([[2, 0], [2, 0], [0, 2], [0, 2], [3, 0], [0, 3], [0, 2], [2, 0]])
    groups = (np.array([0, 1]), np.array([2, 3]), np.array([4, 5]))
    assert [g.tolist() for g in seat_the_rest(rows, groups)] == [[0, 1, 6], [2, 3, 7], [4, 5]]


def test_two_that_want_the_same_group_are_the_cheapest_pair() -> None:
    # One class. Sums 0, 3, 9; clients 3 and 4 with 4 and 5: T = 7, away -7, -4, 2. To seat 4 and 5 in the first two:
    # 2 (4 * -7 + 5 * -4) = -96 or 2 (5 * -7 + 4 * -4) = -102, which is less: the larger one goes where most is missing.
    rows = np.array([[0], [3], [9], [4], [5]])
    found = seat_the_rest(rows, (np.array([0]), np.array([1]), np.array([2])))
    assert [g.tolist() for g in found] == [[0, 4], [1, 3], [2]]


@given(st.integers(1, 12), st.integers(1, 9), st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_everybody_is_seated_once_and_no_seating_is_more_alike(n: int, f: int, seed: int) -> None:
    rows = counts(n, 3, seed).astype(float)
    groups = icg(rows, f, np.random.default_rng(seed)).groups
    found = seat_the_rest(rows, groups)
    assert sorted(np.concatenate(found).tolist()) == list(range(n))
    sizes = [len(g) for g in found]
    assert max(sizes) - min(sizes) <= 1  # as random groups
    rest = sorted(set(range(n)) - {int(i) for g in groups for i in g})

    def unlike(sums: Array) -> float:
        return float(((sums - sums.mean(0)) ** 2).sum())

    sums = np.array([rows[g].sum(0) for g in groups])
    tries = []
    if len(rest) <= 3:
        for where in permutations(range(len(groups)), len(rest)):
            more = sums.copy()
            more[list(where)] += rows[rest]
            tries.append(unlike(more))
        assert unlike(np.array([rows[g].sum(0) for g in found])) == pytest.approx(min(tries), abs=1e-6)


def test_a_rest_that_is_seated_well_beats_one_that_is_seated_by_chance() -> None:
    rows, rng = counts(130, 10, 5), np.random.default_rng(0)
    groups = icg(rows, 50, rng).groups  # 100 of 130 find a place
    rest = np.setdiff1d(np.arange(130), np.concatenate(groups))
    chance = [np.append(g, rest[i]) if i < len(rest) else g for i, g in enumerate(groups)]
    good, bad = (np.array([rows[g].sum(0) for g in found]) for found in (seat_the_rest(rows, groups), chance))
    assert good.std(0).sum() < 0.9 * bad.std(0).sum()
