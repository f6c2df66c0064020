"""Cosine similarity of client vectors, and the dissimilarity FedGroup makes of it (Duan et al. 2021, eqs. 5 and 9)."""

from __future__ import annotations

import numpy as np

from shoal.measures.gram import BLOCK, GRAM_UP_TO, gram, norms
from shoal.types import Array


def cosine(rows_NP: Array) -> Array:
    """Similarity of every pair, `S_ij = <a_i, a_j> / (|a_i| |a_j|)`, in [-1, 1].

    A zero vector has similarity 0 with everything, itself included.

    Args:
        rows_NP: One vector per client.

    Returns:
        N x N, symmetric, ones on the diagonal but for zero vectors.

    >>> cosine(np.array([[1.0, 0.0], [2.0, 2.0], [0.0, 0.0]])).round(3).tolist()
    [[1.0, 0.707, 0.0], [0.707, 1.0, 0.0], [0.0, 0.0, 0.0]]
    """
    rows_NP = np.asarray(rows_NP)
    return cosine_from_gram(gram(rows_NP)) if len(rows_NP) <= GRAM_UP_TO else cosine_in_tiles(rows_NP)


def cosine_in_tiles(rows_NP: Array, tile: int = 512) -> Array:
    """The same for many rows: in the precision of the rows, tile by tile, so that nothing but the result is large.

    Args:
        rows_NP: One vector per client.
        tile: Rows that are multiplied at once.

    Returns:
        N x N, as `cosine`, in the precision of the rows.

    >>> cosine_in_tiles(np.array([[1.0, 0.0], [2.0, 2.0], [0.0, 0.0]]), tile=2).round(3).tolist()
    [[1.0, 0.707, 0.0], [0.707, 1.0, 0.0], [0.0, 0.0, 0.0]]
    """
    kind = np.result_type(rows_NP, np.float32)
    lengths_N = norms(rows_NP)
    inverse_N = np.where(lengths_N > 0, 1 / np.where(lengths_N > 0, lengths_N, 1.0), 0.0).astype(kind)
    n = len(rows_NP)
    similarity_NN = np.empty((n, n), kind)
    for i in range(0, n, tile):
        left = rows_NP[i : i + tile] * inverse_N[i : i + tile, None]
        for j in range(i, n, tile):
            part = left @ rows_NP[j : j + tile].T
            part *= inverse_N[j : j + tile]
            part = (part + part.T) / 2 if i == j else part
            part.clip(-1.0, 1.0, out=part)
            similarity_NN[i : i + tile, j : j + tile] = part
            similarity_NN[j : j + tile, i : i + tile] = part.T
    np.fill_diagonal(similarity_NN, lengths_N > 0)
    return similarity_NN


def cosine_from_gram(gram_NN: Array) -> Array:
    """The same from a Gram matrix: `S_ij = G_ij / sqrt(G_ii G_jj)`, exactly symmetric, ones on the diagonal.

    Args:
        gram_NN: All inner products, as from `gram`.

    Returns:
        N x N, as `cosine`.

    >>> cosine_from_gram(np.array([[4.0, -2.0], [-2.0, 1.0]])).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    gram_NN = np.asarray(gram_NN, np.float64)
    lengths_N = np.sqrt(gram_NN.diagonal())
    live_N = lengths_N > 0
    lengths_N = np.where(live_N, lengths_N, 1.0)
    similarity_NN = (gram_NN + gram_NN.T) / (2 * np.outer(lengths_N, lengths_N))
    similarity_NN *= live_N[:, None] & live_N
    np.fill_diagonal(similarity_NN, live_N)
    return np.asarray(similarity_NN.clip(-1.0, 1.0))


def cosine_to(rows_NP: Array, centres_KP: Array) -> Array:
    """Similarity of every row with every centre, N x K; zero vectors as in `cosine`.

    Args:
        rows_NP: One vector per client.
        centres_KP: The vectors to compare with, such as group directions.

    Returns:
        N x K similarities in [-1, 1].

    >>> cosine_to(np.array([[1.0, 1.0]]), np.array([[2.0, 2.0], [0.0, -3.0], [0.0, 0.0]])).round(3).tolist()
    [[1.0, -0.707, 0.0]]
    """
    rows_NP, centres_KP = np.asarray(rows_NP), np.asarray(centres_KP)
    inner_NK = np.zeros((len(rows_NP), len(centres_KP)))
    step = max(BLOCK // max(len(rows_NP) + len(centres_KP), 1), 64)
    for start in range(0, rows_NP.shape[1], step):
        block = slice(start, start + step)
        inner_NK += rows_NP[:, block].astype(np.float64, copy=False) @ centres_KP[:, block].astype(np.float64).T
    rows_N, centres_K = norms(rows_NP), norms(centres_KP)
    live_NK = (rows_N[:, None] > 0) & (centres_K > 0)
    inner_NK /= np.where(rows_N > 0, rows_N, 1.0)[:, None]
    inner_NK /= np.where(centres_K > 0, centres_K, 1.0)
    return (inner_NK * live_NK).clip(-1.0, 1.0)


def dissimilarity(cos: Array) -> Array:
    """Normalised cosine dissimilarity, `(1 - cos) / 2`, in [0, 1].

    Args:
        cos: Similarities, of any shape.

    Returns:
        The dissimilarities, of the same shape.

    >>> dissimilarity(np.array([1.0, 0.0, -1.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    return (1.0 - np.asarray(cos)) / 2
