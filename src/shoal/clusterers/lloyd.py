"""Weighted k-means, the bare steps: E and M step, and Lloyd's iteration from given centres.

N clients, K centres, D numbers that represent a client. With weights lambda these are WeCFL's E and M step,
with equal weights FeSEM's. Bare: an empty cluster keeps its centre, and cluster ids never change.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from shoal.errors import BadInput
from shoal.types import Array

ITERATIONS = 300
BLOCK = 1 << 22  # numbers of a block that is held in float64: 32 MB
WHOLE = 1 << 27  # numbers of a matrix that is turned into float64 as a whole: 1 GB
ROUNDING = 1e-12  # scores closer than this share of their size are compared again, exactly


class Clusters(NamedTuple):
    """Labels, centres, and the objective `F = sum_i lambda_i |x_i - c_{k_i}|^2 / sum_i lambda_i` they reach.

    Attributes:
        labels_N: The cluster of each point.
        centres_KD: The centres.
        F: The objective.

    >>> Clusters(np.array([0, 1]), np.zeros((2, 3)), 0.5).F
    0.5
    """

    labels_N: Array
    centres_KD: Array
    F: float


def e_step(rows_ND: Array, centres_KD: Array) -> Array:
    """Every point to its nearest centre, `k_i = argmin_k |x_i - c_k|^2`, ties to the lowest.

    Nearest by matrix products; where two centres are as near up to rounding, by the differences themselves.

    Args:
        rows_ND: One point per client.
        centres_KD: The centres.

    Returns:
        The cluster of each point.

    >>> e_step(np.array([[0.0], [1.0], [9.0]]), np.array([[0.0], [2.0], [8.0]])).tolist()
    [0, 0, 2]
    """
    rows_ND, centres_KD = np.asarray(rows_ND), np.asarray(centres_KD, np.float64)
    middle_D = centres_KD.mean(0)
    shifted_KD = centres_KD - middle_D
    twice_KD = 2 * shifted_KD
    constant_K = np.square(shifted_KD).sum(1) + twice_KD @ middle_D
    longest, farthest = np.abs(shifted_KD).sum(1).max(), np.abs(middle_D).max()
    labels_N = np.zeros(len(rows_ND), np.int64)
    for here, block in in_blocks(rows_ND):
        score = constant_K - block @ twice_KD.T  # |x - c|^2 less what all centres share
        labels_N[here] = score.argmin(1)
        largest = max(block.max(), -block.min(), farthest)
        slack = ROUNDING * (largest * longest + np.abs(score).max())
        tied = score <= score.min(1, keepdims=True) + slack
        for i in np.flatnonzero(tied.sum(1) > 1):
            near_K = np.flatnonzero(tied[i])
            labels_N[here.start + i] = near_K[np.square(block[i] - centres_KD[near_K]).sum(1).argmin()]
    return labels_N


def m_step(rows_ND: Array, labels_N: Array, weights_N: Array, centres_KD: Array) -> Array:
    """Every centre to the mean of its points, `c_k = sum lambda_i x_i / sum lambda_i`; an empty one stays.

    Args:
        rows_ND: One point per client.
        labels_N: The cluster of each point.
        weights_N: lambda_i, from 0 up, not all 0.
        centres_KD: The centres before the step; those of empty clusters stay.

    Returns:
        The new centres, K x D.

    >>> m_step(np.array([[0.0], [4.0]]), np.array([1, 1]), np.array([1.0, 3.0]), np.array([[7.0], [8.0]])).tolist()
    [[7.0], [3.0]]
    """
    rows_ND, labels_N = np.asarray(rows_ND), np.asarray(labels_N)
    weights_N, centres_KD = np.asarray(weights_N, np.float64), np.asarray(centres_KD, np.float64).copy()
    shares_KN = (labels_N == np.arange(len(centres_KD))[:, None]) * weights_N
    total_K = shares_KN.sum(1)
    live_K = total_K > 0
    shares_KN = shares_KN[live_K] / total_K[live_K, None]
    centres_KD[live_K] = sum(shares_KN[:, here] @ block for here, block in in_blocks(rows_ND))
    return centres_KD


def lloyd(rows_ND: Array, centres_KD: Array, weights_N: Array, iterations: int = ITERATIONS) -> Clusters:
    """E and M steps in turn from the given centres until no label changes; at most so many of each.

    With `iterations=1` a single E and M step.

    Args:
        rows_ND: One point per client.
        centres_KD: Where to begin.
        weights_N: lambda_i, from 0 up, not all 0.
        iterations: E and M steps at most.

    Returns:
        Labels, centres and the objective.

    >>> lloyd(np.array([[0.0], [1.0], [5.0]]), np.array([[1.0], [4.0], [99.0]]), np.ones(3)).centres_KD.tolist()
    [[0.5], [5.0], [99.0]]
    """
    rows_ND, weights_N = double(rows_ND), checked(weights_N, len(rows_ND))
    if iterations < 1:
        raise BadInput(f"k-means needs at least one iteration, not {iterations}.")
    labels_N, centres_KD = np.full(len(rows_ND), -1), np.asarray(centres_KD, np.float64).copy()
    for _ in range(iterations):
        before_N, labels_N = labels_N, e_step(rows_ND, centres_KD)
        if np.array_equal(before_N, labels_N):
            break
        centres_KD = m_step(rows_ND, labels_N, weights_N, centres_KD)
    return reached(rows_ND, labels_N, centres_KD, weights_N)


def reached(rows_ND: Array, labels_N: Array, centres_KD: Array, weights_N: Array) -> Clusters:
    own_N = own_distances(rows_ND, labels_N, centres_KD)
    return Clusters(labels_N, centres_KD, float((weights_N * own_N).sum() / weights_N.sum()))


def own_distances(rows_ND: Array, labels_N: Array, centres_KD: Array) -> Array:
    """Squared distance of every point to the centre of its cluster."""
    parts = [np.square(block - centres_KD[labels_N[here]]).sum(1) for here, block in in_blocks(rows_ND, BLOCK // 8)]
    return np.concatenate(parts)


def in_blocks(rows_ND: Array, size: int = BLOCK) -> Iterator[tuple[slice, Array]]:
    """Blocks of rows in float64, and where they stand."""
    step = max(size // max(rows_ND.shape[1], 1), 1)
    for start in range(0, len(rows_ND), step):
        here = slice(start, min(start + step, len(rows_ND)))
        yield here, rows_ND[here].astype(np.float64, copy=False)


def double(rows_ND: Array) -> Array:
    """The points in float64 once and for all, unless that took too much memory: then every block anew."""
    rows_ND = np.asarray(rows_ND)
    return rows_ND.astype(np.float64, copy=False) if rows_ND.size <= WHOLE else rows_ND


def checked(weights_N: Array, n: int) -> Array:
    """One weight per point, none negative, not all zero."""
    weights_N = np.asarray(weights_N, np.float64)
    if weights_N.shape != (n,) or n == 0 or (weights_N < 0).any() or not 0 < weights_N.sum() < np.inf:
        raise BadInput(f"k-means needs a point and one weight from 0 up for each of the {n}, not all of them 0.")
    return weights_N
