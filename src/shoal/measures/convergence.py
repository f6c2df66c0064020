"""What WeCFL's convergence theorems speak of, from gradients that clients measured (Ma et al. 2022, section 6)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shoal.measures.gram import norms
from shoal.types import Array


class Noise(NamedTuple):
    """Empirical bounds: U of the mean norm of mini-batch gradients, sigma^2 of their variance, over all clients.

    Attributes:
        U: The largest mean norm.
        variance: sigma^2, the largest variance.

    >>> Noise(U=2.0, variance=4.0).variance
    4.0
    """

    U: float
    variance: float


def mean_square_gradient(gradients_NP: Array, weights_N: Array) -> float:
    """`sum_i lambda_i |grad L(Omega_k, D_i)|^2 / sum_i lambda_i`: the term of a round in the paper's equation 10.

    Args:
        gradients_NP: Each client's gradient at its group's model.
        weights_N: Importance lambda_i of each client.

    Returns:
        The weighted mean of the squared norms.

    >>> mean_square_gradient(np.array([[3.0, 4.0], [0.0, 1.0]]), np.array([1.0, 3.0]))
    7.0
    """
    weights_N = np.asarray(weights_N, np.float64)
    return float((weights_N * np.square(norms(gradients_NP))).sum() / weights_N.sum())


def gradient_noise(gradients_NP: Array, mean_norm_N: Array, mean_square_N: Array) -> Noise:
    """Assumptions 6.1 and 6.7: `U = max_i E|g_xi|`, `sigma^2 = max_i (E|g_xi|^2 - |grad_i|^2)` over mini-batches xi.

    From each client's full gradient and the mean norm and mean squared norm of its mini-batch gradients.

    Args:
        gradients_NP: Each client's full gradient.
        mean_norm_N: Mean norm of its mini-batch gradients.
        mean_square_N: Mean squared norm of them.

    Returns:
        U and sigma^2.

    >>> gradient_noise(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([1.5, 2.0]), np.array([3.0, 4.0]))
    Noise(U=2.0, variance=2.0)
    """
    variance_N = np.asarray(mean_square_N, np.float64) - np.square(norms(gradients_NP))
    return Noise(float(np.max(np.asarray(mean_norm_N))), float(max(variance_N.max(), 0.0)))


def smoothness(gradients_NP: Array, others_NP: Array, distances_N: Array) -> float:
    """The least beta that the clients' gradients at two points allow: `max_i |g_i - g'_i| / |w_i - w'_i|`.

    A lower estimate of assumption 6.6's constant. Clients whose points coincide say nothing; if all do, nan.

    Args:
        gradients_NP: Each client's gradient at one point.
        others_NP: Its gradient at another one.
        distances_N: How far the two points lie apart.

    Returns:
        beta, or nan.

    >>> smoothness(np.array([[1.0], [9.0]]), np.array([[4.0], [9.0]]), np.array([2.0, 0.0]))
    1.5
    """
    distances_N = np.asarray(distances_N, np.float64)
    apart = np.flatnonzero(distances_N > 0)
    if not len(apart):
        return math.nan
    change_N = norms(np.asarray(gradients_NP, np.float64)[apart] - np.asarray(others_NP)[apart])
    return float((change_N / distances_N[apart]).max())


def clustering_step(distances_N: Array, steps_N: Array, U: float) -> float:
    """Theorem 6.2: F converges for a learning rate up to `min_i |omega_i - Omega_k| / (Q_i U)`.

    Args:
        distances_N: |omega_i - Omega_k| of each client and its centre.
        steps_N: Q_i, local steps of each client.
        U: The bound on gradients.

    Returns:
        The largest learning rate; infinite if U is 0.

    >>> clustering_step(np.array([2.0, 3.0]), np.array([10, 10]), 0.5)
    0.4
    """
    return float((np.asarray(distances_N) / (np.asarray(steps_N) * U)).min()) if U > 0 else math.inf


def descent_step(mean_square: float, B: float, U: float, variance: float, beta: float) -> float:
    """Theorem 6.8: R falls for a learning rate below `(G - B U^2) / (G + sigma^2) * 2 / beta`, G the mean square.

    Not above 0: the theorem promises nothing for any learning rate.

    Args:
        mean_square: G, from `mean_square_gradient`.
        B: Clusterability.
        U: The bound on gradients.
        variance: sigma^2.
        beta: Smoothness.

    Returns:
        The bound on the learning rate; nan where it is not defined.

    >>> descent_step(mean_square=4.0, B=0.5, U=2.0, variance=1.0, beta=0.8)
    1.0
    """
    if not beta > 0 or not mean_square + variance > 0:
        return math.nan
    return (mean_square - B * U**2) / (mean_square + variance) * 2 / beta


def least_eps(lr: float, B: float, U: float, variance: float, beta: float) -> float:
    """Theorem 6.9: the least mean squared gradient that any number of rounds is promised to reach.

    `(beta lr^2 sigma^2 / 2 + lr B U^2) / (lr - beta lr^2 / 2)`: where the denominator of equation 9 is 0.

    Args:
        lr: Learning rate, above 0.
        B: Clusterability.
        U: The bound on gradients.
        variance: sigma^2.
        beta: Smoothness.

    Returns:
        The floor of eps; infinite for a learning rate of 2 / beta and above, nan where it is not defined.

    >>> least_eps(lr=0.5, B=0.5, U=2.0, variance=4.0, beta=2.0)
    8.0
    """
    if not lr > 0 or math.isnan(beta) or math.isnan(B):
        return math.nan
    slope = lr - beta * lr**2 / 2
    return (beta * lr**2 / 2 * variance + lr * B * U**2) / slope if slope > 0 else math.inf


def rounds_needed(
    gap: float, eps: float, steps: int, lr: float, B: float, U: float, variance: float, beta: float
) -> float:
    """Equation 9: `T >= gap / (Q (eps (lr - beta lr^2/2) - beta lr^2/2 sigma^2 - lr B U^2))` rounds.

    After as many the mean over them of the squared gradients at the groups' models is at most eps (equation 10).

    Args:
        gap: R of the start minus the least R there is.
        eps: What is to be reached.
        steps: Q, local steps.
        lr: Learning rate.
        B: Clusterability.
        U: The bound on gradients.
        variance: sigma^2.
        beta: Smoothness.

    Returns:
        T; infinite where the theorem promises nothing, for eps up to `least_eps`; nan where it is not defined.

    >>> rounds_needed(gap=30.0, eps=12.0, steps=10, lr=0.5, B=0.5, U=2.0, variance=4.0, beta=2.0)
    3.0
    """
    floor = least_eps(lr, B, U, variance, beta)
    if math.isnan(floor) or not steps > 0:
        return math.nan
    return gap / (steps * (eps - floor) * (lr - beta * lr**2 / 2)) if eps > floor else math.inf
