"""How alike clients were over the last rounds: a running mean of their similarities, pair by pair (departure D94)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from shoal.types import Array, Cohort

NEW = 0.5  # what the latest round counts


@dataclass(frozen=True)
class Alike:
    """The mean similarity of every pair of clients that were compared.

    What the order of mini-batches does to an update is another in every round, what a client's data do is the same:
    the mean of some rounds shows groups more clearly than one round does.

    >>> both = Alike().put(("a", "b"), np.array([[1.0, 0.8], [0.8, 1.0]]))
    >>> both.put(("a", "b"), np.array([[1.0, 0.4], [0.4, 1.0]])).get(("a", "b")).round(2).tolist()
    [[1.0, 0.6], [0.6, 1.0]]
    """

    ids: Cohort = ()
    mean_NN: Array = field(default_factory=lambda: np.zeros((0, 0), np.float32))

    def put(self, cohort: Cohort, similarity_NN: Array) -> Alike:
        """The same with the similarities of one more round; a pair that is new counts with these alone.

        Args:
            cohort: Clients of one cluster.
            similarity_NN: Similarity of every pair of them.

        Returns:
            Half of what it was, half of what is new; other pairs as they were.
        """
        have = set(self.ids)
        ids = (*self.ids, *(c for c in cohort if c not in have))
        mean_NN = np.full((len(ids), len(ids)), np.nan, np.float32)
        mean_NN[: len(self.ids), : len(self.ids)] = self.mean_NN
        at = np.ix_(*[places(ids, cohort)] * 2)
        new_NN = np.where(np.isnan(mean_NN[at]), similarity_NN, (1 - NEW) * mean_NN[at] + NEW * similarity_NN)
        mean_NN[at] = new_NN
        return Alike(ids, mean_NN)

    def get(self, cohort: Cohort) -> Array:
        """The mean similarities of clients that were put in together.

        Args:
            cohort: Clients of one cluster.

        Returns:
            N x N, as float64.
        """
        at_N = places(self.ids, cohort)
        return np.asarray(self.mean_NN[np.ix_(at_N, at_N)], np.float64)


def places(ids: Cohort, cohort: Cohort) -> Array:
    """Where the clients of a cohort stand."""
    where = {c: i for i, c in enumerate(ids)}
    return np.array([where[c] for c in cohort], int)
