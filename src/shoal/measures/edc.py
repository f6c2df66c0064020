"""EDC: Euclidean distance of decomposed cosine similarities (Duan et al. 2021, equation 8)."""

from __future__ import annotations

import numpy as np

from shoal.errors import BadInput
from shoal.measures.gram import BLOCK, GRAM_UP_TO, gram, norms
from shoal.measures.l2 import pairwise_squared_l2
from shoal.types import Array

MANY = 1 << 34  # products from which on they are formed in single precision: where double takes a second and more
RESOLVED = 1e-6  # singular values below this share of the largest one may be rounding noise and count as 0


def edc_embedding(rows_NP: Array, m: int, *, gram_up_to: int = GRAM_UP_TO) -> Array:
    """Cosines of each row with the top m right singular vectors of the matrix: `E_ik = cos(a_i, v_k)`, N x m.

    For few clients from the Gram matrix, whose eigenvectors are the left singular vectors:
    `cos(a_i, v_k) = sigma_k U_ik / |a_i|`. Zero rows lie at 0. Where the matrix has fewer than m singular values (m
    over its rank, so also over n) the columns left over are 0, as every row is orthogonal to such a direction. Of the
    two signs of a singular vector the one is taken that makes its largest coordinate (the first, if there are several)
    positive. If the m-th and the next singular value are equal the embedding is not unique.

    Args:
        rows_NP: One update per client.
        m: Directions, usually the number of groups.
        gram_up_to: Clients up to which the Gram matrix is formed.

    Returns:
        N x m coordinates in [-1, 1]; their distances are m times EDC.

    >>> rows = np.array([[2.0, 0.0], [4.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    >>> edc_embedding(rows, 3).round(6).tolist()
    [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    """
    rows_NP = np.asarray(rows_NP)
    if m < 1:
        raise BadInput(f"EDC needs at least one direction; m is {m}.")
    n, p = rows_NP.shape
    lengths_N = norms(rows_NP)
    embedding_NM = np.zeros((n, m))
    if not lengths_N.any():
        return embedding_NM
    if n <= gram_up_to or (p > gram_up_to and m >= min(n, p)):
        value, U = _top(gram(rows_NP, quick=n * n * p > MANY), m)
        projection = U * np.sqrt(value)
    elif p <= gram_up_to:
        projection = _project(rows_NP, _top(gram(rows_NP.T), m)[1])
    else:
        projection = _project(rows_NP, _right_vectors(rows_NP, m))
    embedding_NM[:, : projection.shape[1]] = projection / np.where(lengths_N > 0, lengths_N, 1.0)[:, None]
    return (embedding_NM * _signs(projection, m)).clip(-1.0, 1.0)


def edc(rows_NP: Array, m: int) -> Array:
    """Distance of every pair in the embedding, `EDC_ij = (1/m) |E_i - E_j|`; with m the rank, `sqrt(2 - 2 S_ij) / m`.

    Args:
        rows_NP: One update per client.
        m: Directions, usually the number of groups.

    Returns:
        N x N distances, symmetric, zero diagonal.

    >>> edc(np.array([[2.0, 0.0], [4.0, 0.0], [0.0, 1.0]]), 2).round(3).tolist()
    [[0.0, 0.0, 0.707], [0.0, 0.0, 0.707], [0.707, 0.707, 0.0]]
    """
    return np.asarray(np.sqrt(pairwise_squared_l2(edc_embedding(rows_NP, m))) / m)


def _top(gram_NN: Array, m: int) -> tuple[Array, Array]:
    """The m largest eigenvalues that stand out of the noise, falling, and their eigenvectors."""
    from scipy.linalg import eigh

    n = len(gram_NN)
    value, vector = eigh(gram_NN, subset_by_index=(max(n - m, 0), n - 1))
    value, vector = value[::-1], vector[:, ::-1]
    keep = value > value[0] * RESOLVED**2
    return value[keep], vector[:, keep]


def _project(rows_NP: Array, vectors_PM: Array) -> Array:
    """Inner products in float64, in blocks of rows."""
    blocks = np.array_split(rows_NP, max(rows_NP.size // BLOCK, 1))
    return np.concatenate([block.astype(np.float64, copy=False) @ vectors_PM for block in blocks])


def _right_vectors(rows_NP: Array, m: int) -> Array:
    """The top m right singular vectors by Lanczos iteration, from a fixed start."""
    from scipy.sparse.linalg import svds

    rows_NP = rows_NP.astype(np.result_type(rows_NP, np.float32), copy=False)
    start = np.random.default_rng(0).normal(size=min(rows_NP.shape)).astype(rows_NP.dtype)
    _, value, V = svds(rows_NP, k=m, v0=start)
    order = np.argsort(-value)
    order = order[value[order] > value[order[0]] * RESOLVED]
    return np.asarray(V[order].T, np.float64)


def _signs(projection: Array, m: int) -> Array:
    """One sign per column: the first of the (nearly) largest coordinates becomes positive."""
    size = np.abs(projection)
    first = (size >= size.max(0) * (1 - 1e-6)).argmax(0)
    signs_M = np.ones(m)
    signs_M[: projection.shape[1]] = np.where(projection[first, np.arange(projection.shape[1])] < 0, -1.0, 1.0)
    return signs_M
