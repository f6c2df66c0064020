"""Figures of a paper that were played as its text says and as the public code of its authors does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from shoal.recipes.figures.overview import Pair
from shoal.recipes.pages.beside import spread

__all__ = ["Line", "means", "pairs_of_lines", "rows_of_lines"]


@dataclass(frozen=True)
class Line:
    """A figure of the paper, and ours by seed, by the text and as the code has it.

    >>> Line("X, swap all", "ifca", 64.5, {0: 68.5, 1: 70.5}, {0: 65.0}).apart      # over the seeds that both have
    (4.0, 0.5)
    """

    where: str
    column: str
    paper: float
    text: dict[int, float]
    code: dict[int, float]

    @property
    def ours(self) -> tuple[float, float] | None:
        """Our means over the seeds that both have; None where there are none."""
        seeds = self.text.keys() & self.code.keys()
        if not seeds:
            return None
        text, code = (fmean(values[seed] for seed in seeds) for values in (self.text, self.code))
        return text, code

    @property
    def apart(self) -> tuple[float, float] | None:
        """How far these are from the paper."""
        if self.ours is None:
            return None
        text, code = (abs(one - self.paper) for one in self.ours)
        return text, code


def means(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The mean distance by the text and as the code."""
    return fmean(text for text, _ in pairs), fmean(code for _, code in pairs)


def rows_of_lines(found: Iterable[Line]) -> list[list[str]]:
    """Rows of a table: where, the column, the paper's figure, ours by the text and as the code.

    Args:
        found: Figures.

    Returns:
        A row for each.

    >>> rows_of_lines([Line("X, swap all", "ifca", 64.5, {0: 68.5}, {})])
    [['X, swap all', '`ifca`', '64.5', '68.5 (1)', 'not run']]
    """
    return [
        [
            one.where,
            f"`{one.column}`",
            f"{one.paper:.1f}",
            *(spread([*values.values()]) for values in (one.text, one.code)),
        ]
        for one in found
    ]


def pairs_of_lines(found: Iterable[Line]) -> tuple[list[Pair], list[Pair]]:
    """The figures that were played both ways, by the text and as the code.

    Args:
        found: Figures.

    Returns:
        As many of one as of the other.
    """
    both = [(one, one.ours) for one in found if one.ours is not None]
    text, code = ([Pair(f"{one.where}, {one.column}", one.paper, ours[i]) for one, ours in both] for i in (0, 1))
    return text, code
