"""Clusters of equal size: the cheapest assignment, exactly, as a min-cost flow (FedGSP, eqs. 10 to 13).

N points, L centres, D numbers that represent a point. OR-tools is imported on first use: it takes a moment to load.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.clusterers.kmeans import seed_centres
from shoal.errors import BadInput
from shoal.types import Array

LARGEST = 10**12  # costs are whole numbers up to this: nothing that matters is lost to rounding
ITERATIONS = 10  # as many as FedGSP's paper times


class EqualSize(NamedTuple):
    """A label per point, the centres, and the cost `sum_i |x_i - c_i|^2 / 2`.

    Attributes:
        labels_N: The cluster of each point.
        centres_LD: The centres.
        cost: The total cost.

    >>> EqualSize(np.array([0, 1]), np.zeros((2, 3)), 1.5).cost
    1.5
    """

    labels_N: Array
    centres_LD: Array
    cost: float


def half_squares(rows_ND: Array, centres_LD: Array) -> Array:
    """`|x_i - c_l|^2 / 2` for every point and centre, N x L.

    >>> half_squares(np.array([[0.0], [3.0]]), np.array([[1.0]])).tolist()
    [[0.5], [2.0]]
    """
    middle_D = centres_LD.mean(0)
    rows_ND, centres_LD = rows_ND - middle_D, centres_LD - middle_D
    lengths_NL = np.square(rows_ND).sum(1)[:, None] + np.square(centres_LD).sum(1)
    return np.asarray(np.maximum(lengths_NL / 2 - rows_ND @ centres_LD.T, 0.0))


def assign_equal(cost_NL: Array) -> Array:
    """The labels of least total cost under which every cluster has N / L points.

    Points send one unit each to the clusters, which take N / L: a min-cost flow with arcs of capacity 1. The solver
    wants whole numbers, so costs above each point's cheapest are scaled to at most 10^12 and rounded; that moves the
    total by less than N parts in 10^12 of the largest.

    Args:
        cost_NL: Cost of every point in every cluster; N is a multiple of L.

    Returns:
        The cluster of each point.

    >>> assign_equal(np.array([[0.0, 9.0], [1.0, 2.0], [1.0, 8.0], [1.0, 1.5]])).tolist()
    [0, 1, 0, 1]
    """
    cost_NL = np.asarray(cost_NL, np.float64)
    n, clusters = cost_NL.shape
    if not n or not clusters or n % clusters:
        raise BadInput(f"{n} clients cannot form {clusters} clusters of equal size; keep a multiple of {clusters}.")
    if not np.isfinite(cost_NL).all():
        raise BadInput("clusters of equal size need finite numbers; a client's vector has inf or nan in it.")
    above_NL = cost_NL - cost_NL.min(1, keepdims=True)
    if not above_NL.any():  # nobody prefers anything, as with one cluster
        return np.repeat(np.arange(clusters), n // clusters)
    from ortools.graph.python.min_cost_flow import SimpleMinCostFlow

    flow = SimpleMinCostFlow()
    whole_NL = np.rint(above_NL * (LARGEST / above_NL.max())).astype(np.int64)
    points, takers = np.repeat(np.arange(n), clusters), n + np.tile(np.arange(clusters), n)
    arcs = flow.add_arcs_with_capacity_and_unit_cost(points, takers, np.ones(n * clusters, np.int64), whole_NL.ravel())
    supply = np.concatenate([np.ones(n, np.int64), np.full(clusters, -(n // clusters))])
    flow.set_nodes_supplies(np.arange(n + clusters), supply)
    if flow.solve() != flow.OPTIMAL:
        raise RuntimeError("the min-cost flow of an equal-size assignment has no optimum")  # it always has one
    return np.asarray(flow.flows(arcs).reshape(n, clusters).argmax(1))


def equal_size(rows_ND: Array, centres_LD: Array) -> EqualSize:
    """Every point to a centre, N / L to each, at the least cost `sum_i |x_i - c_i|^2 / 2`; centres stay.

    Args:
        rows_ND: One point per client.
        centres_LD: The centres; N is a multiple of L.

    Returns:
        Labels, the centres as given, and the cost.

    >>> found = equal_size(np.array([[0.0], [1.0], [2.0], [9.0]]), np.array([[0.0], [1.0]]))
    >>> found.labels_N.tolist(), found.cost
    ([0, 0, 1, 1], 33.0)
    """
    rows_ND, centres_LD = np.asarray(rows_ND, np.float64), np.asarray(centres_LD, np.float64)
    cost_NL = half_squares(rows_ND, centres_LD)
    labels_N = assign_equal(cost_NL)
    return EqualSize(labels_N, centres_LD, float(cost_NL[np.arange(len(labels_N)), labels_N].sum()))


def means(rows_ND: Array, labels_N: Array, clusters: int) -> Array:
    """The mean of each cluster's points.

    >>> means(np.array([[0.0], [2.0], [9.0]]), np.array([0, 0, 1]), 2).tolist()
    [[1.0], [9.0]]
    """
    order_N = np.argsort(labels_N, kind="stable")
    return np.stack(
        [rows_ND[i].mean(0) for i in np.split(order_N, np.searchsorted(labels_N[order_N], range(1, clusters)))]
    )


def equal_size_kmeans(
    rows_ND: Array, clusters: int, rng: np.random.Generator, iterations: int = ITERATIONS
) -> EqualSize:
    """k-means with clusters of equal size: k-means++ seeding, then assignment and means in turn.

    It ends when no point changes its cluster, so that centres would stay, or after so many iterations; the cost never
    rises. The centres returned are the means.

    Args:
        rows_ND: One point per client.
        clusters: L, a divisor of N.
        rng: Draws the first centres.
        iterations: Assignments at most.

    Returns:
        Labels, the means of the clusters, and the cost.

    >>> found = equal_size_kmeans(np.array([[0.0], [1.0], [8.0], [9.0]]), 2, np.random.default_rng(0))
    >>> sorted(found.centres_LD.tolist()), found.cost
    ([[0.5], [8.5]], 0.5)
    """
    rows_ND = np.asarray(rows_ND, np.float64)
    centres_LD = seed_centres(rows_ND, clusters, np.ones(len(rows_ND)), rng)
    labels_N = np.full(len(rows_ND), -1)
    for _ in range(iterations):
        before_N, labels_N = labels_N, equal_size(rows_ND, centres_LD).labels_N
        if np.array_equal(before_N, labels_N):
            break
        centres_LD = means(rows_ND, labels_N, clusters)
    return EqualSize(labels_N, centres_LD, float(np.square(rows_ND - centres_LD[labels_N]).sum() / 2))
