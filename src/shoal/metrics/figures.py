"""The figures of a tested round as pure functions of counts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from shoal.types import Array

__all__ = [
    "adjusted_rand",
    "client_f1",
    "discrepancy",
    "macro_f1",
    "mutual_information",
    "training_loss",
    "weighted_accuracy",
    "worst_tenth",
]


def weighted_accuracy(right_N: Array, total_N: Array) -> float:
    """Right answers of all clients over all their test samples (departure D27); nan without samples.

    Args:
        right_N: Right answers of each client.
        total_N: Its test samples.

    Returns:
        From 0 to 1.

    >>> weighted_accuracy(np.array([1, 9]), np.array([2, 10])).__round__(4)
    0.8333
    """
    total = int(np.sum(total_N))
    return float(np.sum(right_N) / total) if total else math.nan


def macro_f1(true_C: Array, predicted_C: Array, both_C: Array) -> float:
    """Unweighted mean of per-class F1 over the classes that occur in truth or prediction (departure D77).

    Args:
        true_C: Samples of each class.
        predicted_C: How often each class was predicted.
        both_C: How often rightly.

    Returns:
        From 0 to 1; nan without samples.

    >>> macro_f1(np.array([2, 2, 0]), np.array([3, 1, 0]), np.array([2, 1, 0])).__round__(4)
    0.7333
    """
    return float(client_f1({"true": true_C[None], "predicted": predicted_C[None], "both": both_C[None]})[0])


def client_f1(counts: Mapping[str, Array]) -> Array:
    """Macro F1 of every client, nan where it has no test sample.

    Args:
        counts: `true`, `predicted` and `both`, each N x C: samples of each client by class, predictions, right ones.

    Returns:
        One number per client.

    >>> counts = {"true": [[2, 2], [0, 0]], "predicted": [[4, 0], [0, 0]], "both": [[2, 0], [0, 0]]}
    >>> client_f1({name: np.array(count_NC) for name, count_NC in counts.items()}).round(3)
    array([0.333,   nan])
    """
    beside_NC = counts["true"] + counts["predicted"]
    f1_NC = 2 * counts["both"] / np.maximum(beside_NC, 1)
    seen_N = (beside_NC > 0).sum(1)
    return np.where(seen_N > 0, f1_NC.sum(1) / np.maximum(seen_N, 1), math.nan)


def worst_tenth(accuracy_N: Array) -> float:
    """Mean accuracy of the worst tenth of the clients, at least one.

    Args:
        accuracy_N: Of each client; nan: without test samples, left out.

    Returns:
        From 0 to 1; nan without clients.

    >>> worst_tenth(np.array([0.9, 0.2, 0.8, 1.0]))
    0.2
    """
    known = np.sort(accuracy_N[~np.isnan(accuracy_N)])
    return float(known[: max(1, math.ceil(len(known) / 10))].mean()) if len(known) else math.nan


def discrepancy(local_NP: Iterable[Array], model_NP: Iterable[Array]) -> float:
    """Mean distance of the clients' solutions from the model after aggregation of the same round (departure D78).

    Args:
        local_NP: The models that clients trained.
        model_NP: The model that serves each of them after the round.

    Returns:
        The mean of the N Euclidean distances; nan without clients.

    >>> discrepancy(np.array([[3.0, 4.0], [0.0, 0.0]]), np.zeros((2, 2)))
    2.5
    """
    apart = [math.sqrt(d @ d) for d in (a.astype(np.float64) - b for a, b in zip(local_NP, model_NP, strict=True))]
    return float(np.mean(apart)) if apart else math.nan


def training_loss(loss_N: Array, count_N: Array) -> float:
    """Mean over the clients that trained, weighted by their samples.

    Args:
        loss_N: Mean loss of each client while it trained.
        count_N: Its training samples.

    Returns:
        The mean; nan without clients.

    >>> training_loss(np.array([1.0, 2.0]), np.array([3, 1]))
    1.25
    """
    return float(np.average(loss_N, weights=count_N)) if len(loss_N) else math.nan


def adjusted_rand(one_N: Array, other_N: Array) -> float:
    """The adjusted Rand index of two groupings: 1 where they are the same, about 0 where they are so by chance alone.

    Hubert and Arabie 1985, from the four counts of ordered pairs of clients: together in both, in one, in none.

    Args:
        one_N: The group of each client.
        other_N: Its group in another grouping.

    Returns:
        At most 1.

    >>> adjusted_rand(np.array([0, 0, 1, 1]), np.array([5, 5, 2, 2])), adjusted_rand(np.arange(4), np.zeros(4))
    (1.0, 0.0)
    """
    table_AB = contingency(one_N, other_N)
    n, both = int(table_AB.sum()), int((table_AB**2).sum())
    only_one = int((table_AB.sum(1) ** 2).sum()) - both
    only_other = int((table_AB.sum(0) ** 2).sum()) - both
    same, neither = both - n, n**2 - only_one - only_other - both
    if not only_one and not only_other:
        return 1.0
    return (
        2.0
        * (same * neither - only_one * only_other)
        / ((same + only_one) * (only_one + neither) + (same + only_other) * (only_other + neither))
    )


def mutual_information(one_N: Array, other_N: Array) -> float:
    """The mutual information of two groupings over the mean of their entropies.

    Args:
        one_N: The group of each client.
        other_N: Its group in another grouping.

    Returns:
        From 0 to 1; 1 for two groupings with one group each.

    >>> pairs = np.array([0, 0, 1, 1])
    >>> mutual_information(pairs, np.array([5, 5, 2, 2])), mutual_information(pairs, np.zeros(4))
    (1.0, 0.0)
    """
    table_AB = contingency(one_N, other_N)
    if table_AB.size <= 1:
        return 1.0
    if 1 in table_AB.shape:
        return 0.0
    n, one_A, other_B = int(table_AB.sum()), table_AB.sum(1), table_AB.sum(0)
    at_A, at_B = np.nonzero(table_AB)
    count_M = table_AB[at_A, at_B].astype(np.float64)
    expected_M = -np.log(one_A[at_A] * other_B[at_B]) + math.log(n) + math.log(n)
    shared_M = count_M / n * (np.log(count_M) - math.log(n)) + count_M / n * expected_M
    shared = max(float(np.where(np.abs(shared_M) < np.finfo(np.float64).eps, 0.0, shared_M).sum()), 0.0)
    return float(shared / np.mean([entropy(one_A), entropy(other_B)])) if shared else 0.0


def contingency(one_N: Array, other_N: Array) -> Array:
    """How many clients are in each group of one grouping and each of another one.

    Args:
        one_N: The group of each client.
        other_N: Its group in another grouping.

    Returns:
        A x B whole numbers, both in the order of the labels.

    >>> contingency(np.array([3, 3, 7]), np.array([0, 1, 1])).tolist()
    [[1, 1], [0, 1]]
    """
    one, at_one_N = np.unique(one_N, return_inverse=True)
    other, at_other_N = np.unique(other_N, return_inverse=True)
    return np.bincount(at_one_N * len(other) + at_other_N, minlength=len(one) * len(other)).reshape(
        len(one), len(other)
    )


def entropy(count_K: Array) -> float:
    """The entropy of groups of these sizes, none of them empty, in natural units.

    >>> round(entropy(np.array([2, 2])), 4)
    0.6931
    """
    n, size_K = int(count_K.sum()), count_K.astype(np.float64)
    return float(-np.sum(size_K / n * (np.log(size_K) - math.log(n))))
