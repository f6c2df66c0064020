"""Weighted k-means, the driver: k-means++ seeding, the best of several starts, no cluster left empty."""

from __future__ import annotations

import numpy as np

from shoal.clusterers.lloyd import (
    BLOCK,
    ITERATIONS,
    ROUNDING,
    Clusters,
    checked,
    double,
    in_blocks,
    lloyd,
    m_step,
    own_distances,
    reached,
)
from shoal.errors import BadInput
from shoal.types import Array

STARTS = 10
EQUAL = 1e-12  # by this share may equal distances differ
REDUCED = 1001  # fewer points than this are tried in as many coordinates, if their vectors are longer
FILLINGS = 20  # times that empty clusters are filled and the iteration goes on; each time lowers F


def seed_centres(rows_ND: Array, k: int, weights_N: Array, rng: np.random.Generator) -> Array:
    """k-means++: each next centre is a point drawn with probability `lambda_i min_k |x_i - c_k|^2`.

    Of `2 + floor(ln k)` draws the one that lowers the objective most is kept (Arthur and Vassilvitskii 2007, the
    greedy form, as in scikit-learn). If all points of weight coincide with a centre, any point may be drawn.

    Args:
        rows_ND: One point per client.
        k: Centres.
        weights_N: lambda_i, from 0 up, not all 0.
        rng: Draws them.

    Returns:
        k of the points, k x D.

    >>> sorted(seed_centres(np.array([[1.0], [1.0], [5.0]]), 2, np.ones(3), np.random.default_rng(0)).tolist())
    [[1.0], [5.0]]
    """
    rows_ND, weights_N = double(rows_ND), checked(weights_N, len(rows_ND))
    centred_ND = rows_ND - rows_ND.mean(0)
    lengths_N = np.concatenate([np.square(block).sum(1) for _, block in in_blocks(centred_ND)])
    chosen = [int(rng.choice(len(rows_ND), p=weights_N / weights_N.sum()))]
    nearest_N = _to_points(centred_ND, lengths_N, chosen)[:, 0]
    for _ in range(1, k):
        mass_N = weights_N * nearest_N
        mass_N = mass_N if mass_N.sum() > 0 else weights_N
        tries = rng.choice(len(rows_ND), size=2 + int(np.log(k)), p=mass_N / mass_N.sum())
        closer_NT = np.minimum(nearest_N[:, None], _to_points(centred_ND, lengths_N, tries))
        best = int((weights_N @ closer_NT).argmin())
        chosen.append(int(tries[best]))
        nearest_N = closer_NT[:, best]
    return np.array(rows_ND[chosen], np.float64)


def reseed(
    rows_ND: Array, labels_N: Array, weights_N: Array, centres_KD: Array
) -> tuple[Array, Array, tuple[int, ...]]:
    """Gives every empty cluster the point farthest from its own mean, `argmax_i lambda_i |x_i - c_{k_i}|^2`.

    Points that coincide with all others of their cluster stay, so that a cluster remains empty only if there are fewer
    distinct points (of positive weight) than clusters.

    Args:
        rows_ND: One point per client.
        labels_N: The cluster of each point.
        weights_N: lambda_i, from 0 up, not all 0.
        centres_KD: The centres, K x D.

    Returns:
        Labels, the centres after an M step, and the points that moved.

    >>> reseed(np.array([[0.0], [1.0], [8.0]]), np.zeros(3, int), np.ones(3), np.zeros((2, 1)))[0].tolist()
    [0, 0, 1]
    """
    rows_ND, labels_N = np.asarray(rows_ND), np.asarray(labels_N).copy()
    weights_N = checked(weights_N, len(rows_ND))
    centres_KD = m_step(rows_ND, labels_N, weights_N, centres_KD)
    moved = []
    for k in np.setdiff1d(np.arange(len(centres_KD)), labels_N):
        far = _farthest(rows_ND, labels_N, weights_N * own_distances(rows_ND, labels_N, centres_KD))
        if far is None:
            break
        labels_N[far] = k
        moved.append(far)
        centres_KD = m_step(rows_ND, labels_N, weights_N, centres_KD)
    return labels_N, centres_KD, tuple(moved)


def kmeans_from(rows_ND: Array, centres_KD: Array, weights_N: Array, iterations: int = ITERATIONS) -> Clusters:
    """`lloyd` from the given centres, whose numbers stay; clusters that end empty are filled and it goes on.

    Args:
        rows_ND: One point per client.
        centres_KD: Where to begin.
        weights_N: lambda_i, from 0 up, not all 0.
        iterations: E and M steps at most, between two fillings.

    Returns:
        Labels, centres and the objective.

    >>> found = kmeans_from(np.array([[0.0], [1.0], [8.0]]), np.array([[99.0], [3.0]]), np.ones(3))
    >>> found.labels_N.tolist(), found.centres_KD.tolist()
    ([1, 1, 0], [[8.0], [0.5]])
    """
    clusters = lloyd(rows_ND, centres_KD, weights_N, iterations)
    for _ in range(FILLINGS):
        if len(np.unique(clusters.labels_N)) == len(centres_KD):
            return clusters
        _, filled_KD, moved = reseed(rows_ND, clusters.labels_N, weights_N, clusters.centres_KD)
        if not moved:
            return clusters
        clusters = lloyd(rows_ND, filled_KD, weights_N, iterations)
    labels_N, filled_KD, _ = reseed(rows_ND, clusters.labels_N, weights_N, clusters.centres_KD)
    return reached(rows_ND, labels_N, filled_KD, weights_N)


