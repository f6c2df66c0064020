"""How alike groups are by their classes: FedGSP's class probability distance (eq. 14) and its objective (eq. 4).

M groups (or single clients), C classes.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from shoal.errors import BadInput, unknown
from shoal.types import Array

ClassKernel = Literal["onehot", "index"]


def cpd(counts_C: Array, others_C: Array, sigma: float = 1.0, kernel: ClassKernel = "onehot") -> float:
    """`MMD^2(P, Q)` of two class distributions P and Q, given as counts, under a Gaussian kernel on classes.

    `onehot`: classes are unit vectors, so the kernel is 1 or `exp(-1 / sigma^2)` and the distance
    `(1 - exp(-1 / sigma^2)) sum_c (P_c - Q_c)^2`. `index`: classes are the numbers 0, 1, ..., the kernel is
    `exp(-(c - c')^2 / (2 sigma^2))` and neighbouring classes are alike (departure D18).

    Args:
        counts_C: Class counts of one group.
        others_C: Those of the other.
        sigma: Width of the kernel.
        kernel: `onehot` or `index`.

    Returns:
        The distance, 0 for equal distributions.

    >>> round(cpd(np.array([1, 1]), np.array([4, 0])), 6)       # (1 - 1/e) (1/4 + 1/4)
    0.31606
    """
    return float(cpd_pairs(np.stack([np.asarray(counts_C), np.asarray(others_C)]), sigma, kernel)[0])


def cpd_pairs(counts_MC: Array, sigma: float = 1.0, kernel: ClassKernel = "onehot") -> Array:
    """The distance of every pair of groups, in the order (0, 1), (0, 2), ..., (M-2, M-1).

    Args:
        counts_MC: Class counts, a row per group.
        sigma: Width of the kernel.
        kernel: `onehot` or `index`.

    Returns:
        M (M - 1) / 2 distances.

    >>> cpd_pairs(np.array([[2, 2], [5, 5], [1, 0]])).round(3).tolist()
    [0.0, 0.316, 0.316]
    """
    from scipy.spatial.distance import pdist

    counts_MC = np.asarray(counts_MC, np.float64)
    if counts_MC.ndim != 2 or not (counts_MC >= 0).all() or not (counts_MC.sum(1) > 0).all():
        raise BadInput("class counts must be from 0 up, and every group needs at least one sample.")
    if not sigma > 0:
        raise BadInput(f"the bandwidth sigma must be above 0, not {sigma}.")
    if kernel not in get_args(ClassKernel):
        raise unknown("kernel on classes", kernel, get_args(ClassKernel))
    shares_MC = counts_MC / counts_MC.sum(1, keepdims=True)
    if kernel == "onehot":
        return np.asarray(-np.expm1(-1 / sigma**2) * pdist(shares_MC, "sqeuclidean"))
    classes = np.arange(counts_MC.shape[1])
    kernel_CC = np.exp(-np.square(classes[:, None] - classes) / (2 * sigma**2))
    value, vector = np.linalg.eigh(kernel_CC)  # kernel = root root^T: distances of mapped shares
    return np.asarray(pdist(shares_MC @ (vector * np.sqrt(np.maximum(value, 0.0))), "sqeuclidean"))


def grouping_objective(counts_MC: Array) -> float:
    """`z`: the distances `|V_a - V_b|` of the groups' summed class vectors, over all pairs (FedGSP, eq. 4).

    Args:
        counts_MC: Class counts, a row per group.

    Returns:
        z, 0 if all groups have the same counts.

    >>> grouping_objective(np.array([[3, 0], [0, 4], [3, 0]]))
    10.0
    """
    from scipy.spatial.distance import pdist

    return float(pdist(np.asarray(counts_MC, np.float64)).sum())
