"""Clusterability B of WeCFL: how far gradients lie from their group's mean (Ma et al. 2022, definition 6.4)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.errors import BadInput
from shoal.types import Array


class Clusterability(NamedTuple):
    """B of every group (nan for one without clients), the largest, and the mean over the groups that have clients.

    Attributes:
        B_K: B of each group.
        max: The largest of them.
        mean: Their mean.

    >>> Clusterability(np.array([0.5, 1.5]), 1.5, 1.0).mean
    1.0
    """

    B_K: Array
    max: float
    mean: float


def clusterability(gradients_NP: Array, weights_N: Array, labels_N: Array) -> Clusterability:
    """The least B with `|gbar - g_i| <= B |gbar|` for all members i of a group, `gbar` their lambda-weighted mean.

    0 says that all gradients of the group are equal; a mean of 0 gives infinity.

    Args:
        gradients_NP: The gradient of each client's loss at its own parameters.
        weights_N: Importance lambda_i of each client.
        labels_N: The group of each client.

    Returns:
        B of each group, the largest and the mean.

    >>> g = np.array([[1.0, 0.0], [3.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> clusterability(g, np.ones(4), np.array([0, 0, 1, 1]))
    Clusterability(B_K=array([0.5, inf]), max=inf, mean=inf)
    """
    gradients_NP, labels_N = np.asarray(gradients_NP), np.asarray(labels_N)
    weights_N = np.asarray(weights_N, np.float64)
    if not len(gradients_NP) == len(weights_N) == len(labels_N) > 0:
        raise BadInput("clusterability needs one gradient, one weight and one label per client, and a client.")
    B_K = np.full(int(labels_N.max()) + 1, np.nan)
    for k in np.unique(labels_N):
        B_K[k] = _spread(gradients_NP, weights_N, np.flatnonzero(labels_N == k))
    return Clusterability(B_K, float(np.nanmax(B_K)), float(np.nanmean(B_K)))


def _spread(gradients_NP: Array, weights_N: Array, members: Array) -> float:
    """B of one group; row by row, so that single-precision gradients are not copied."""
    total = weights_N[members].sum()
    if total <= 0:
        raise BadInput("a group has clients but no weight; clusterability is not defined.")
    mean_P = np.zeros(gradients_NP.shape[1])
    for i in members:
        mean_P += weights_N[i] / total * gradients_NP[i]
    length = float(np.sqrt(np.square(mean_P).sum()))
    farthest = max(float(np.sqrt(np.square(mean_P - gradients_NP[i]).sum())) for i in members)
    return farthest / length if length > 0 else float("inf")
