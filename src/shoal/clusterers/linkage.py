"""Agglomerative clustering of a distance matrix: into so many clusters, or up to a distance."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from shoal.clusterers.order import by_first
from shoal.errors import BadInput, unknown
from shoal.types import Array

Linkage = Literal["complete", "average", "single", "ward"]


def cut_into(distances_NN: Array, k: int, linkage: Linkage = "complete") -> Array:
    """Exactly k clusters: merges the two nearest ones until k are left. Labels 0..k-1 by first occurrence.

    The distance of two clusters is that of their farthest (complete), nearest (single) or mean (average) pair;
    `ward` takes the distances for Euclidean ones.

    Args:
        distances_NN: Distance of every pair of clients.
        k: Clusters, from 1 to N.
        linkage: `complete`, `average`, `single` or `ward`.

    Returns:
        The cluster of each client.

    >>> D = np.abs(np.subtract.outer([0.0, 1.0, 5.0, 6.5], [0.0, 1.0, 5.0, 6.5]))
    >>> cut_into(D, 2).tolist(), cut_into(D, 3).tolist()
    ([0, 0, 1, 1], [0, 0, 1, 2])
    """
    n = len(distances_NN)
    if not 1 <= k <= n:
        raise BadInput(f"{n} clients cannot form {k} groups; choose between 1 and {n}.")
    return _after(_merges(distances_NN, linkage), n, n - k)


def cut_at(distances_NN: Array, threshold: float, linkage: Linkage = "complete") -> Array:
    """Merges while the two nearest clusters are at most `threshold` apart; with 0 only coinciding clients meet.

    Args:
        distances_NN: Distance of every pair of clients.
        threshold: Largest distance of two clusters that merge.
        linkage: `complete`, `average`, `single` or `ward`.

    Returns:
        The cluster of each client.

    >>> D = np.abs(np.subtract.outer([0.0, 1.0, 5.0, 6.5], [0.0, 1.0, 5.0, 6.5]))
    >>> cut_at(D, 1.0).tolist(), cut_at(D, 1.5).tolist(), cut_at(D, 99.0).tolist()
    ([0, 0, 1, 2], [0, 0, 1, 1], [0, 0, 0, 0])
    """
    merges = _merges(distances_NN, linkage)
    return _after(merges, len(distances_NN), int((merges[:, 2] <= threshold).sum()))


def _merges(distances_NN: Array, linkage: Linkage) -> Array:
    """The n - 1 merges by rising distance: two clusters, their distance, the size; scipy's linkage matrix."""
    distances_NN = np.asarray(distances_NN, np.float64)
    if distances_NN.ndim != 2 or distances_NN.shape[0] != distances_NN.shape[1] or not distances_NN.size:
        raise BadInput(f"a square matrix of distances is needed, not one of shape {distances_NN.shape}.")
    if linkage not in get_args(Linkage):
        raise unknown("linkage", linkage, get_args(Linkage))
    if len(distances_NN) == 1:
        return np.zeros((0, 4))
    from scipy.cluster import hierarchy
    from scipy.spatial.distance import squareform

    pairs = squareform(distances_NN, checks=False)
    if not np.isfinite(pairs).all():
        raise BadInput("a distance between two clients is not a finite number; they cannot be clustered.")
    return np.asarray(hierarchy.linkage(pairs, linkage))


def _after(merges: Array, n: int, steps: int) -> Array:
    """Labels after the first so many merges."""
    members = {i: [i] for i in range(n)}
    for step in range(steps):
        a, b = int(merges[step, 0]), int(merges[step, 1])
        members[n + step] = members.pop(a) + members.pop(b)
    labels_N = np.empty(n, np.int64)
    for label, ids in members.items():
        labels_N[ids] = label
    return by_first(labels_N)
