"""The distances FL+HC may cluster by, under their usual names (Briggs et al. 2020)."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from shoal.errors import unknown
from shoal.measures.cosine import cosine
from shoal.measures.l2 import pairwise_squared_l2
from shoal.types import Array

Metric = Literal["euclidean", "manhattan", "cosine"]


def pairwise(rows_NP: Array, metric: Metric = "euclidean") -> Array:
    """Distance of every pair of rows: `|a - b|`, `sum_p |a_p - b_p|`, or `1 - cos(a, b)`; N x N, zero diagonal.

    Args:
        rows_NP: One vector per client.
        metric: `euclidean`, `manhattan` or `cosine`.

    Returns:
        N x N distances.

    >>> pairwise(np.array([[0.0, 0.0], [3.0, 4.0]]), "manhattan").tolist()
    [[0.0, 7.0], [7.0, 0.0]]
    """
    if metric == "euclidean":
        return np.asarray(np.sqrt(pairwise_squared_l2(rows_NP)))
    if metric == "manhattan":
        from scipy.spatial.distance import pdist, squareform

        return np.asarray(squareform(pdist(np.asarray(rows_NP, np.float64), "cityblock"), checks=False))
    if metric == "cosine":
        distances_NN = 1.0 - cosine(rows_NP)
        np.fill_diagonal(distances_NN, 0.0)
        return distances_NN
    raise unknown("metric", metric, get_args(Metric))
