"""How well labels fit the points they were made from, and how many groups fit best."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Literal, NamedTuple, get_args

import numpy as np

from shoal.errors import BadInput, unknown
from shoal.measures.l2 import pairwise_squared_l2, squared_to_own
from shoal.types import Array

Criterion = Literal["silhouette", "gap", "within"]
Cluster = Callable[[Array, int, np.random.Generator], Array]  # points, number of groups, randomness -> labels

PIECE = 1 << 12  # columns that are averaged at a time, which a cache holds
REFERENCES = 10  # uniform samples the gap statistic compares with
FEW = 0.1  # share of the clients who may stand between groups that stand out


class Choice(NamedTuple):
    """The chosen number of groups, and the criterion's value for every candidate.

    Attributes:
        k: The number of groups.
        values: The criterion's value for each candidate.
        clarity: Of the silhouette: how clearly the groups of each candidate stand out.

    >>> Choice(3, {2: 0.4, 3: 0.7}).k
    3
    """

    k: int
    values: dict[int, float]
    clarity: Mapping[int, float] = MappingProxyType({})


def within(rows_ND: Array, labels_N: Array, weights_N: Array | None = None) -> float:
    """Within-group sum of squares, `W = sum_k sum_{i in k} lambda_i |x_i - mean_k|^2`, plain or with weights.

    Args:
        rows_ND: One point per client.
        labels_N: The group of each client.
        weights_N: lambda_i; all alike if left out.

    Returns:
        The sum over all groups.

    >>> within(np.array([[0.0], [2.0], [10.0]]), np.array([0, 0, 1]))
    2.0
    """
    return float(within_groups(rows_ND, labels_N, weights_N).sum())


def within_groups(rows_ND: Array, labels_N: Array, weights_N: Array | None = None) -> Array:
    """The part of each group in the within-group sum of squares; 0 for one without points.

    Args:
        rows_ND: One point per client.
        labels_N: The group of each client.
        weights_N: lambda_i; all alike if left out.

    Returns:
        K sums, K being the largest label plus one.

    >>> within_groups(np.array([[0.0], [2.0], [10.0]]), np.array([0, 0, 2])).tolist()
    [2.0, 0.0, 0.0]
    """
    rows_ND, labels_N = np.asarray(rows_ND), np.asarray(labels_N)
    weights_N = np.ones(len(rows_ND)) if weights_N is None else np.asarray(weights_N, np.float64)
    members_K = [labels_N == k for k in range(int(labels_N.max(initial=-1)) + 1)]
    means_KD = np.zeros((len(members_K), rows_ND.shape[1]))
    pieces = np.array_split(rows_ND, max(rows_ND.shape[1] // PIECE, 1), axis=1)
    for k, mine in enumerate(members_K):
        if weights_N[mine].sum() > 0:
            means = [np.average(piece[mine], axis=0, weights=weights_N[mine]) for piece in pieces]
            means_KD[k] = np.concatenate(means)
    parts_N = weights_N * squared_to_own(rows_ND, means_KD, labels_N)
    return np.array([parts_N[mine].sum() for mine in members_K])


def silhouette(distances_NN: Array, labels_N: Array) -> float:
    """Mean of the clients' silhouettes, in [-1, 1].

    Args:
        distances_NN: Distance of every pair of clients.
        labels_N: The group of each client.

    Returns:
        The mean over all clients.

    >>> D = np.abs(np.subtract.outer([0.0, 1.0, 10.0, 11.0], [0.0, 1.0, 10.0, 11.0]))
    >>> round(silhouette(D, np.array([0, 0, 1, 1])), 4)
    0.8997
    """
    return float(silhouettes(distances_NN, labels_N).mean())


def silhouettes(distances_NN: Array, labels_N: Array) -> Array:
    """`(b_i - a_i) / max(a_i, b_i)`: a the mean distance to the own group, b to the nearest other one.

    A client alone in its group has 0, and so has everybody if there is one group only (Rousseeuw 1987).

    Args:
        distances_NN: Distance of every pair of clients.
        labels_N: The group of each client.

    Returns:
        N numbers in [-1, 1]; near 0 a client could as well be in another group.

    >>> D = np.abs(np.subtract.outer([0.0, 1.0, 5.0], [0.0, 1.0, 5.0]))
    >>> silhouettes(D, np.array([0, 0, 1])).tolist()
    [0.8, 0.75, 0.0]
    """
    distances_NN, labels_N = np.asarray(distances_NN, np.float64), np.asarray(labels_N)
    _, own_N, sizes_K = np.unique(labels_N, return_inverse=True, return_counts=True)
    if len(sizes_K) < 2:
        return np.zeros(len(own_N))
    sums_NK = distances_NN @ np.eye(len(sizes_K))[own_N]
    everyone = np.arange(len(own_N))
    a_N = sums_NK[everyone, own_N] / np.maximum(sizes_K[own_N] - 1, 1)
    means_NK = sums_NK / sizes_K
    means_NK[everyone, own_N] = np.inf
    b_N = means_NK.min(1)
    larger_N = np.maximum(a_N, b_N)
    scores_N = np.where(larger_N > 0, (b_N - a_N) / np.where(larger_N > 0, larger_N, 1.0), 0.0)
    return np.where(sizes_K[own_N] > 1, scores_N, 0.0)


def clarity(silhouettes_N: Array, labels_N: Array) -> float:
    """How clearly groups stand out: the silhouette that nine of ten clients reach and that every group has on average.

    The mean over all clients hides what tells groups from a continuum: where clients differ by degrees some groups are
    tight, but many clients stand between two of them, and where they do not differ a group is an outlier or two.

    Args:
        silhouettes_N: Of the clients, by their groups.
        labels_N: The group of each client.

    Returns:
        The tenth percentile of the clients' silhouettes, or the lowest mean of a group if that is less.

    >>> clarity(np.array([0.5, 0.7, 0.9, 0.1]), np.array([0, 0, 1, 1])), clarity(np.zeros(3), np.zeros(3, int))
    (0.1, 0.0)
    """
    sums_K, sizes_K = np.bincount(labels_N, silhouettes_N), np.bincount(labels_N)
    reached = np.quantile(silhouettes_N, FEW, method="lower")
    return float(min(reached, (sums_K[sizes_K > 0] / sizes_K[sizes_K > 0]).min()))


def gap(
    rows_ND: Array, k: int, cluster: Cluster, rng: np.random.Generator, references: int = REFERENCES
) -> tuple[float, float]:
    """Gap statistic and its standard error, `E log W* - log W` and `s = sd(log W*) sqrt(1 + 1/B)`.

    W is the within-group sum of squares of k groups, W* that of B uniform samples from the box the points lie in
    (Tibshirani, Walther, Hastie 2001). A perfect fit would have an infinite logarithm: W is taken to be at least
    1e-12 of the total sum of squares.

    Args:
        rows_ND: One point per client.
        k: Groups.
        cluster: Makes k groups of points: (points, k, rng) -> labels.
        rng: Draws the uniform samples.
        references: B, how many of them.

    Returns:
        The gap and its standard error.

    >>> halves = lambda rows, k, rng: (rows[:, 0] > rows[:, 0].mean()).astype(int)
    >>> value, error = gap(np.array([[0.0], [0.1], [9.9], [10.0]]), 2, halves, np.random.default_rng(0))
    >>> value > 3 * error > 0
    True
    """
    rows_ND = np.asarray(rows_ND, np.float64)
    low_D, high_D = rows_ND.min(0), rows_ND.max(0)
    samples = [rng.uniform(low_D, high_D, rows_ND.shape) for _ in range(references)]
    logs_B = np.array([_log_within(sample, cluster(sample, k, rng)) for sample in samples])
    value = float(logs_B.mean()) - _log_within(rows_ND, cluster(rows_ND, k, rng))
    return value, float(logs_B.std() * np.sqrt(1 + 1 / references))


def choose_k(
    rows_ND: Array,
    candidates: Sequence[int],
    cluster: Cluster,
    criterion: Criterion,
    rng: np.random.Generator,
    distances_NN: Array | None = None,
    least: float = -1.0,
) -> Choice:
    """The number of groups that fits best among the candidates, and the criterion's value for each of them.

    `silhouette`: the largest mean silhouette, by `distances_NN` or else Euclidean, among the candidates whose groups
    stand out by `least` at least (`clarity`); 1 if there is none. `gap`: the smallest k whose gap is
    not below the next candidate's by more than that one's standard error. `within`: the elbow of the sum of squares,
    the candidate that lies deepest below the straight line from k = 1 to the largest candidate. Ties go to the
    smallest k. `cluster` makes the labels: it is the method whose number of groups is in question.

    Args:
        rows_ND: One point per client.
        candidates: Numbers of groups to consider.
        cluster: Makes k groups of points: (points, k, rng) -> labels.
        criterion: `silhouette`, `gap` or `within`.
        rng: Randomness of the clustering and of the gap's samples.
        distances_NN: What the silhouette is computed from.
        least: How clearly groups must stand out, by the silhouette; -1: all do.

    Returns:
        The number chosen, and the criterion's values.

    >>> rows = np.array([[0.0], [0.1], [5.0], [5.1], [9.0], [9.1]])
    >>> choose_k(rows, [2, 3], lambda x, k, rng: np.arange(6) * k // 6, "silhouette", np.random.default_rng(0)).k
    3
    """
    rows_ND, ks = np.asarray(rows_ND, np.float64), sorted(set(candidates))
    if not ks or ks[0] < 1 or ks[-1] > len(rows_ND):
        raise BadInput(f"the number of groups must be chosen among 1 to {len(rows_ND)}, not among {ks}.")
    if criterion == "gap":
        gaps = {k: gap(rows_ND, k, cluster, rng) for k in ks}
        good = (k for k, after in pairwise(ks) if gaps[k][0] >= gaps[after][0] - gaps[after][1])
        return Choice(next(good, ks[-1]), {k: value for k, (value, _) in gaps.items()})
    labels = {k: cluster(rows_ND, k, rng) for k in ks}
    if criterion == "silhouette":
        if distances_NN is None:
            distances_NN = np.sqrt(pairwise_squared_l2(rows_ND))
        each = {k: silhouettes(distances_NN, labels[k]) for k in ks}
        values = {k: float(each[k].mean()) for k in ks}
        clear = {k: clarity(each[k], labels[k]) for k in ks}
        return Choice(max((k for k in ks if clear[k] >= least), key=lambda k: values[k], default=1), values, clear)
    if criterion == "within":
        values = {k: within(rows_ND, labels[k]) for k in ks}
        return Choice(_elbow(values, within(rows_ND, np.zeros(len(rows_ND), int))), values)
    raise unknown("criterion", criterion, get_args(Criterion))


def _log_within(rows_ND: Array, labels_N: Array) -> float:
    total = within(rows_ND, np.zeros(len(rows_ND), int))
    return float(np.log(max(within(rows_ND, labels_N), 1e-12 * total, np.finfo(float).tiny)))


def _elbow(values: dict[int, float], total: float) -> int:
    """The k deepest below the chord from (1, total) to the last point."""
    last = max(values)
    if last == 1:
        return 1
    depth = {k: total + (values[last] - total) * (k - 1) / (last - 1) - values[k] for k in values}
    return max(values, key=lambda k: depth[k])
