"""What a recipe is made of: a paper has tables, a table cells, a cell one setting and its published figure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

__all__ = ["Cell", "Panel", "Paper", "Quantity", "Table"]

ACCURACY = "best_accuracy"


@dataclass(frozen=True)
class Quantity:
    """A figure that a table shows.

    Attributes:
        name: As the values of a run call it.
        head: As a table calls it.
        scale: What a value is multiplied with to be shown.
        digits: Shown behind the point.

    >>> Quantity("best_accuracy", "accuracy, best %", 100).show(0.8964)
    '89.6'
    """

    name: str
    head: str
    scale: float = 1.0
    digits: int = 1

    @property
    def counts_to_target(self) -> bool:
        """Whether it counts until a target is reached, such as `rounds_to_80`."""
        return "_to_" in self.name

    def show(self, value: float | None) -> str:
        """A value as a table shows it; `-` for none.

        Args:
            value: As runs have it, not scaled.

        Returns:
            A text.
        """
        return "-" if value is None else f"{self.scale * value:.{self.digits}f}"


BEST = Quantity(ACCURACY, "accuracy, best %", 100)
VALIDATION = Quantity("best_val_accuracy", "validation accuracy, best %", 100)


@dataclass(frozen=True)
class Cell:
    """One setting of a table: what the paper says of it, and how to run it.

    Attributes:
        table: Its table, with the paper: `flexcfl/table3`.
        row: Of the table.
        column: Of the table.
        algorithm: By name.
        keys: Settings of the run; the seed is added.
        paper: Published figures by the names of quantities, as the paper prints them; None: the paper has none.
        seeds: How many runs the recipe asks for, 0 to this minus one.
        minutes: Estimate of one run on one or two cores, until there is a measured one of its row.
        departures: Numbers of `docs/departures.md` in which the run is not the paper's.
        keeps: What else is kept of a run, by the names of `shoal.recipes.runs.keeps`.
        curves: What else is kept by round, by the names of records, such as `test_loss`.
        counts: Whether clients and samples of the federation are figures, too.
        why_not: Why it cannot be run here; empty: it can.
        note: What a reader of the table should know.
        of: The cell of the paper that this is a variant of, as the authors' code or the paper's data have it; empty:
            it is the paper's own.
        source: Where its algorithm comes from, if it is a guest that the paper does not have: `mine.py:Mine`.
        code: Of a guest that is not Shoal's own: what tells whether its code is still the same.

    >>> cell = Cell("flexcfl/table3", "mnist-mclr", "fedavg", "fedavg", {"rounds": 300}, {"best_accuracy": 89.4})
    >>> cell.name, cell.rounds
    ('flexcfl/table3/mnist-mclr/fedavg', 300)
    """

    table: str
    row: str
    column: str
    algorithm: str
    keys: Mapping[str, Any]
    paper: Mapping[str, float | None] = field(default_factory=dict)
    seeds: int = 3
    minutes: float = 1.0
    departures: tuple[str, ...] = ()
    keeps: tuple[str, ...] = ()
    curves: tuple[str, ...] = ()
    counts: bool = False
    why_not: str = ""
    note: str = ""
    of: str = ""
    source: str = ""
    code: str = ""

    @property
    def name(self) -> str:
        """Paper, table, row and column."""
        return f"{self.table}/{self.row}/{self.column}"

    @property
    def rounds(self) -> int:
        """Of a complete run."""
        return int(self.keys["rounds"])

    @property
    def settings(self) -> dict[str, Any]:
        """What decides the results of its runs, but for the seed."""
        return {"algorithm": self.algorithm, **({"code": self.code} if self.code else {}), **self.keys}


@dataclass(frozen=True)
class Panel:
    """A picture of a figure: curves of cells, as in the paper, or points.

    Attributes:
        title: Above it.
        curve: What is drawn over rounds: `accuracy`, `loss`, `test_loss`, `discrepancy` or `ari`; `traffic`: a point
            for each cell, best accuracy over models sent; `maps`: where clients lie in the first rounds, of one cell;
            or one of `shoal.recipes.figures.scene_of`.
        cells: Names of cells, of this table or of others; toys have none.
        quantity: What is shown over settings.

    >>> Panel("MNIST", "accuracy", ("flexcfl/table3/mnist-mclr/fedavg",)).curve
    'accuracy'
    """

    title: str
    curve: str
    cells: tuple[str, ...] = ()
    quantity: Quantity = BEST


@dataclass(frozen=True)
class Table:
    """A table or figure of a paper.

    Attributes:
        name: With its paper: `flexcfl/table3`, `fedgroup/fig3`.
        title: In our words.
        cells: Row by row.
        quantities: What is shown of a cell.
        panels: What is drawn.
        about: A sentence or two: what is as in the paper and what is not.
        elsewhere: A page or test that shows it, if it has no cells.
        side_by_side: Whether quantities stand side by side, a grid for each row with its columns down, as where a paper
            lists methods and what was measured of each.
        trial: Whether it is ours, about what the paper leaves open; its cells may have figures of the paper's tables.

    >>> cells = (Cell("p/t", "a", "x", "fedavg", {"rounds": 1}), Cell("p/t", "a", "y", "local", {"rounds": 1}))
    >>> Table("p/t", "Two methods", cells).columns
    ('x', 'y')
    """

    name: str
    title: str
    cells: tuple[Cell, ...] = ()
    quantities: tuple[Quantity, ...] = (BEST,)
    panels: tuple[Panel, ...] = ()
    about: str = ""
    elsewhere: str = ""
    side_by_side: bool = False
    trial: bool = False

    @cached_property
    def rows(self) -> tuple[str, ...]:
        """In order, each once."""
        return tuple(dict.fromkeys(cell.row for cell in self.cells))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """In order, each once."""
        return tuple(dict.fromkeys(cell.column for cell in self.cells))


@dataclass(frozen=True)
class Paper:
    """A paper and what it shows.

    Attributes:
        name: Short: `flexcfl`.
        title: Of the paper.
        reference: Authors, where and when.
        tables: Tables and figures.

    >>> Paper("p", "A paper", "Somebody 2021", (Table("p/t", "A table"),)).tables[0].name
    'p/t'
    """

    name: str
    title: str
    reference: str
    tables: tuple[Table, ...]
