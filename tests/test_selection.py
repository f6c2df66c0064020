"""Selection depends on (seed, round) and on each client's own id, on nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

from shoal.seeds import Key
from shoal.selection import All, Random, RoundRobinThenRandom
from shoal.types import Roster


def roster(n: int) -> Roster:
    return Roster(tuple(f"{i:03d}" for i in range(n)), np.ones(n))


def test_a_newcomer_or_leaver_does_not_reshuffle() -> None:
    # With one client more, either the same clients are chosen or the newcomer takes one place.
    for t in range(1, 30):
        before = set(Random(10)(roster(50), Key(1).at(t)))
        after = set(Random(10)(roster(51), Key(1).at(t)))
        assert before == after or (after - before == {"050"} and len(before - after) == 1)


def test_everybody_is_chosen_equally_often() -> None:
    n, k, rounds = 40, 8, 2000
    counts = dict.fromkeys(roster(n).ids, 0)
    for t in range(rounds):
        for client in Random(k)(roster(n), Key(5).at(t)):
            counts[client] += 1
    assert chisquare(list(counts.values())).pvalue > 1e-3


def test_it_differs_by_round_and_seed_and_comes_sorted() -> None:
    first = Random(10)(roster(100), Key(1).at(1))
    assert list(first) == sorted(first)
    assert len(first) == 10
    assert first != Random(10)(roster(100), Key(1).at(2))
    assert first != Random(10)(roster(100), Key(2).at(1))
    assert first == Random(10)(roster(100), Key(1).at(1))


def test_round_robin_reaches_everybody_and_then_draws() -> None:
    # n = 7, K = 3: rounds 0 1 2 take 012, 345, 6 and (modulo n) 0 1; from t >= n / K on it is random.
    got = [RoundRobinThenRandom(3)(roster(7), Key(0).at(t)) for t in (1, 2, 3, 4)]
    assert got[:3] == [("000", "001", "002"), ("003", "004", "005"), ("000", "001", "006")]
    assert got[3] == Random(3)(roster(7), Key(0).at(4))


@pytest.mark.parametrize("select", [Random(20), RoundRobinThenRandom(20), All()])
def test_fewer_clients_than_wanted(select: Random) -> None:
    assert select(roster(5), Key(0).at(1)) == roster(5).ids


def test_when_a_round_ends_with_the_last_client_the_next_one_draws() -> None:
    # n = 6, K = 3: rounds 1 and 2 reach everybody, so round 3 is random and does not begin again with 012.
    got = [RoundRobinThenRandom(3)(roster(6), Key(0).at(t)) for t in (1, 2, 3)]
    assert got[:2] == [("000", "001", "002"), ("003", "004", "005")]
    assert got[2] == Random(3)(roster(6), Key(0).at(3)) != got[0]
