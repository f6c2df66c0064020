"""Rules that a few strange clients cannot move far, coordinate by coordinate. Yin, Chen, Ramchandran, Bartlett, ICML
2018. https://arxiv.org/abs/1803.01498"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.aggregators.registry import aggregator
from shoal.aggregators.rules import ServerState, WholeRule, by_column
from shoal.errors import BadInput
from shoal.seeds import Key
from shoal.types import Array


@aggregator("median")
@dataclass(frozen=True)
class Median(WholeRule):
    """The median of updates, coordinate by coordinate; all clients count the same.

    >>> Median().apply(np.zeros(1), np.array([[1.0], [2.0], [900.0]]), np.array([1, 1, 9]), {}, Key(0))[0].tolist()
    [2.0]
    """

    def apply(
        self, params_P: Array, updates_NP: Array, counts_N: Array, s: ServerState, key: Key
    ) -> tuple[Array, ServerState]:
        return params_P + by_column(updates_NP, lambda rows_ND: np.median(rows_ND, 0)), s


@aggregator("trimmed-mean")
@dataclass(frozen=True)
class TrimmedMean(WholeRule):
    """The mean of updates without the largest and smallest, coordinate by coordinate; all clients count the same.

    Args:
        share: How many of the clients are left out at either end, rounded down; from 0 to below a half.

    >>> rows = np.array([[1.0], [2.0], [3.0], [900.0]])
    >>> TrimmedMean(0.25).apply(np.zeros(1), rows, np.ones(4), {}, Key(0))[0].tolist()      # (2 + 3) / 2
    [2.5]
    """

    share: float = 0.1

    def __post_init__(self) -> None:
        if not 0 <= self.share < 0.5:
            raise BadInput(f"a trimmed mean leaves out a share from 0 to below 0.5 at either end, not {self.share}")

    def apply(
        self, params_P: Array, updates_NP: Array, counts_N: Array, s: ServerState, key: Key
    ) -> tuple[Array, ServerState]:
        return params_P + self.statistics(updates_NP, counts_N), s

    def statistics(self, changes_NS: Array, counts_N: Array) -> Array:
        out = int(self.share * len(changes_NS))
        return by_column(changes_NS, lambda rows_ND: np.sort(rows_ND, 0)[out : len(rows_ND) - out].mean(0))
