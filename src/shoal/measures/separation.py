"""How clearly groups of clients stand apart: the order of similarities, and how far clients stray from their group.

Sattler, Mueller, Samek, the long version of Clustered Federated Learning, https://arxiv.org/abs/1910.01991: a split
finds the true groups where every similarity inside a group is larger than every one across, and where clients stay near
their group.
"""

from __future__ import annotations

import numpy as np

from shoal.errors import BadInput
from shoal.measures.gram import norms
from shoal.types import Array


def pair_order(similarity_NN: Array, labels_N: Array) -> float:
    """The share of right orders: how often a pair inside a group is more similar than a pair across groups.

    Every pair of clients inside a group meets every pair of different groups; equal similarities count half. At 1 the
    groups are separated as the theory wants it, with the least similarity inside above the largest across; at 1/2 the
    groups have nothing to do with the similarities.

    Args:
        similarity_NN: Similarity of every pair of clients.
        labels_N: The group of each client; some group must have two, and there must be two groups.

    Returns:
        A number from 0 to 1.

    >>> a = np.array([[1.0, 0.9, 0.2], [0.9, 1.0, -0.3], [0.2, -0.3, 1.0]])
    >>> pair_order(a, np.array([0, 0, 1])), pair_order(a, np.array([0, 1, 0]))
    (1.0, 0.5)
    """
    similarity_NN, labels_N = np.asarray(similarity_NN, np.float64), np.asarray(labels_N)
    first, second = np.triu_indices(len(labels_N), 1)
    inside_M = labels_N[first] == labels_N[second]
    inside = int(inside_M.sum())
    across = len(inside_M) - inside
    if not inside or not across:
        raise BadInput(
            "pairs inside groups and pairs across groups are compared: two groups, one of two clients or more."
        )
    ranks_M = mean_ranks(similarity_NN[first, second])
    return float((ranks_M[inside_M].sum() - inside * (inside + 1) / 2) / (inside * across))


def mean_ranks(value_M: Array) -> Array:
    """The place of each value among all, from 1 upwards; equal ones share the mean of their places.

    >>> mean_ranks(np.array([7.0, 3.0, 7.0])).tolist()
    [2.5, 1.0, 2.5]
    """
    sorted_M = np.sort(value_M)
    return (np.searchsorted(sorted_M, value_M) + np.searchsorted(sorted_M, value_M, side="right") + 1) / 2


def relative_deviation(rows_NP: Array, labels_N: Array) -> float:
    """`gamma_max`, the longest way of a client from the mean of its group, in lengths of that mean.

    Args:
        rows_NP: One update per client.
        labels_N: The group of each client.

    Returns:
        The largest over all clients; infinite if the members of a group cancel out and are not zero themselves.

    >>> relative_deviation(np.array([[2.0, 1.0], [2.0, -1.0], [0.0, 3.0]]), np.array([0, 0, 1]))
    0.5
    """
    rows_NP, labels_N, worst = np.asarray(rows_NP), np.asarray(labels_N), 0.0
    for k in np.unique(labels_N):
        own_NP = rows_NP[labels_N == k].astype(np.float64)
        mean_P = own_NP.mean(0)
        away, length = float(norms(own_NP - mean_P).max()), float(norms(mean_P[None])[0])
        worst = max(worst, away / length if length > 0 else (np.inf if away > 0 else 0.0))
    return worst
