"""What `shoal reproduce --format csv` prints: one line for every value, to test or to draw on with other tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shoal.cli.reproduce_json import in_units
from shoal.recipes.judging.curves import curve_of
from shoal.recipes.records import Cell, Table
from shoal.recipes.store import Result

__all__ = ["LONG", "curve_rows", "figure_rows", "whole_rows"]

LONG = ("table", "row", "column", "seed", "quantity", "round", "value", "paper")


def figure_rows(table: Table, found: Sequence[tuple[Cell, Result]]) -> Iterator[list[Any]]:
    """The figures of every complete run, in the unit of the paper's, which stands beside them.

    Args:
        table: What is shown of cells.
        found: Cells with what is stored under their settings.

    Yields:
        Lines with the heads `LONG`; no value where a target was never reached.

    >>> cell = Cell("p/t", "a", "x", "fedavg", {}, {"best_accuracy": 89.4})
    >>> runs = {3: {"complete": True, "figures": {"best_accuracy": 0.9}}}
    >>> [*figure_rows(Table("p/t", "T", (cell,)), [(cell, Result({}, runs))])]
    [['p/t', 'a', 'x', 3, 'best_accuracy', None, 90.0, 89.4]]
    """
    for cell, result in found:
        for quantity in table.quantities:
            for seed, value in in_units(quantity, result).items():
                paper = cell.paper.get(quantity.name)
                yield [cell.table, cell.row, cell.column, seed, quantity.name, None, value, paper]


def curve_rows(table: Table, stored: Mapping[str, tuple[Cell, Result]]) -> Iterator[list[Any]]:
    """The curves that a figure draws, of every complete run, as records have them.

    Args:
        table: With its panels.
        stored: Cells by name, with what is stored under their settings.

    Yields:
        Lines with the heads `LONG`, one for each round that is kept.

    >>> from shoal.recipes.records import Panel
    >>> cell, run = Cell("p/t", "a", "x", "fedavg", {}), {"complete": True, "curves": {"round": [1], "loss": [0.5]}}
    >>> figure = Table("p/f", "F", panels=(Panel("P", "loss", (cell.name,)),))
    >>> [*curve_rows(figure, {cell.name: (cell, Result({}, {3: run}))})]
    [['p/t', 'a', 'x', 3, 'loss', 1, 0.5, None]]
    """
    drawn = dict.fromkeys((name, panel.curve) for panel in table.panels for name in panel.cells if name in stored)
    for name, curve in drawn:
        cell, result = stored[name]
        for seed in result.seeds_done:
            for at, value in curve_of(result.runs[seed], curve):
                yield [cell.table, cell.row, cell.column, seed, curve, at, value, None]


def whole_rows(documents: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[Any]]]:
    """Heads and lines of documents that are alike; a list within becomes words.

    >>> whole_rows([{"name": "p/a", "left": ["x", "y"], "p": None}])
    (['name', 'left', 'p'], [['p/a', 'x y', None]])
    """
    heads = list(documents[0]) if documents else []
    rows = [[" ".join(value) if isinstance(value, list) else value for value in one.values()] for one in documents]
    return heads, rows
