"""Spherical k-means: Lloyd's iteration for cosine distance, on rows of length one and with centres of length one.

The squared distance of two such rows is `2 (1 - cos)`, so that the nearest centre is that of the smallest angle
(Dhillon and Modha 2001). As in `lloyd`, an empty cluster keeps its centre, and cluster ids never change.
"""

from __future__ import annotations

import numpy as np

from shoal.clusterers.lloyd import ITERATIONS, Clusters, checked, e_step, m_step, reached
from shoal.errors import BadInput
from shoal.types import Array


def unit(rows_ND: Array) -> Array:
    """The rows at length one, in float64; a row of zeros stays as it is.

    Args:
        rows_ND: Any rows.

    Returns:
        Their directions.

    >>> unit(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    rows_ND = np.asarray(rows_ND, np.float64)
    lengths_N = np.sqrt(np.square(rows_ND).sum(1))
    return np.asarray(rows_ND / np.where(lengths_N > 0, lengths_N, 1.0)[:, None])


def spherical_centres(rows_ND: Array, labels_N: Array, weights_N: Array, centres_KD: Array) -> Clusters:
    """The M step on the sphere: `c_k = s / |s|`, `s = sum lambda_i x_i`; empty clusters and those with s = 0 stay.

    No centres of length one give these clusters a lower objective.

    Args:
        rows_ND: Rows of length one.
        labels_N: The cluster of each.
        weights_N: lambda_i, from 0 up, not all 0.
        centres_KD: The centres before the step.

    Returns:
        The same labels, the new centres and the objective, `sum_i lambda_i 2 (1 - cos) / sum_i lambda_i`.

    >>> rows_ND = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> found = spherical_centres(rows_ND, np.zeros(2, int), np.ones(2), np.array([[1.0, 0.0]]))
    >>> found.centres_KD.round(3).tolist(), round(found.F, 3)                                  # 2 (1 - cos 45 degrees)
    ([[0.707, 0.707]], 0.586)
    """
    rows_ND, weights_N = np.asarray(rows_ND, np.float64), checked(weights_N, len(rows_ND))
    before_KD, means_KD = unit(centres_KD), m_step(rows_ND, labels_N, weights_N, centres_KD)
    new_KD = np.where(np.any(means_KD != 0, axis=1, keepdims=True), unit(means_KD), before_KD)
    return reached(rows_ND, np.asarray(labels_N), new_KD, weights_N)


def spherical_lloyd(rows_ND: Array, centres_KD: Array, weights_N: Array, iterations: int = ITERATIONS) -> Clusters:
    """E and M steps on directions from the given centres until no label changes; at most so many of each.

    Args:
        rows_ND: One row per client, of any length.
        centres_KD: Where to begin, of any length.
        weights_N: lambda_i, from 0 up, not all 0.
        iterations: E and M steps at most.

    Returns:
        Labels, centres of length one and the objective, `sum_i lambda_i 2 (1 - cos) / sum_i lambda_i`.

    >>> rows_ND = np.array([[1.0, 0.1], [9.0, 0.0], [0.0, 2.0]])
    >>> spherical_lloyd(rows_ND, np.array([[0.0, 5.0], [1.0, 0.0]]), np.ones(3)).labels_N.tolist()
    [1, 1, 0]
    """
    rows_ND, weights_N = unit(rows_ND), checked(weights_N, len(rows_ND))
    if iterations < 1:
        raise BadInput(f"k-means needs at least one iteration, not {iterations}.")
    found = Clusters(np.full(len(rows_ND), -1), unit(centres_KD), 0.0)
    for _ in range(iterations):
        labels_N = e_step(rows_ND, found.centres_KD)
        if np.array_equal(labels_N, found.labels_N):
            break
        found = spherical_centres(rows_ND, labels_N, weights_N, found.centres_KD)
    return found
