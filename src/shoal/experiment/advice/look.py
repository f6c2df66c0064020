"""What advice is made from, and what it is: the records of one run, and a sentence with the numbers it rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from shoal.experiment.history import History
from shoal.experiment.row import Row


@dataclass(frozen=True)
class Advice:
    """One finding: what it is about, a sentence, the numbers behind it, and keys to try instead, if any."""

    about: str
    text: str
    numbers: Mapping[str, Any] = field(default_factory=dict)
    change: Mapping[str, Any] = field(default_factory=dict)  # keys of the next run


@dataclass(frozen=True)
class Look:
    """A run to look at: the name of its algorithm, the algorithm's own keys, and the records."""

    algorithm: str
    own: Mapping[str, Any]
    history: History

    def measured(self, name: str) -> list[tuple[int, Any]]:
        """Rounds in which a measure was recorded, with its value."""
        found = ((r["round"], r.get("measures", {}).get(name)) for r in self.history)
        return [(t, value) for t, value in found if value is not None]

    @property
    def last(self) -> Row:
        return self.history[-1]


def percent(share: float) -> str:
    """
    >>> percent(0.9134)
    '91.3 %'
    """
    return f"{100 * share:.1f} %"


def rounded(value: float, digits: int = 2) -> float:
    """A number to some significant digits.

    >>> rounded(0.08372), rounded(1234.0)
    (0.084, 1200.0)
    """
    return float(f"{value:.{digits}g}")


def listed(values: Mapping[str, float]) -> str:
    """
    >>> listed({"2": 0.31, "3": 0.4})
    '2: 0.31, 3: 0.40'
    """
    return ", ".join(f"{k}: {v:.2f}" for k, v in values.items())


def tail_mean(values: list[float], share: float = 0.25) -> float:
    """The mean of the last part of a list, at least one value.

    >>> tail_mean([9.0, 9.0, 1.0, 3.0], 0.5)
    2.0
    """
    return fmean(values[-max(1, round(share * len(values))) :])
