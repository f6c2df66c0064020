"""Canonical labels: groups are numbered in the order in which their first clients come."""

from __future__ import annotations

import numpy as np

from shoal.types import Array


def by_first(labels_N: Array) -> Array:
    """The same partition, labels 0, 1, ... by first occurrence.

    >>> by_first(np.array([7, 2, 2, 7, 0])).tolist()
    [0, 1, 1, 0, 2]
    """
    return np.argsort(np.argsort(first_places(labels_N)))[np.unique(labels_N, return_inverse=True)[1]]


def first_places(labels_N: Array) -> Array:
    """Where each label that occurs comes first, by rising label."""
    return np.unique(labels_N, return_index=True)[1]
