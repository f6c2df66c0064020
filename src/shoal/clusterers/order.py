"""Canonical labels: groups are numbered in the order in which their first clients come."""

from __future__ import annotations

import numpy as np

from shoal.types import Array


def by_first(labels_N: Array) -> Array:
    """The same partition, labels 0, 1, ... by first occurrence.

    Args:
        labels_N: The group of each client, any whole numbers.

    Returns:
        The group of each client, numbered from 0.

    >>> by_first(np.array([7, 2, 2, 7, 0])).tolist()
    [0, 1, 1, 0, 2]
    """
    _, first_K, own_N = np.unique(np.asarray(labels_N), return_index=True, return_inverse=True)
    rank_K = np.argsort(np.argsort(first_K))
    return rank_K[own_N]
