"""What a figure of a comparison is: its head, unit and meaning, which way is better, how it is shown."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from shoal.scores import ACCURACY, Score

__all__ = ["Quantity"]


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """One figure of a run. Terminal, CSV, LaTeX, JSON and HTML read all they show of it from here.

    Args:
        key: its name in JSON and CSV, and for `--figure`.
        head: of its column where room is scarce, unit included.
        title: of its column on a page, where the unit follows unless it is named.
        meaning: what it is, in a phrase.
        better: which way is better; None where neither is.
        unit: what it is shown in; `%` for shares of 1.
        digits: decimals that are shown; large numbers and counts have fewer. None: four digits that count, for
            figures of any size.
        count: a whole number in every run, and shown as one where a mean is whole too.
        ranked: whether the best of its column is marked.
        shown: in every table, in those with rarer figures too, or in none (JSON and CSV have all).

    >>> cost("megabytes", "MB", "sent", "MB", "MB between clients and groups").better
    'lower'
    """

    key: str
    head: str
    title: str
    meaning: str
    better: Literal["higher", "lower"] | None
    unit: str = ""
    digits: int | None = 1
    count: bool = False
    ranked: bool = False
    shown: Literal["always", "rarely", "never"] = "always"

    @property
    def scale(self) -> float:
        """What a value is multiplied by to be shown in the unit."""
        return 100.0 if self.unit == "%" else 1.0

    @property
    def long_head(self) -> str:
        """The head of its column on a page.

        >>> share("best_accuracy", "best %", "best", "best accuracy", "always").long_head
        'best (%)'
        """
        return f"{self.title} ({self.unit})" if self.unit and self.unit not in self.title else self.title

    def rounded(self, value: float) -> float:
        """The value in its unit, as far as its shown digits tell.

        >>> share("best_accuracy", "best %", "best", "best accuracy", "always").rounded(0.93421)
        93.4
        """
        return round(self.scale * value, self._decimals(self.scale * value))

    def text(self, value: float) -> str:
        """The value in its unit, as text.

        >>> sent = cost("megabytes", "MB", "sent", "MB", "MB between clients and groups")
        >>> sent.text(3.0), sent.text(1234.5)
        ('3.0', '1,234')
        >>> score = Score("rmse", "lower", percent=False)
        >>> rmse = scored(score, "best_rmse", "best RMSE", "best", "best RMSE", "always")
        >>> rmse.text(0.0123456), rmse.text(12345.6)
        ('0.01235', '12,346')
        """
        value = self.scale * value
        return f"{value:,.{self._decimals(value)}f}"

    def around(self, std: float) -> str:
        """A standard deviation in the unit, as text; two digits where the size of a figure is not known before."""
        return f"{std:.2g}" if self.digits is None else self.text(std)

    def _decimals(self, value: float) -> int:
        if self.digits is None:
            return max(0, 3 - math.floor(math.log10(abs(value)))) if value else 0
        if (self.digits == 1 and abs(value) >= 1000) or (self.count and value == round(value)):
            return 0
        return self.digits


Shown = Literal["always", "rarely", "never"]


def share(key: str, head: str, title: str, meaning: str, shown: Shown) -> Quantity:
    """A share of 1 that is shown in percent: more is better."""
    return scored(ACCURACY, key, head, title, meaning, shown)


def scored(score: Score, key: str, head: str, title: str, meaning: str, shown: Shown) -> Quantity:
    """A figure of a score: in percent or as it is, better in the score's direction."""
    unit, digits = ("%", 1) if score.percent else ("", None)
    return Quantity(
        key=key,
        head=head,
        title=title,
        meaning=meaning,
        better=score.better,
        unit=unit,
        digits=digits,
        ranked=True,
        shown=shown,
    )


def cost(key: str, head: str, title: str, unit: str, meaning: str, rare: bool = False) -> Quantity:
    """Something that is spent: less is better, but the least of it is no merit by itself."""
    shown: Literal["always", "rarely"] = "rarely" if rare else "always"
    return Quantity(key=key, head=head, title=title, meaning=meaning, better="lower", unit=unit, shown=shown)


def loss(key: str, head: str, title: str, meaning: str) -> Quantity:
    """A mean test loss: less is better."""
    return Quantity(
        key=key, head=head, title=title, meaning=meaning, better="lower", digits=3, ranked=True, shown="rarely"
    )
