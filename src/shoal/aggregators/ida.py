"""Inverse distance aggregation: models far from the others count less. Yeganeh et al., DART 2020."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from shoal.aggregators.mean import weighted_sum
from shoal.aggregators.registry import aggregator
from shoal.aggregators.rules import MeanRule
from shoal.errors import BadInput
from shoal.types import Array


def inverse_distances(updates_NP: Array, order: int = 2, eps: float = 1e-10, weights_N: Array | None = None) -> Array:
    """`a_k ~ n_k / (|w_avg - w_k| + eps)`, summing to one; `w_avg` is the plain mean, `n_k = 1` without weights.

    Clients that start from one model may be compared by their updates: the differences are the same.

    Args:
        updates_NP: One update per client.
        order: The norm, 1 or 2.
        eps: Added to every distance.
        weights_N: n_k, for instance sample counts.

    Returns:
        N shares that sum to one.

    >>> inverse_distances(np.array([[0.0], [0.0], [3.0]])).round(3).tolist()      # distances 1, 1, 2
    [0.4, 0.4, 0.2]
    """
    n = len(updates_NP)
    mean_P = weighted_sum(np.full(n, 1 / n), updates_NP)
    apart_N = np.array([length(mean_P - row_P, order) for row_P in updates_NP])
    pull_N = (np.ones(n) if weights_N is None else np.asarray(weights_N, np.float64)) / (apart_N + eps)
    return np.asarray(pull_N / pull_N.sum())


def length(row_P: Array, order: int) -> float:
    """The norm of a vector, summed so that the bits do not depend on the machine's threads.

    >>> length(np.array([3.0, -4.0]), 1), length(np.array([3.0, -4.0]), 2)
    (7.0, 5.0)
    """
    return float(np.abs(row_P).sum() if order == 1 else np.sqrt(np.square(row_P).sum()))


@aggregator("inverse-distance")
@dataclass(frozen=True)
class InverseDistance(MeanRule):
    """The mean of models with shares by inverse distance from their plain mean.

    Args:
        order: The norm of the distance, 1 or 2.
        eps: Added to every distance, above 0.
        by: `clients`, or `samples`: shares are multiplied by sample counts.

    >>> InverseDistance().shares(np.ones((4, 2)), np.array([1, 2, 3, 4])).tolist()     # all alike: uniform
    [0.25, 0.25, 0.25, 0.25]
    """

    order: Literal[1, 2] = 2
    eps: float = 1e-10
    by: Literal["clients", "samples"] = "clients"

    def __post_init__(self) -> None:
        if self.order not in (1, 2) or not self.eps > 0:
            raise BadInput(f"IDA knows the norms 1 and 2 and an eps above 0, not {self.order} and {self.eps}.")

    def shares(self, updates_NP: Array, counts_N: Array) -> Array:
        return inverse_distances(updates_NP, self.order, self.eps, counts_N if self.by == "samples" else None)
