"""What the alternating methods minimise over assignments and centres (Ma et al. 2022, equations 1 to 3)."""

from __future__ import annotations

import numpy as np

from shoal.measures.l2 import squared_to_own
from shoal.types import Array


def objective(distances_NK: Array, labels_N: Array, weights_N: Array) -> float:
    """`(1 / sum_j lambda_j) sum_i lambda_i d(i, k_i)`, for any distance of client i to group k.

    Losses in place of distances and lambda = 1 give IFCA's objective, squared distances FeSEM's, with lambda_i = n_i
    WeCFL's.

    Args:
        distances_NK: Distance (or loss) of every client with every group.
        labels_N: The group of each client.
        weights_N: Importance lambda_i of each client.

    Returns:
        The weighted mean of the clients' distances to their own group.

    >>> objective(np.array([[1.0, 5.0], [4.0, 2.0]]), np.array([0, 1]), np.array([3.0, 1.0]))
    1.25
    """
    distances_NK, labels_N = np.asarray(distances_NK, np.float64), np.asarray(labels_N)
    weights_N = np.asarray(weights_N, np.float64)
    return float((weights_N * distances_NK[np.arange(len(labels_N)), labels_N]).sum() / weights_N.sum())


def wecfl_objective(rows_NP: Array, centres_KP: Array, labels_N: Array, weights_N: Array) -> float:
    """WeCFL's lower level, `F = (1 / sum_j lambda_j) sum_i lambda_i |omega_i - Omega_{k_i}|^2`.

    Args:
        rows_NP: omega_i, the parameters of each client.
        centres_KP: Omega_k, those of each group.
        labels_N: The group of each client.
        weights_N: Importance lambda_i of each client.

    Returns:
        F.

    >>> wecfl_objective(np.array([[0.0], [2.0]]), np.array([[1.0]]), np.array([0, 0]), np.array([1.0, 3.0]))
    1.0
    """
    own_N = squared_to_own(rows_NP, centres_KP, labels_N)
    return objective(own_N[:, None], np.zeros(len(own_N), int), weights_N)
