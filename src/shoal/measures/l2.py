"""Squared Euclidean distances that stay exact where they are small."""

from __future__ import annotations

import numpy as np

from shoal.measures.gram import BLOCK
from shoal.types import Array

CANCELLED = 1e-6  # below this share of |x|^2 + |c|^2 the product form has lost too many digits


def squared_l2(rows_ND: Array, centres_KD: Array) -> Array:
    """`d_ik = |x_i - c_k|^2`, N x K, in float64, never negative, exactly 0 for equal vectors.

    Computed as `|x|^2 - 2 <x, c> + |c|^2` by matrix products around the mean of the centres; where these nearly cancel
    (vectors close together against their lengths) the difference itself is squared instead.

    Args:
        rows_ND: One point per client.
        centres_KD: The centres.

    Returns:
        N x K squared distances.

    >>> squared_l2(np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([[0.0, 0.0], [3.0, 0.0]])).tolist()
    [[0.0, 9.0], [25.0, 16.0]]
    """
    rows_ND, centres_KD = np.asarray(rows_ND), np.asarray(centres_KD, np.float64)
    middle_D = centres_KD.mean(0)
    shifted_KD = centres_KD - middle_D
    centres_K = np.square(shifted_KD).sum(1)
    squared_NK = np.empty((len(rows_ND), len(centres_KD)))
    step = max(BLOCK // max(rows_ND.shape[1], 1), 1)
    for start in range(0, len(rows_ND), step):
        block = rows_ND[start : start + step] - middle_D
        lengths = np.square(block).sum(1)[:, None] + centres_K
        part = np.maximum(lengths - 2 * (block @ shifted_KD.T), 0.0)
        for k in range(len(centres_KD)):
            close = np.flatnonzero(part[:, k] <= CANCELLED * lengths[:, k])
            part[close, k] = np.square(rows_ND[start + close] - centres_KD[k]).sum(1)
        squared_NK[start : start + step] = part
    return squared_NK


def squared_to_own(rows_ND: Array, centres_KD: Array, labels_N: Array) -> Array:
    """`|x_i - c_{k_i}|^2` by the differences themselves, in float64: one row at a time, which a cache holds.

    Args:
        rows_ND: One point per client.
        centres_KD: The centres.
        labels_N: The centre of each client.

    Returns:
        N squared distances.

    >>> squared_to_own(np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([[3.0, 0], [0.0, 1]]), np.array([1, 0])).tolist()
    [1.0, 16.0]
    """
    rows_ND, centres_KD = np.asarray(rows_ND), np.asarray(centres_KD, np.float64)
    squared_N, apart_D = np.empty(len(rows_ND)), np.empty(rows_ND.shape[1])
    for i, (row_D, k) in enumerate(zip(rows_ND, np.asarray(labels_N), strict=True)):
        np.square(np.subtract(row_D, centres_KD[k], out=apart_D), out=apart_D)
        squared_N[i] = apart_D.sum()
    return squared_N


def pairwise_squared_l2(rows_ND: Array) -> Array:
    """The same between all rows: N x N, symmetric, zero diagonal.

    Args:
        rows_ND: One point per client.

    Returns:
        N x N squared distances.

    >>> pairwise_squared_l2(np.array([[0.0], [1.0], [3.0]])).round(9).tolist()
    [[0.0, 1.0, 9.0], [1.0, 0.0, 4.0], [9.0, 4.0, 0.0]]
    """
    rows_ND = np.asarray(rows_ND)
    n, d = rows_ND.shape
    inner_NN = np.zeros((n, n))
    step = max(BLOCK // max(n, 1), 64)
    for start in range(0, d, step):
        block = rows_ND[:, start : start + step].astype(np.float64)
        block -= block.mean(0)
        inner_NN += block @ block.T
    lengths_NN = np.add.outer(inner_NN.diagonal(), inner_NN.diagonal())
    squared_NN = np.maximum(lengths_NN - inner_NN - inner_NN.T, 0.0)
    for i in range(n):
        for j in np.flatnonzero(squared_NN[i, :i] <= CANCELLED * lengths_NN[i, :i]):
            squared_NN[i, j] = squared_NN[j, i] = np.square(rows_ND[i].astype(np.float64) - rows_ND[j]).sum()
    np.fill_diagonal(squared_NN, 0.0)
    return squared_NN
