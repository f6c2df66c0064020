"""What advice is made from, and what it is: the records of one run, and a sentence with the numbers it rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shoal.algorithms import ALGORITHMS
from shoal.analysis.measured import Shape, T, measured
from shoal.loop.history import History
from shoal.loop.row import Row
from shoal.scores import Score

ENOUGH = 0.01  # shares closer than this are the same; of other scores, values that differ by this share


@dataclass(frozen=True)
class Advice:
    """One finding.

    Attributes:
        about: A word for the kind, such as `groups`.
        text: The sentence.
        numbers: What it rests on.
        change: Keys to try in the next run, if any.

    >>> Advice("rounds", "accuracy still rises", {"before": 0.7, "after": 0.8}, {"rounds": 40}).change
    {'rounds': 40}
    """

    about: str
    text: str
    numbers: Mapping[str, Any] = field(default_factory=dict)
    change: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class AdviceInput:
    """A run to look at.

    Args:
        algorithm: The name of its algorithm.
        own: The algorithm's own keys with their values.
        history: The records.

    >>> AdviceInput("cfl", {}, History([{"round": 0}])).is_known_for("splits")
    True
    """

    algorithm: str
    own: Mapping[str, Any]
    history: History

    def measured(self, name: str, shape: Shape[T]) -> list[T]:
        """The values of a measure in the rounds in which it has the shape that is needed."""
        return [value for _, value in measured(self.history, name, shape)]

    def is_known_for(self, trait: str) -> bool:
        """Whether the method declares a trait; one that is not known here has none."""
        return self.algorithm in ALGORITHMS.having(trait)

    @property
    def last(self) -> Row:
        return self.history[-1]


def listed(values: Mapping[str, float]) -> str:
    """
    >>> listed({"2": 0.31, "3": 0.4})
    '2: 0.31, 3: 0.40'
    """
    return ", ".join(f"{k}: {v:.2f}" for k, v in values.items())


def ahead(score: Score, value: float, other: float, least: float = ENOUGH) -> bool:
    """Whether a value is better than another by more than counts.

    >>> accuracy, rmse = Score(), Score("rmse", "lower", percent=False)
    >>> ahead(accuracy, 0.92, 0.9), ahead(accuracy, 0.905, 0.9), ahead(rmse, 50.0, 52.0), ahead(rmse, 50.0, 50.2)
    (True, False, True, False)
    """
    return score.gain(value, other) > (least if score.percent else least * abs(other))
