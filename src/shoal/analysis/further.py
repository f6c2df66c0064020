"""Metrics of a run that are not its score: which there are, and what is known of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from shoal.metrics import METRICS
from shoal.scores import ACCURACY, Score, score_of

__all__ = ["Further", "further_of"]

COUNTED = ("ids", "right", "total")  # of clients, besides the values of metrics
PLACED = ("f1", "test_loss")  # have a place of their own


class Further(NamedTuple):
    """A metric besides the score.

    Attributes:
        score: Its name, direction and unit.
        ranked: Whether the direction is known; an own metric of elsewhere is shown, but nothing is best in it.

    >>> Further(ACCURACY, True).score.title
    'accuracy'
    """

    score: Score
    ranked: bool


def further_of(config: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> tuple[Further, ...]:
    """The metrics of a run besides its score.

    Args:
        config: Its settings.
        rows: Its records: those of tested rounds hold the values of clients by metric.

    Returns:
        One each, in the order of the records; F1 by client and the test loss, which have their own place, are not
        among them.

    >>> row = {"accuracy": 0.9, "mae": 0.5, "clients": {"ids": ["ann"], "total": [4], "rmse": [0.7], "mae": [0.5]}}
    >>> [m.score.name for m in further_of({"score": "rmse"}, [row])]
    ['mae', 'accuracy']
    >>> labels = {"clients": {"ids": ["ann"], "total": [4], "auc": [0.7], "macro_f1": [0.5]}}
    >>> [m.score.name for m in further_of({"score": "auc"}, [labels])]
    ['macro_f1']
    """
    tested = next((row for row in rows if "clients" in row), {})
    names = [name for name in tested.get("clients", {}) if name not in COUNTED]
    names += [ACCURACY.name] if ACCURACY.name in tested else []
    placed = (*PLACED, "macro_f1") if tested.get("f1") is not None else PLACED  # labels have no F1 by client
    left = [name for name in dict.fromkeys(names) if name not in (score_of(config).name, *placed)]
    return tuple(known(name) for name in left)


def known(name: str) -> Further:
    """What is known of a metric by its name: all if it is declared here.

    >>> known("mae").score.better, known("mae").ranked, known("of elsewhere").ranked
    ('lower', True, False)
    """
    return Further(METRICS[name].score, True) if name in METRICS else Further(Score(name, percent=False), False)
