"""Means of client updates: by sample count (FedAvg; departure D2) or with equal weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from shoal.aggregators.registry import aggregator
from shoal.aggregators.rules import MeanRule
from shoal.types import Array

PIECE = 1 << 15  # numbers that are added at a time; no bit depends on it


@dataclass(frozen=True)
class Mean(MeanRule):
    """`w + sum_i share_i delta_i`, shares by sample count over the clients that answered, or equal.

    Args:
        by: `samples`, or `clients`: all alike.

    >>> mean = weighted_mean()
    >>> mean.shares(np.zeros((2, 1)), np.array([1, 3])).tolist()
    [0.25, 0.75]
    """

    by: Literal["samples", "clients"] = "samples"

    def shares(self, updates_NP: Array, counts_N: Array) -> Array:
        counts = np.asarray(counts_N, np.float64) if self.by == "samples" else np.ones(len(counts_N))
        return np.asarray(counts / counts.sum())


@aggregator("weighted-mean")
def weighted_mean() -> Mean:
    """The mean by sample count.

    Returns:
        `Mean("samples")`.

    >>> weighted_mean().shares(np.zeros((2, 1)), np.array([1, 3])).tolist()
    [0.25, 0.75]
    """
    return Mean("samples")


@aggregator("plain-mean")
def plain_mean() -> Mean:
    """The mean in which every client counts the same.

    Returns:
        `Mean("clients")`.

    >>> plain_mean().shares(np.zeros((2, 1)), np.array([1, 3])).tolist()
    [0.5, 0.5]
    """
    return Mean("clients")


def weighted_sum(shares_N: Array, rows_NP: Array) -> Array:
    """`sum_i share_i row_i` in float64, row by row in the order given: the same bits whatever the machine's threads.

    Args:
        shares_N: How much each row counts.
        rows_NP: The rows, of any precision.

    Returns:
        P numbers in float64.

    >>> weighted_sum(np.array([0.25, 0.75]), np.array([[4.0], [8.0]])).tolist()
    [7.0]
    """
    out = np.zeros(rows_NP.shape[1])
    for share, row_P in zip(shares_N, rows_NP, strict=True):
        out += share * row_P.astype(np.float64)
    return out


def plus_mean(model_P: Array, shares_N: Array, rows_NP: Array) -> Array:
    """A model and the weighted sum of updates, added in float64: a piece at a time, which a cache holds.

    Args:
        model_P: The model.
        shares_N: How much each row counts.
        rows_NP: The updates.

    Returns:
        P numbers in the precision of the model.

    >>> plus_mean(np.ones(1, np.float32), np.array([0.25, 0.75]), np.array([[4.0], [8.0]])).tolist()
    [8.0]
    """
    new_P = np.empty_like(model_P)
    with np.errstate(over="ignore"):  # a model that is not finite ends the run with a sentence
        for begin in range(0, len(new_P), PIECE):
            at = slice(begin, begin + PIECE)
            new_P[at] = model_P[at] + weighted_sum(shares_N, rows_NP[:, at])
    return new_P
