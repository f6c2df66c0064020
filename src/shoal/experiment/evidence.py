"""The evidence by which `auto` decides: what short trials showed, and when one is better than another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shoal.types import Array

__all__ = ["Evidence", "Trial", "label_distance", "lead"]

TIE = 0.01  # accuracies that differ by less are equal
SKEWED = 2.0  # times the distance that chance alone gives: from there on labels differ


@dataclass(frozen=True)
class Trial:
    """A short run of one candidate, validated on samples that nobody trained on.

    Attributes:
        algorithm: Its name.
        own: Its own keys.
        right_N: Validation samples that each client's model got right.
        total_N: How many validation samples each client has.
        problem: Why it cannot be chosen; empty: it can.

    >>> Trial("wecfl", {"groups": 4}, (9, 7), (10, 10)).accuracy
    0.8
    """

    algorithm: str
    own: Mapping[str, Any] = field(default_factory=dict)
    right_N: Sequence[int] = ()
    total_N: Sequence[int] = ()
    problem: str = ""

    @property
    def name(self) -> str:
        return " ".join([self.algorithm, *(f"{k}={v}" for k, v in self.own.items() if k == "groups")])

    @property
    def accuracy(self) -> float:
        return sum(self.right_N) / max(sum(self.total_N), 1)


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """All that a decision rests on.

    Attributes:
        clients: How many there are.
        samples: Training samples of all of them.
        asked: Clients that take part in a round.
        drift: What happens to the data, as it is written; empty: nothing.
        groups: How many groups the directions show in which clients learn; 1: none; 0: they were not looked for.
        silhouette: How clear each number of groups is, from -1 to 1.
        labels: How far the clients' shares of classes lie from the whole's, and what chance alone would give.
        rounds: Of each trial.
        trials: The candidates, the simplest first.

    >>> Evidence(clients=2, samples=20, asked=2, groups=1, labels=(0.1, 0.1), rounds=5, trials=()).drift
    ''
    """

    clients: int
    samples: int
    asked: int
    drift: str = ""
    groups: int
    silhouette: Mapping[int, float] = field(default_factory=dict)
    labels: tuple[float, float]
    rounds: int
    trials: Sequence[Trial]

    @property
    def skewed(self) -> bool:
        """Whether clients hold different classes."""
        return self.labels[0] > SKEWED * self.labels[1]


def label_distance(counts_NC: Array) -> tuple[float, float]:
    """How far the clients' shares of classes lie from the whole's: total variation, mean over clients; and by chance.

    A client whose n labels are drawn from the whole's shares p lies `sum_c sqrt(2 p_c (1 - p_c) / (pi n)) / 2` from
    them, for n that are not small.

    Args:
        counts_NC: Samples of each client in each class.

    Returns:
        The distance, and what chance alone would give.

    >>> distance, chance = label_distance(np.array([[50, 0], [0, 50]]))
    >>> distance, round(chance, 4)
    (0.5, 0.0564)
    """
    counts_NC = counts_NC[counts_NC.sum(1) > 0]
    if not len(counts_NC):
        return 0.0, 0.0
    p_C, n_N = counts_NC.sum(0) / counts_NC.sum(), counts_NC.sum(1)
    apart_N = np.abs(counts_NC / n_N[:, None] - p_C).sum(1) / 2
    chance_N = np.sqrt(2 * p_C * (1 - p_C) / (math.pi * n_N[:, None])).sum(1) / 2
    return float(apart_N.mean()), float(chance_N.mean())


def lead(one: Trial, other: Trial) -> tuple[float, float]:
    """How much more accurate a trial was than another on the same samples, and the standard error over clients.

    With d_i more right answers of n_i at client i and the difference D of the accuracies, the error is
    `sqrt(N / (N - 1) sum_i (d_i - n_i D)^2) / sum_i n_i`.

    Args:
        one: A trial.
        other: Another on the same federation.

    Returns:
        The difference of the accuracies, and its standard error (0 for one client).

    >>> lead(Trial("wecfl", {}, (9, 7), (10, 10)), Trial("fedavg", {}, (8, 4), (10, 10)))
    (0.2, 0.1)
    """
    d_N, n_N = np.subtract(one.right_N, other.right_N), np.asarray(one.total_N)
    N, D = len(n_N), float(d_N.sum() / n_N.sum())
    spread = float(np.square(d_N - n_N * D).sum())
    return D, math.sqrt(N / (N - 1) * spread) / float(n_N.sum()) if N > 1 else 0.0


def tied(best: Trial, other: Trial) -> bool:
    """Whether the best is not really better than another.

    >>> tied(Trial("local", {}, (90,), (100,)), Trial("fedavg", {}, (89,), (100,)))
    True
    """
    behind, error = lead(best, other)
    return behind <= max(TIE, error) + 1e-12
