"""MADC: mean of absolute differences of pairwise cosine similarities (Duan et al. 2021, equation 7)."""

from __future__ import annotations

import numpy as np

from shoal.errors import BadInput
from shoal.kernels import sums_of_larger
from shoal.types import Array


def madc(similarity_NN: Array) -> Array:
    """How differently two clients stand to all the others; a distance in [0, 2].

    `M_ij = 1/(n-2) sum_{z != i,j} |S_iz - S_jz|`, from the cosine matrix of n >= 3 clients. The sum over all z is the
    Manhattan distance of two rows; what z = i and z = j add to it is taken off again.

    Args:
        similarity_NN: The cosine matrix of at least three clients.

    Returns:
        N x N distances, symmetric, zero diagonal.

    >>> S = np.array([[1.0, 0.8, 0.1], [0.8, 1.0, 0.3], [0.1, 0.3, 1.0]])
    >>> madc(S).round(3).tolist()
    [[0.0, 0.2, 0.5], [0.2, 0.0, 0.7], [0.5, 0.7, 0.0]]
    """
    similarity_NN = np.asarray(similarity_NN, np.float64)
    n = len(similarity_NN)
    if n < 3:
        raise BadInput(f"MADC compares two clients by the others and needs at least 3 of them; there are {n}.")
    madc_NN = manhattan(similarity_NN)
    madc_NN -= np.abs(similarity_NN.diagonal()[:, None] - similarity_NN.T)  # z = i: |S_ii - S_ji|
    madc_NN -= np.abs(similarity_NN - similarity_NN.diagonal())  # z = j: |S_ij - S_jj|
    madc_NN /= n - 2
    np.fill_diagonal(madc_NN, 0.0)
    return np.asarray(np.maximum(madc_NN, madc_NN.T).clip(0.0, 2.0))


def manhattan(rows_NN: Array) -> Array:
    """`sum_z |a_iz - a_jz|` of all pairs of rows of a square matrix.

    In C, where that was built: as `|a - b| = 2 max(a, b) - a - b`, only the larger numbers have to be summed pair by
    pair. Equal rows are at distance 0 exactly, because a row's own sum is one of these.

    >>> manhattan(np.array([[0.0, 1.0], [3.0, -1.0]])).tolist()
    [[0.0, 5.0], [5.0, 0.0]]
    """
    larger_NN = sums_of_larger(rows_NN)
    if larger_NN is None:
        from scipy.spatial.distance import pdist, squareform

        return np.asarray(squareform(pdist(rows_NN, "cityblock")))
    own_N = larger_NN.diagonal().copy()
    return 2 * larger_NN - own_N[:, None] - own_N
