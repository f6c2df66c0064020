"""A metric: what is added up over samples, and what sums mean, be they of a client, a group or the federation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from shoal.errors import BadInput, ShoalError
from shoal.registry import Registry
from shoal.scores import Score
from shoal.types import Array

__all__ = ["BASE", "METRICS", "Metric", "by_client", "pooled", "sums_of", "test_loss", "value_of", "worst_of"]

Sums = Mapping[str, Array]

BASE = ("total", "loss", "right", "true", "predicted", "both")  # sums that every test, or every one of classes, counts

TAKEN = (  # what rounds record beside metrics
    *("round", "trained", "loss", "partial", "tested", "tested_of", "clients", "worst", "val_loss", "f1", "f1_pooled"),
    *("groups", "group_size", "group_loss", "members", "labels", "likeness", "ari", "nmi", "discrepancy", "drifted"),
    *("traffic", "diagnostic", "left_out", "measures", "time", "total", "right", "ids"),
    *("skipped", "relayed", "bytes_relayed", "t_comp", "t_comm", "d_comm"),
)


@dataclass(frozen=True)
class Metric:
    """One figure of a test, made of sums that add up over samples and clients.

    Because sums add up, the value of a group or of the whole federation is that of its samples pooled; it is never a
    mean of means. Of no samples `sums` gives zeros, in the shapes that its sums always have.

    Args:
        name: Its key in records.
        sums: From what a model said of samples and their targets to named sums, numbers or arrays. A model says
            log-probabilities B x C of classes, probabilities B x C of labels, values of what is measured in numbers.
        value: From these sums to the figure. `total`, the number of samples, is among them, and `loss`, the sum of the
            losses; nan: these samples cannot tell it.
        better: `higher` or `lower`.
        percent: Whether it lies between 0 and 1 and is shown in per cent.
        kinds: Kinds of targets that it is for: `classes`, `labels`, `tokens`, `floats`; none: any.
        guarded: Whether its sums say so much of a client that they leave a real site only where its policy names them.
        about: One line of what it is, for `shoal list metrics`.

    >>> bias = Metric("bias", lambda said, y: {"above": (said - y).sum()}, lambda s: s["above"] / s["total"], "lower")
    >>> value_of(bias, {"above": np.array(3.0), "total": np.array(6)})
    0.5
    """

    name: str
    sums: Callable[[Array, Array], Mapping[str, Any]]
    value: Callable[[Mapping[str, Any]], float]
    better: Literal["higher", "lower"] = "higher"
    percent: bool = False
    kinds: tuple[str, ...] = ()
    guarded: bool = False
    about: str = ""

    def __post_init__(self) -> None:
        if self.better not in ("higher", "lower"):
            raise BadInput(f"better={self.better!r} of the metric {self.name!r} is not possible: higher or lower")
        if not self.name.isidentifier() or self.name in TAKEN:
            told = "records have something else under it" if self.name in TAKEN else "letters, digits and _ make a name"
            raise BadInput(f"a metric cannot be called {self.name!r}: {told}; rename it")

    @property
    def score(self) -> Score:
        """The metric as the headline figure of a run."""
        return Score(self.name, self.better, self.percent)


METRICS = Registry[Metric]("metric", home="shoal.metrics", of=Metric)


def sums_of(metric: Metric, said: Array, targets: Array) -> dict[str, Array]:
    """The sums of a metric over some samples, each an array of 64-bit floats.

    Args:
        metric: Any.
        said: What a model said of the samples.
        targets: What is true.

    Returns:
        Arrays by name; a number is an array without axes.

    >>> from shoal.metrics import mae
    >>> sums_of(mae, np.array([1.0, 2.0]), np.array([1.5, 4.0]))
    {'absolute_error': array([2.5])}
    """
    try:
        found = dict(metric.sums(said, targets))
    except ShoalError:
        raise
    except Exception as e:
        raise ShoalError(f"the metric {metric.name!r} cannot be added up: {type(e).__name__}: {e}") from e
    return {name: np.asarray(value, np.float64) for name, value in found.items()}


def value_of(metric: Metric, sums: Mapping[str, Any]) -> float:
    """What sums mean; nan without samples, or where these samples cannot tell it.

    Args:
        metric: Any.
        sums: Its own, `total` and `loss`.

    Returns:
        The figure.

    >>> value_of(test_loss, {"loss": 3.0, "total": 4}), value_of(test_loss, {"loss": 0.0, "total": 0})
    (0.75, nan)
    """
    if not np.sum(sums["total"]):
        return math.nan
    try:
        return float(metric.value(sums))
    except ShoalError:
        raise
    except Exception as e:
        raise ShoalError(f"the metric {metric.name!r} has no value: {type(e).__name__}: {e}") from e


def pooled(sums_N: Sums, pick: Any = slice(None)) -> dict[str, Array]:
    """The sums of some clients together.

    Args:
        sums_N: A row per client.
        pick: Whose; by default everybody's.

    Returns:
        The sums of their samples.

    >>> pooled({"total": np.array([4, 6, 1])}, np.array([True, True, False]))
    {'total': np.int64(10)}
    """
    return {name: rows[pick].sum(0) for name, rows in sums_N.items()}


def by_client(metric: Metric, sums_N: Sums) -> Array:
    """The value of every client alone.

    Args:
        metric: Any.
        sums_N: Its sums, a row per client.

    Returns:
        One number per client; nan where its samples cannot tell it.

    >>> by_client(test_loss, {"loss": np.array([3.0, 0.0]), "total": np.array([4, 0])})
    array([0.75,  nan])
    """
    rows = ({name: rows[i] for name, rows in sums_N.items()} for i in range(len(sums_N["total"])))
    return np.array([value_of(metric, row) for row in rows], np.float64)


def worst_of(metric: Metric, sums_N: Sums, value_N: Array) -> float:
    """The value of the worst tenth of the clients, at least one, their samples pooled.

    Args:
        metric: Any.
        sums_N: Its sums, a row per client.
        value_N: The value of each client alone; nan: it is left out.

    Returns:
        The figure; nan without clients.

    >>> worst_of(test_loss, {"loss": np.array([3.0, 9.0]), "total": np.array([4, 6])}, np.array([0.75, 1.5]))
    1.5
    """
    known = np.flatnonzero(~np.isnan(value_N))
    order = known[np.argsort(metric.score.sign * value_N[known], kind="stable")]
    return value_of(metric, pooled(sums_N, order[: max(1, math.ceil(len(order) / 10))])) if len(order) else math.nan


test_loss = METRICS("test_loss", "loss")(
    Metric(
        "test_loss", lambda said, targets: {}, lambda s: s["loss"] / s["total"], "lower", about="Mean loss of the task."
    )
)
