"""CFL's split of a cluster in two by the similarities of its clients (Sattler et al. 2019, eq. 6; departure D4)."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np

from shoal.clusterers.linkage import cut_into
from shoal.errors import BadInput, unknown
from shoal.types import Array

BipartitionMode = Literal["optimal", "complete"]


class Split(NamedTuple):
    """Which side each client is on (client 0 on side 0), and the largest similarity between the sides.

    Attributes:
        labels_N: 0 or 1 for each client.
        cross: The largest similarity across the cut; low is clean.

    >>> Split(np.array([0, 0, 1]), cross=-0.7).cross
    -0.7
    """

    labels_N: Array
    cross: float


def bipartition(similarity_NN: Array, mode: BipartitionMode = "optimal") -> Split:
    """The split by the named method.

    Args:
        similarity_NN: Similarity of every pair of at least two clients.
        mode: `optimal` or `complete`.

    Returns:
        The two sides, and the largest similarity between them.

    >>> a = np.array([[1.0, 0.9, -0.8], [0.9, 1.0, -0.7], [-0.8, -0.7, 1.0]])
    >>> split = bipartition(a)
    >>> split.labels_N.tolist(), split.cross
    ([0, 0, 1], -0.7)
    """
    if mode == "optimal":
        return optimal_bipartition(similarity_NN)
    if mode == "complete":
        return complete_bipartition(similarity_NN)
    raise unknown("bipartition", mode, get_args(BipartitionMode))


def optimal_bipartition(similarity_NN: Array) -> Split:
    """The exact minimum over both sides non-empty of `max_{i in c1, j in c2} a_ij`.

    Grows the maximum spanning tree from client 0. Every split cuts some edge of the tree, so that none has a cross
    similarity below the tree's weakest edge; and when that edge was the best one out of the tree, nothing outside was
    more similar to anything inside: the clients inside by then are one side. If several edges are equally weak, the
    first of them is cut.

    Args:
        similarity_NN: Similarity of every pair of at least two clients.

    Returns:
        The two sides, and the largest similarity between them.

    >>> optimal_bipartition(np.array([[1.0, 0.1, 0.5], [0.1, 1.0, 0.2], [0.5, 0.2, 1.0]]))
    Split(labels_N=array([0, 1, 0]), cross=0.2)
    """
    similarity_NN = _checked(similarity_NN)
    n = len(similarity_NN)
    inside, best_N = [0], similarity_NN[0].copy()
    edges = []
    outside_N = np.ones(n, bool)
    outside_N[0] = False
    while len(inside) < n:
        new = int(np.where(outside_N, best_N, -np.inf).argmax())
        edges.append(best_N[new])
        inside.append(new)
        outside_N[new] = False
        best_N = np.maximum(best_N, similarity_NN[new])
    weakest = int(np.argmin(edges))
    labels_N = np.ones(n, np.int64)
    labels_N[inside[: weakest + 1]] = 0
    return Split(labels_N, float(edges[weakest]))


def complete_bipartition(similarity_NN: Array) -> Split:
    """The split of the authors' notebook: complete linkage on the negated similarities, down to two clusters.

    It keeps the least similar pair within a side as similar as it can, which is another aim than the optimal cut's.

    Args:
        similarity_NN: Similarity of every pair of at least two clients.

    Returns:
        The two sides, and the largest similarity between them.

    >>> complete_bipartition(np.array([[1.0, 0.1, 0.5], [0.1, 1.0, 0.2], [0.5, 0.2, 1.0]]))
    Split(labels_N=array([0, 1, 0]), cross=0.2)
    """
    similarity_NN = _checked(similarity_NN)
    labels_N = cut_into(1.0 - similarity_NN, 2, "complete")
    return Split(labels_N, float(similarity_NN[labels_N == 0][:, labels_N == 1].max()))


def _checked(similarity_NN: Array) -> Array:
    """At least two clients, finite similarities."""
    similarity_NN = np.asarray(similarity_NN, np.float64)
    n = len(similarity_NN)
    if similarity_NN.shape != (n, n) or n < 2:
        raise BadInput(f"a cluster of {n} cannot be split in two; a square matrix of 2 or more clients is needed.")
    if not np.isfinite(similarity_NN).all():
        raise BadInput("a similarity between two clients is not a finite number; the cluster cannot be split.")
    return similarity_NN
