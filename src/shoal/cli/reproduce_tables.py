"""What `shoal reproduce` prints: the list of tables, and tables with the paper's figures beside ours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from shoal.cli.console import echo, emit, out
from shoal.recipes.numbers import figure_of, minutes_left, progress_of, state_of

if TYPE_CHECKING:
    from shoal.cli.reproduce import Shape
    from shoal.recipes.records import Cell, Table
    from shoal.recipes.store import Store

HEADS = ("row", "column", "quantity", "paper", "ours", "difference", "state")


def show_list(tables: Sequence[Table], cells: Sequence[Cell], store: Store, seeds: int | None, shape: Shape) -> None:
    """Every table and figure: how many cells, how far they are, and what is left to run here."""
    lines = [list_line(t, [c for c in cells if c.table == t.name], store, seeds) for t in tables]
    if shape == "json":
        emit({"kind": "recipes", "tables": lines})
        return
    heads = ("table", "cells", "done", "partial", "not run", "cannot", "minutes left", "shows")
    rows = [
        (
            line["table"],
            *(str(line[name]) for name in ("cells", "done", "partial", "not_run", "cannot_run_here")),
            f"{'' if line['measured'] else '~'}{line['minutes_left']:,.0f}",
            line["title"],
        )
        for line in lines
    ]
    if shape == "markdown":
        echo(out(), markdown(heads, rows))
        return
    echo(out(), aligned(heads, rows))
    echo(
        out(), "\nRun one:  shoal reproduce flexcfl/table3 rows=mnist-mclr seeds=2 (~: a stated estimate, not measured)"
    )


def list_line(table: Table, cells: Sequence[Cell], store: Store, seeds: int | None) -> dict[str, Any]:
    """One table as numbers."""
    found = [(cell, store.load(cell)) for cell in cells]
    states = Counter(state_of(cell, result, seeds) for cell, result in found)
    costs = [minutes_left(cell, result, seeds) for cell, result in found]
    return {
        "table": table.name,
        "title": table.title,
        "cells": len(cells),
        "done": states["done"],
        "partial": states["partial"],
        "not_run": states["not run"] + states["other settings"],
        "cannot_run_here": states["cannot run here"],
        "minutes_left": round(sum(minutes for minutes, _ in costs), 1),
        "measured": all(measured for minutes, measured in costs if minutes),
        "elsewhere": table.elsewhere,
    }


def show_tables(tables: Sequence[Table], cells: Sequence[Cell], store: Store, seeds: int | None, shape: Shape) -> None:
    """The cells, ours beside the paper's."""
    if shape == "json":
        emit({"kind": "reproduction", "cells": [line for t in tables for line in json_lines(t, cells, store, seeds)]})
        return
    for one in tables:
        mine = [cell for cell in cells if cell.table == one.name]
        rows = text_rows(one, mine, store, seeds)
        if shape == "markdown":
            echo(out(), f"## {one.name}: {one.title}\n\n{markdown(HEADS, rows)}\n")
        else:
            echo(out(), f"{one.name}: {one.title}", style="bold")
            echo(out(), aligned(HEADS, rows))


def text_rows(table: Table, cells: Sequence[Cell], store: Store, seeds: int | None) -> list[tuple[str, ...]]:
    """A line for each quantity of each cell."""
    rows: list[tuple[str, ...]] = []
    for cell in cells:
        result = store.load(cell)
        state = progress_of(cell, result) if result else ""
        state = state or cell.why_not or state_of(cell, result, seeds)
        for quantity in table.quantities:
            figure = figure_of(cell, quantity, result)
            rows.append((cell.row, cell.column, quantity.head, figure.published, figure.ours, figure.difference, state))
    return rows


def json_lines(table: Table, cells: Sequence[Cell], store: Store, seeds: int | None) -> list[dict[str, Any]]:
    """The cells of a table as data."""
    lines = []
    for cell in (c for c in cells if c.table == table.name):
        result = store.load(cell)
        figures = {q.name: figure_of(cell, q, result) for q in table.quantities}
        lines.append(
            {
                "cell": cell.name,
                "state": state_of(cell, result, seeds),
                "paper": dict(cell.paper),
                "ours": {name: {"mean": f.mean, "std": f.std, "n": f.n} for name, f in figures.items()},
                "values": {} if result is None else {q.name: result.values(q.name) for q in table.quantities},
                "departures": list(cell.departures),
                "note": cell.note or cell.why_not,
            }
        )
    return lines


def markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown.

    >>> print(markdown(("a", "b"), [("1", "2")]))
    | a | b |
    | --- | --- |
    | 1 | 2 |
    """
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def aligned(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table for a terminal; lines are as long as they are, so that a pipe gets whole words.

    >>> print(aligned(("name", "n"), [("fedavg", "3")]))
    name    n
    fedavg  3
    """
    wide = [max(len(line[i]) for line in (heads, *rows)) for i in range(len(heads))]
    lines = ("  ".join(word.ljust(width) for word, width in zip(line, wide, strict=True)) for line in (heads, *rows))
    return "\n".join(line.rstrip() for line in lines)
