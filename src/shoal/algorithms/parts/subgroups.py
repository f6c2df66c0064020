"""The groups that the clients of a cluster form, whether they stand apart, and the cut between them (departure D93)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.clusterers import BipartitionMode, Split, bipartition, cut_into
from shoal.measures import pair_order, silhouettes
from shoal.types import Array

LEAST = 3  # clients of a group: two that are alike are found in any crowd
MOST = 20  # groups that are looked for at once; a side of a cut is looked at again
SILHOUETTE = 0.3  # from here on groups are tighter than those that clients of one population form by chance
ORDER = 0.97  # and from here on similarities inside groups are larger than those across


class Subgroups(NamedTuple):
    """Groups inside a cluster, and how clearly they stand apart.

    Attributes:
        labels_N: The group of each client, all 0 if there is no way to form two.
        silhouette: Their mean silhouette by cosine distance.
        order: The share of pairs of similarities, one inside a group and one across, that are in the right order.
    """

    labels_N: Array
    silhouette: float
    order: float

    @property
    def number(self) -> int:
        """How many groups there are."""
        return int(self.labels_N.max()) + 1

    @property
    def apart(self) -> bool:
        """Whether they stand apart: clients that agree form groups too, but no such ones."""
        return self.number > 1 and self.silhouette >= SILHOUETTE and self.order >= ORDER


def subgroups(similarity_NN: Array) -> Subgroups:
    """The groups of at least three clients that the similarities speak for most.

    Average linkage on `1 - similarity` offers groupings into 2, 3, ... groups; of those whose groups all have three
    clients or more, the one with the largest mean silhouette is taken.

    Args:
        similarity_NN: Cosine similarity of every pair of clients.

    Returns:
        The groups, their silhouette and their order.

    >>> a = np.kron(np.eye(2), np.ones((3, 3)))
    >>> found = subgroups(a)
    >>> found.labels_N.tolist(), found.silhouette, found.order, found.apart
    ([0, 0, 0, 1, 1, 1], 1.0, 1.0, True)
    >>> subgroups(a[:5, :5]).apart
    False
    """
    distances_NN = 1.0 - np.asarray(similarity_NN, np.float64)
    np.fill_diagonal(distances_NN, 0.0)
    n = len(distances_NN)
    best = Subgroups(np.zeros(n, np.int64), 0.0, 0.5)
    for k in range(2, min(MOST, n // LEAST) + 1):
        labels_N = cut_into(distances_NN, k, "average")
        if np.bincount(labels_N).min() < LEAST:
            continue
        silhouette = float(silhouettes(distances_NN, labels_N).mean())
        if best.number == 1 or silhouette > best.silhouette:
            best = Subgroups(labels_N, silhouette, 0.5)
    return best._replace(order=pair_order(similarity_NN, best.labels_N)) if best.number > 1 else best


def cut_between(similarity_NN: Array, labels_N: Array, mode: BipartitionMode = "optimal") -> Split:
    """CFL's cut among those that divide no group: of two groups the largest similarity of their clients counts.

    Args:
        similarity_NN: Similarity of every pair of clients.
        labels_N: The group of each client, 0 to K - 1, two or more.
        mode: `optimal` or `complete`.

    Returns:
        The two sides, and the largest similarity between them.

    >>> a = np.array([[1.0, 0.1, 0.6], [0.1, 1.0, 0.2], [0.6, 0.2, 1.0]])
    >>> bipartition(a).labels_N.tolist(), cut_between(a, np.array([0, 0, 1])).labels_N.tolist()
    ([0, 1, 0], [0, 0, 1])
    """
    labels_N = np.asarray(labels_N)
    groups = range(int(labels_N.max()) + 1)
    between_KK = np.array([[similarity_NN[labels_N == i][:, labels_N == j].max() for j in groups] for i in groups])
    cut = bipartition(between_KK, mode)
    return Split(cut.labels_N[labels_N], cut.cross)
