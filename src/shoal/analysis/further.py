"""Metrics of a run that are not its score: which there are, and what is known of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from shoal.scores import ACCURACY, Score, score_of

__all__ = ["Further", "further_of"]


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


def further_of(config: Mapping[str, Any], rows: Iterable[Mapping[str, Any]] = ()) -> tuple[Further, ...]:
    """The metrics of a run besides its score.

    Args:
        config: Its settings; `metrics` names them.
        rows: Its records: what else they hold is accuracy, where that is not the score.

    Returns:
        One each, in the order they were asked for; macro F1, which has its own place, is not among them.

    >>> [m.score.name for m in further_of({"score": "rmse", "metrics": "mae,rmse"}, [{"accuracy": 0.5}])]
    ['mae', 'accuracy']
    """
    asked = config.get("metrics") or ()
    names = [word.strip() for word in asked.split(",")] if isinstance(asked, str) else [str(word) for word in asked]
    names += [ACCURACY.name] if any(row.get(ACCURACY.name) is not None for row in rows) else []
    left = [name for name in dict.fromkeys(names) if name and name not in (score_of(config).name, "f1")]
    return tuple(known(name) for name in left)


def known(name: str) -> Further:
    """What is known of a metric by its name."""
    return Further(ACCURACY, True) if name == ACCURACY.name else Further(Score(name, percent=False), False)
