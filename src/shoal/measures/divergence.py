"""What FlexCFL's convergence theorem speaks of, from gradients that clients measured (Duan et al. 2022, section 4)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shoal.measures.gram import norms
from shoal.types import Array


class Divergence(NamedTuple):
    """Intra-group gradient divergence: delta over all clients, and that of the group that has most of it.

    Attributes:
        delta: Equation 13, the mean over all clients by weight.
        largest: The largest mean over the clients of one group.

    >>> Divergence(delta=1.0, largest=2.0).largest
    2.0
    """

    delta: float
    largest: float


def gradient_divergence(gradients_NP: Array, weights_N: Array, labels_N: Array) -> Array:
    """`|grad F_k(w) - grad F_g(w)|` of each client at its group's w: what equation 12 takes the maximum of.

    The group's gradient is the mean of its clients' by weight (definition 1).

    Args:
        gradients_NP: Each client's gradient at one point of its group.
        weights_N: p_k up to a factor: samples of each client.
        labels_N: The group of each client.

    Returns:
        A distance per client.

    >>> gradient_divergence(np.array([[0.0], [4.0], [7.0]]), np.array([3.0, 1.0, 5.0]), np.array([0, 0, 1])).tolist()
    [1.0, 3.0, 0.0]
    """
    gradients_NP, weights_N = np.asarray(gradients_NP, np.float64), np.asarray(weights_N, np.float64)
    out_N = np.zeros(len(gradients_NP))
    for mine in members(labels_N):
        mean_P = (weights_N[mine] / weights_N[mine].sum()) @ gradients_NP[mine]
        out_N[mine] = norms(gradients_NP[mine] - mean_P)
    return out_N


def group_divergence(divergence_N: Array, weights_N: Array, labels_N: Array) -> Divergence:
    """`delta = sum_g sum_k p_k delta_k`, equation 13, with weights that sum to 1 over all clients (departure D89).

    Args:
        divergence_N: delta_k of each client.
        weights_N: p_k up to a factor: samples of each client.
        labels_N: The group of each client.

    Returns:
        delta, and the largest `sum_k p_k delta_k / sum_k p_k` of a group.

    >>> group_divergence(np.array([1.0, 3.0, 0.0]), np.array([3.0, 1.0, 4.0]), np.array([0, 0, 1]))
    Divergence(delta=0.75, largest=1.5)
    """
    divergence_N, weights_N = np.asarray(divergence_N, np.float64), np.asarray(weights_N, np.float64)
    of_group = [float(np.average(divergence_N[m], weights=weights_N[m])) for m in members(labels_N)]
    return Divergence(float(np.average(divergence_N, weights=weights_N)), max(of_group))


def members(labels_N: Array) -> list[Array]:
    """Where the clients of each group stand."""
    labels_N = np.asarray(labels_N)
    return [np.flatnonzero(labels_N == g) for g in np.unique(labels_N)]


def divergence_bound(delta: float, M: float, L: float, lr: float, steps: int, between: float = 0.0) -> float:
    """Theorem 1: `|F_g(w) - F_g(v)| <= delta M / L ((lr L + 1)^E - 1)`, v trained centrally on the group's data.

    Args:
        delta: Intra-group gradient divergence.
        M: Lipschitz constant of the losses: a bound on gradients.
        L: Smoothness.
        lr: Learning rate.
        steps: E, local gradient steps.
        between: `eta_g (|G| - 1)` with inter-group aggregation; it counts M times (departure D89).

    Returns:
        The bound, infinite where it is too large for a number, nan for an L that is nan; L = 0 is `delta M lr E`.

    >>> round(divergence_bound(delta=0.5, M=2.0, L=1.0, lr=1.0, steps=3), 9)
    7.0
    """
    if math.isnan(L) or math.isnan(lr):
        return math.nan
    try:
        growth = math.expm1(steps * math.log1p(lr * L)) / L if L > 0 else lr * steps
    except OverflowError:
        return math.inf if delta > 0 else M * between
    return delta * M * growth + M * between
