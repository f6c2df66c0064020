"""A rule of a stranger's own, in one file: the median, coordinate by coordinate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import shoal
from shoal.aggregators import ServerState, WholeRule
from shoal.seeds import Key
from shoal.types import Array


@shoal.aggregator("toy-median")
@dataclass(frozen=True)
class ToyMedian(WholeRule):
    """The median of what clients want, times a factor."""

    factor: float = 1.0

    def apply(
        self, params_P: Array, updates_NP: Array, counts_N: Array, s: ServerState, key: Key
    ) -> tuple[Array, ServerState]:
        return params_P + self.factor * np.median(updates_NP.astype(np.float64), 0), s
