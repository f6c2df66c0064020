"""Our figure of a cell beside the paper's: mean, spread, difference, and how far the cell is."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Literal

from shoal.recipes.records import Cell, Quantity
from shoal.recipes.store import Result, differs, usable

__all__ = ["Figure", "State", "figure_of", "state_of"]

State = Literal["done", "partial", "not run", "other settings", "cannot run here"]


@dataclass(frozen=True)
class Figure:
    """One quantity of a cell, in the units that the paper prints.

    Attributes:
        paper: Published; None: it is not.
        mean: Of our seeds; None: there are none.
        std: Their standard deviation; None: fewer than two.
        n: How many.
        digits: Shown behind the point.
        runs: How many are complete; more than have a value where a target was not always reached.
        within: Rounds in which a target was to be reached, where it counts until then; 0: it does not.
        unreached: Whether the paper says that it never was.

    >>> Figure(89.4, 89.1, 0.9, 3, 1, 3).ours, Figure(89.4, 89.1, 0.9, 3, 1, 3).difference
    ('89.1 ± 0.9 (3)', '-0.3')
    >>> Figure(None, None, None, 0, 0, 3, 100).ours, Figure(None, 40, None, 1, 0, 3, 100).ours
    ('not in 100 rounds (3)', '40 (1 of 3)')
    """

    paper: float | None
    mean: float | None
    std: float | None
    n: int
    digits: int
    runs: int = 0
    within: int = 0
    unreached: bool = False

    @property
    def published(self) -> str:
        if self.paper is None:
            return "never" if self.unreached else "-"
        return f"{self.paper:.{self.digits}f}"

    @property
    def ours(self) -> str:
        if self.mean is None:
            return f"not in {self.within} rounds ({self.runs})" if self.within and self.runs else "-"
        spread = "" if self.std is None else f" ± {self.std:.{self.digits}f}"
        of = f" of {self.runs}" if self.within and self.n < self.runs else ""
        return f"{self.mean:.{self.digits}f}{spread} ({self.n}{of})"

    @property
    def is_empty(self) -> bool:
        """Whether neither the paper nor we have it."""
        return self.published == self.ours == "-"

    @property
    def difference(self) -> str:
        if self.mean is None or self.paper is None:
            return "-"
        return f"{self.mean - self.paper:+.{self.digits}f}"


def figure_of(cell: Cell, quantity: Quantity, result: Result | None) -> Figure:
    """A quantity of a cell: the paper's and ours.

    Args:
        cell: The recipe.
        quantity: Of its table.
        result: What is stored; None: nothing is.

    Returns:
        Both.

    >>> cell = Cell("p/t", "a", "x", "fedavg", {"rounds": 1}, {"best_accuracy": 89.4})
    >>> runs = {s: {"complete": True, "figures": {"best_accuracy": v}} for s, v in enumerate((0.88, 0.9))}
    >>> figure_of(cell, Quantity("best_accuracy", "best", 100), Result(cell.settings, runs)).ours
    '89.0 ± 1.4 (2)'
    """
    found = usable(cell, result)
    values = [quantity.scale * v for v in found.values(quantity.name).values()] if found else []
    paper = cell.paper.get(quantity.name)
    mean, std = fmean(values) if values else None, stdev(values) if len(values) > 1 else None
    runs, within = len(found.seeds_done) if found else 0, cell.rounds if quantity.counts_to_target else 0
    unreached = quantity.counts_to_target and paper is None and quantity.name in cell.paper
    return Figure(paper, mean, std, len(values), quantity.digits, runs, within, unreached)


def state_of(cell: Cell, result: Result | None, seeds: int | None = None) -> State:
    """How far a cell is.

    Args:
        cell: The recipe.
        result: What is stored; None: nothing is.
        seeds: How many are asked for; None: what the recipe says.

    Returns:
        One of five.

    >>> cell = Cell("p/t", "a", "x", "fedavg", {"rounds": 1})
    >>> state_of(cell, None), state_of(cell, Result(cell.settings, {0: {"complete": True}}), 1)
    ('not run', 'done')
    """
    if result is None:
        return "cannot run here" if cell.why_not else "not run"
    if differs(cell, result) is not None:
        return "other settings"
    return "done" if len(result.seeds_done) >= (seeds or cell.seeds) else "partial"


def progress_of(cell: Cell, result: Result | None) -> str:
    """Which runs a partial cell has, in words.

    Args:
        cell: The recipe.
        result: What is stored.

    Returns:
        Words; empty for a cell that is done or has nothing.

    >>> cell = Cell("p/t", "a", "x", "fedavg", {"rounds": 300})
    >>> runs = {0: {"complete": True}, 1: {"complete": False, "rounds": 137, "figures": {"best_accuracy": 0.871}}}
    >>> progress_of(cell, Result(cell.settings, runs))
    '1 of 3 seeds; seed 1 at round 137 of 300, best accuracy 87.1 %'
    """
    if result is None or state_of(cell, result) != "partial":
        return ""
    words = [f"{len(result.seeds_done)} of {cell.seeds} seeds"]
    for seed, run in result.runs.items():
        if not run["complete"]:
            best = run.get("figures", {}).get("best_accuracy")
            so_far = "" if best is None else f", best accuracy {100 * best:.1f} %"
            words.append(f"seed {seed} at round {run['rounds']} of {cell.rounds}{so_far}")
    return "; ".join(words)
