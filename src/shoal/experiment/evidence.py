"""The evidence by which `auto` decides: what short trials showed, and when one is better than another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from shoal.metrics import Metric, pooled, value_of
from shoal.scores import ACCURACY, Score
from shoal.types import Array

__all__ = ["Evidence", "Trial", "label_distance", "lead"]

TIE = 0.01  # shares that differ by less are equal; of other scores a hundredth of the best
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
        metric: By which it is judged; None: by accuracy.
        sums_N: Of the metric, a row per client.

    >>> Trial("wecfl", {"groups": 4}, (9, 7), (10, 10)).accuracy
    0.8
    """

    algorithm: str
    own: Mapping[str, Any] = field(default_factory=dict)
    right_N: Sequence[int] = ()
    total_N: Sequence[int] = ()
    problem: str = ""
    metric: Metric | None = None
    sums_N: Mapping[str, Array] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return " ".join([self.algorithm, *(f"{k}={v}" for k, v in self.own.items() if k == "groups")])

    @property
    def accuracy(self) -> float:
        return sum(self.right_N) / max(sum(self.total_N), 1)

    @property
    def score(self) -> Score:
        """What it is judged by."""
        return ACCURACY if self.metric is None else self.metric.score

    @property
    def value(self) -> float:
        """The score of all clients' samples together."""
        return self.accuracy if self.metric is None else value_of(self.metric, pooled(self.sums_N))

    @property
    def without_N(self) -> Array:
        """The score without each of the clients."""
        assert self.metric is not None
        whole, n = pooled(self.sums_N), len(self.total_N)
        return np.array([value_of(self.metric, {k: whole[k] - v[i] for k, v in self.sums_N.items()}) for i in range(n)])

    def of_clients(self, places: Sequence[int]) -> Trial:
        """The trial judged on some of the clients."""
        right_N = [self.right_N[i] for i in places] if self.right_N else self.right_N
        sums_N = {name: rows[list(places)] for name, rows in self.sums_N.items()}
        return replace(self, right_N=right_N, total_N=[self.total_N[i] for i in places], sums_N=sums_N)


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
        labels: How far the clients' shares of classes lie from the whole's, and what chance alone would give; None: the
            task has no classes.
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
    labels: tuple[float, float] | None
    rounds: int
    trials: Sequence[Trial]

    @property
    def skewed(self) -> bool:
        """Whether clients hold different classes."""
        return self.labels is not None and self.labels[0] > SKEWED * self.labels[1]


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
    """How much better a trial was than another on the same samples, and the standard error over clients.

    Of accuracies, with d_i more right answers of n_i at client i and the difference D of the accuracies, the error is
    `sqrt(N / (N - 1) sum_i (d_i - n_i D)^2) / sum_i n_i`. Of other scores it is that of the jackknife, with the
    differences d_i that are left without client i: `sqrt((N - 1) / N sum_i (d_i - mean d)^2)`.

    Args:
        one: A trial.
        other: Another on the same federation.

    Returns:
        The difference of the scores, above 0 where the first is better, and its standard error (0 for one client).

    >>> lead(Trial("wecfl", {}, (9, 7), (10, 10)), Trial("fedavg", {}, (8, 4), (10, 10)))
    (0.2, 0.1)
    """
    if one.metric is not None:
        left_N = one.score.sign * (one.without_N - other.without_N)
        left_N = left_N[np.isfinite(left_N)]  # without some clients the others may not tell the score
        n = len(left_N)
        error = math.sqrt((n - 1) / n * float(np.square(left_N - left_N.mean()).sum())) if n > 1 else 0.0
        return one.score.gain(one.value, other.value), error
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
    return behind <= max(near(best), error) + 1e-12


def near(best: Trial) -> float:
    """How far another may be behind the best and still count as equal."""
    return TIE if best.score.percent else TIE * abs(best.value)
