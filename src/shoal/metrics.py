"""The figures of a tested round as pure functions of counts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from shoal.types import Array

__all__ = ["client_f1", "discrepancy", "macro_f1", "training_loss", "weighted_accuracy", "worst_tenth"]


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
    apart = [np.linalg.norm(a.astype(np.float64) - b) for a, b in zip(local_NP, model_NP, strict=True)]
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
