"""Who takes part in a round. A choice depends on (seed, round) and on each client's own id, so that order, newcomers
and leavers do not reshuffle it and all algorithms under one seed see the same clients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.seeds import Key
from shoal.types import Cohort, Roster, Select

__all__ = ["All", "Random", "RoundRobinThenRandom", "most"]


@dataclass(frozen=True)
class Random:
    """Uniform without replacement: the `k` clients of smallest hash(key, id); everybody if there are fewer.

    Args:
        k: Clients a round.

    >>> roster = Roster(("a", "b", "c", "d"), np.ones(4))
    >>> len(Random(2)(roster, Key(0).at(1))), Random(9)(roster, Key(0).at(1))
    (2, ('a', 'b', 'c', 'd'))
    """

    k: int = 20

    def __call__(self, clients: Roster, key: Key) -> Cohort:
        if self.k >= len(clients):
            return clients.ids
        scores_N = key.scores(clients.hashes_N)
        return tuple(clients.ids[i] for i in np.sort(np.argpartition(scores_N, self.k)[: self.k]))


@dataclass(frozen=True)
class RoundRobinThenRandom:
    """Clients in order, `k` a round, until everybody had a turn; at random from then on (departure D1).

    Args:
        k: Clients a round.

    >>> roster = Roster(("a", "b", "c"), np.ones(3))
    >>> [RoundRobinThenRandom(2)(roster, Key(0).at(t)) for t in (1, 2)]
    [('a', 'b'), ('a', 'c')]
    """

    k: int = 20

    def __call__(self, clients: Roster, key: Key) -> Cohort:
        n, t = len(clients), key.round - 1
        if self.k >= n or t * self.k >= n:
            return Random(self.k)(clients, key)
        return tuple(clients.ids[i] for i in sorted((t * self.k + j) % n for j in range(self.k)))


@dataclass(frozen=True)
class All:
    """Everybody, every round.

    >>> All()(Roster(("a", "b"), np.ones(2)), Key(0))
    ('a', 'b')
    """

    def __call__(self, clients: Roster, key: Key) -> Cohort:
        return clients.ids


def most(select: Select, clients: int) -> int:
    """How many of so many clients a selection chooses at most; one of your own without a `k` may choose all.

    Args:
        select: The selection.
        clients: How many there are.

    Returns:
        The number.

    >>> most(Random(3), 10), most(Random(20), 10), most(All(), 10)
    (3, 10, 10)
    """
    return min(getattr(select, "k", clients), clients)