def kmeans(
    rows_ND: Array,
    k: int,
    weights_N: Array,
    rng: np.random.Generator,
    starts: int = STARTS,
    iterations: int = ITERATIONS,
) -> Clusters:
    """The best of several starts by k-means++, each run to convergence with empty clusters filled again.

    For up to a thousand points with more numbers than points, the starts are tried in an equivalent set of coordinates,
    as many as points, which costs less; the best one then runs on in the vectors themselves. Clusters are numbered by
    their first points. If there are fewer distinct points than k the last ones stay empty.

    Args:
        rows_ND: One point per client.
        k: Clusters.
        weights_N: lambda_i, from 0 up, not all 0.
        rng: Draws the starts.
        starts: How many.
        iterations: E and M steps at most.

    Returns:
        Labels, centres and the objective of the best start.

    >>> found = kmeans(np.array([[9.0], [0.0], [8.0], [1.0]]), 2, np.ones(4), np.random.default_rng(0))
    >>> found.labels_N.tolist(), found.centres_KD.tolist(), found.F
    ([0, 1, 0, 1], [[8.5], [0.5]], 0.25)
    """
    rows_ND, weights_N = double(rows_ND), checked(weights_N, len(rows_ND))
    if not 1 <= k <= len(rows_ND):
        raise BadInput(f"{len(rows_ND)} clients cannot form {k} groups; give groups={len(rows_ND)} or fewer.")
    if not np.isfinite(rows_ND).all():
        raise BadInput("k-means needs finite numbers; a client's vector has inf or nan in it.")
    points_ND = _coordinates(rows_ND) if len(rows_ND) < min(rows_ND.shape[1], REDUCED) else rows_ND
    seeds = (seed_centres(points_ND, k, weights_N, rng) for _ in range(starts))
    found = [kmeans_from(points_ND, centres_KD, weights_N, iterations) for centres_KD in seeds]
    best = min(found, key=lambda clusters: clusters.F)
    if points_ND is not rows_ND:
        centres_KD = m_step(rows_ND, best.labels_N, weights_N, np.tile(rows_ND.mean(0), (k, 1)))
        best = kmeans_from(rows_ND, centres_KD, weights_N, iterations)
    first_K = np.array([np.argmax(np.append(best.labels_N == j, True)) for j in range(k)])
    order_K = np.argsort(first_K, kind="stable")
    return Clusters(np.argsort(order_K)[best.labels_N], best.centres_KD[order_K], best.F)


def _farthest(rows_ND: Array, labels_N: Array, distances_N: Array) -> int | None:
    """The point with the largest distance, among clusters that hold more than one distinct point; of equals the first.

    Distances that differ by rounding are equal, such as those of two points from their mean.
    """
    found: int | None = None
    for i in np.argsort(-distances_N, kind="stable").tolist():
        if distances_N[i] <= 0 or (found is not None and distances_N[i] < (1 - EQUAL) * distances_N[found]):
            break
        others = rows_ND[labels_N == labels_N[i]]
        if (found is None or i < found) and (others != rows_ND[i]).any():
            found = i
    return found


def _to_points(centred_ND: Array, lengths_N: Array, places: list[int] | Array) -> Array:
    """Squared distances to some of the points, for seeding: what is lost to rounding counts as 0."""
    points_TD = centred_ND[places].astype(np.float64)
    inner_NT = np.concatenate([block @ points_TD.T for _, block in in_blocks(centred_ND)])
    lengths_NT = lengths_N[:, None] + lengths_N[places]
    squared_NT = lengths_NT - 2 * inner_NT
    return np.where(squared_NT > ROUNDING * lengths_NT, squared_NT, 0.0)


def _coordinates(rows_ND: Array) -> Array:
    """The same points in at most N coordinates, distances kept up to rounding: from the centred Gram matrix."""
    n, d = rows_ND.shape
    gram_NN = np.zeros((n, n))
    step = max(BLOCK // n, 64)
    for start in range(0, d, step):
        block = rows_ND[:, start : start + step].astype(np.float64)
        block -= block.mean(0)
        gram_NN += block @ block.T
    value, vector = np.linalg.eigh(gram_NN)
    keep = value >= max(value[-1] * ROUNDING, 0.0)
    return np.asarray(vector[:, keep] * np.sqrt(value[keep]))
