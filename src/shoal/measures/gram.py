"""The Gram matrix of client vectors: cosine, MADC and EDC of up to about a thousand clients all come out of it."""

from __future__ import annotations

import numpy as np

from shoal.types import Array

GRAM_UP_TO = 1000  # clients; beyond, the matrix in float64 costs more time and memory than it is worth
BLOCK = 1 << 22  # numbers of a block that is held in float64: 32 MB


def gram(rows_NP: Array, *, quick: bool = False) -> Array:
    """All inner products, `G_ij = <a_i, a_j>`, in float64.

    Works through blocks of columns, so that single-precision rows are never copied as a whole. With `quick` their
    products are formed in the precision of the rows, about 1e-7 of the lengths off, and summed over blocks in float64.

    Args:
        rows_NP: One vector per client.
        quick: Multiply in the precision of the rows.

    Returns:
        N x N inner products in float64.

    >>> gram(np.array([[1.0, 2.0], [3.0, 0.0]])).tolist()
    [[5.0, 3.0], [3.0, 9.0]]
    """
    rows_NP = np.asarray(rows_NP)
    n, p = rows_NP.shape
    gram_NN = np.zeros((n, n))
    kind = np.result_type(rows_NP, np.float32) if quick else np.float64
    step = 2048 if quick else max(BLOCK // max(n, 1), 64)
    for start in range(0, p, step):
        block = np.ascontiguousarray(rows_NP[:, start : start + step], kind)
        gram_NN += block @ block.T
    return gram_NN


def coordinates(rows_NP: Array, most: int = 1000) -> Array:
    """The same vectors in at most N coordinates: all inner products are kept, up to rounding.

    Rows that are no longer than they are many, or more than `most`, stay as they are.

    Args:
        rows_NP: One vector per client.
        most: Rows up to which they are turned.

    Returns:
        N x N coordinates, or the rows as they are.

    >>> gram(coordinates(np.array([[1.0, 2.0, 0.0], [3.0, 0.0, 4.0]]))).round(9).tolist()
    [[5.0, 3.0], [3.0, 25.0]]
    """
    rows_NP = np.asarray(rows_NP)
    if not 0 < len(rows_NP) < min(rows_NP.shape[1], most + 1):
        return rows_NP
    value_N, vector_NN = np.linalg.eigh(gram(rows_NP))
    return np.asarray(vector_NN * np.sqrt(value_N.clip(0.0)))


def norms(rows_NP: Array) -> Array:
    """Euclidean length of each row, in float64.

    Args:
        rows_NP: One vector per row.

    Returns:
        N lengths in float64.

    >>> norms(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [5.0, 0.0]
    """
    rows_NP = np.asarray(rows_NP)
    return np.array([np.sqrt(np.square(row_P, dtype=np.float64).sum()) for row_P in rows_NP])
