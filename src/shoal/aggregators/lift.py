"""Lifts an aggregator for one model to K groups: each on its own answers; a group without answers keeps its model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.aggregators.mean import Aggregator, ServerState, weighted_sum
from shoal.layout import Layout
from shoal.types import Answers, Array


@dataclass(frozen=True)
class PerGroup:
    """An aggregator acting on K models and on every part of the vector.

    Trainable numbers go through the aggregator, statistics take the mean with the same shares, counters the maximum.
    """

    aggregator: Aggregator
    layout: Layout

    def init(self, models_KP: Array) -> ServerState:
        """What the aggregator carries on, one row per group."""
        rows = [self.aggregator.init(model_P[self.layout.trainable]) for model_P in models_KP]
        return {name: np.stack([r[name] for r in rows]) for name in rows[0]}

    def apply(self, models_KP: Array, got: Answers, s: ServerState) -> tuple[Array, ServerState]:
        """The next model of every group from the answers of the clients that trained it (`got.which_N`)."""
        new_KP, new_s = models_KP.copy(), {name: rows.copy() for name, rows in s.items()}
        for k in np.unique(got.which_N):
            mine: Any = np.flatnonzero(got.which_N == k)
            mine = slice(None) if len(mine) == len(got) else mine  # one group: no copy of the updates
            new_KP[k], row = self._one(
                models_KP[k], got["update"][mine], got["count"][mine], {n: v[k] for n, v in s.items()}
            )
            for name, value in row.items():
                new_s[name][k] = value
        return new_KP, new_s

    def _one(self, model_P: Array, updates_NP: Array, counts_N: Array, s: ServerState) -> tuple[Array, ServerState]:
        at = self.layout
        shares_N = self.aggregator.shares(updates_NP[:, at.trainable], counts_N)
        mean_P = weighted_sum(shares_N, updates_NP)
        new_P = model_P.astype(np.float64) + mean_P
        new_P[at.trainable], s = self.aggregator.step(model_P[at.trainable].astype(np.float64), mean_P[at.trainable], s)
        new_P[at.counters] = model_P[at.counters] + updates_NP[:, at.counters].max(0, initial=0)
        return new_P.astype(model_P.dtype), s


def per_group(aggregator: Aggregator, layout: Layout) -> PerGroup:
    """The aggregator for K groups.

    >>> from torch import nn
    >>> layout = Layout.of(lambda: nn.Linear(1, 2, bias=False), np.zeros((1, 1)))
    >>> got = Answers(("a",), np.array([1]), {"update": np.ones((1, 2)), "count": np.array([5])})
    >>> from shoal.aggregators.mean import weighted_mean
    >>> per_group(weighted_mean(), layout).apply(np.zeros((2, 2)), got, {})[0].tolist()
    [[0.0, 0.0], [1.0, 1.0]]
    """
    return PerGroup(aggregator, layout)
