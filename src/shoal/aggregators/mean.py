"""Means of client updates: by sample count (FedAvg, spec 1.5) or with equal weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from shoal.types import Array

ServerState = Mapping[str, Array]  # what an aggregator carries from round to round, one array per name


class Aggregator(Protocol):
    """How much each client counts, and what the server does with the mean update. Shares sum to one."""

    def shares(self, updates_NP: Array, counts_N: Array) -> Array: ...

    def init(self, params_P: Array) -> ServerState: ...

    def step(self, params_P: Array, mean_P: Array, s: ServerState) -> tuple[Array, ServerState]: ...


@dataclass(frozen=True)
class Mean:
    """`w + sum_i share_i delta_i`, shares by sample count over the clients that answered, or equal.

    >>> mean = weighted_mean()
    >>> mean.shares(np.zeros((2, 1)), np.array([1, 3])).tolist()
    [0.25, 0.75]
    """

    by: Literal["samples", "clients"] = "samples"

    def shares(self, updates_NP: Array, counts_N: Array) -> Array:
        counts = np.asarray(counts_N, np.float64) if self.by == "samples" else np.ones(len(counts_N))
        return np.asarray(counts / counts.sum())

    def init(self, params_P: Array) -> ServerState:
        return {}

    def step(self, params_P: Array, mean_P: Array, s: ServerState) -> tuple[Array, ServerState]:
        return params_P + mean_P, s


def weighted_mean() -> Mean:
    """The mean by sample count."""
    return Mean("samples")


def plain_mean() -> Mean:
    """The mean in which every client counts the same."""
    return Mean("clients")


def weighted_sum(shares_N: Array, rows_NP: Array) -> Array:
    """`sum_i share_i row_i` in float64, row by row in the order given: the same bits whatever the machine's threads.

    >>> weighted_sum(np.array([0.25, 0.75]), np.array([[4.0], [8.0]])).tolist()
    [7.0]
    """
    out = np.zeros(rows_NP.shape[1])
    for share, row_P in zip(shares_N, rows_NP, strict=True):
        out += share * row_P.astype(np.float64)
    return out
