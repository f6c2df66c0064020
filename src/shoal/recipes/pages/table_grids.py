"""The cells of a table as grids, the paper's figure and ours in each, for pages of Markdown and of HTML."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from shoal.recipes.judging.relations import Known
from shoal.recipes.numbers import figure_of, state_of
from shoal.recipes.records import Cell, Quantity, Table
from shoal.recipes.store import Result

__all__ = ["Grid", "cell_text", "grids_of"]

EMPTY = ("", "- / -", "- / not run")  # cells of which neither the paper nor we have a figure


@dataclass(frozen=True)
class Grid:
    """Figures of a table that stand together; all words are Markdown.

    Attributes:
        title: What they are figures of: a quantity, or a row of the table; empty if there is one grid alone.
        heads: Of the columns.
        rows: Names, and texts under the heads.
    """

    title: str
    heads: tuple[str, ...]
    rows: dict[str, list[str]]


def grids_of(table: Table, known: Known) -> list[Grid]:
    """Rows by columns, a grid for each quantity; quantities side by side in tables that say so or have one column.

    Args:
        table: Of a paper.
        known: All cells with what is stored of them.

    Returns:
        Grids without lines in which there is no figure; none if nothing was run.
    """
    cells = {(cell.row, cell.column): cell for cell in table.cells}
    rows = [row for row in table.rows if any(has_runs(c, known) for c in table.cells if c.row == row)]
    side_by_side = tuple(quantity.head for quantity in table.quantities)

    def text(row: str, column: str, quantity: Quantity) -> str:
        return cell_text(cells.get((row, column)), quantity, known)

    if len(table.columns) == 1:
        [column] = table.columns
        found = {f"`{row}`": [text(row, column, q) for q in table.quantities] for row in rows}
        return filled([Grid("", side_by_side, found)])
    if table.side_by_side:
        return filled(
            Grid(
                f"`{row}`",
                side_by_side,
                {f"`{column}`": [text(row, column, q) for q in table.quantities] for column in table.columns},
            )
            for row in rows
        )
    return filled(
        Grid(
            f"{q.head[0].upper()}{q.head[1:]}",
            tuple(f"`{column}`" for column in table.columns),
            {f"`{row}`": [text(row, column, q) for column in table.columns] for row in rows},
        )
        for q in table.quantities
    )


def filled(grids: Iterable[Grid]) -> list[Grid]:
    """Grids without the lines, across or down, in which there is no figure.

    >>> filled([Grid("a", ("x", "y"), {"r": ["- / -", "9.0 / 8.0"], "s": ["", ""]}), Grid("b", ("x",), {"r": [""]})])
    [Grid(title='a', heads=('y',), rows={'r': ['9.0 / 8.0']})]
    """
    found = []
    for one in grids:
        rows = {name: texts for name, texts in one.rows.items() if any(text not in EMPTY for text in texts)}
        shown = [i for i in range(len(one.heads)) if any(texts[i] not in EMPTY for texts in rows.values())]
        if shown:
            heads = tuple(one.heads[i] for i in shown)
            found.append(Grid(one.title, heads, {name: [texts[i] for i in shown] for name, texts in rows.items()}))
    return found


def has_runs(cell: Cell, known: Known) -> bool:
    result: Result | None = known[cell.name][1]
    return result is not None and bool(result.runs) and state_of(cell, result) in ("done", "partial")


def cell_text(cell: Cell | None, quantity: Quantity, known: Known) -> str:
    """The paper's figure and ours.

    Args:
        cell: Of a table; None: it has none there.
        quantity: What is shown.
        known: All cells with what is stored of them.

    Returns:
        `89.4 / 88.9 ± 0.3 (5)`.
    """
    if cell is None:
        return ""
    figure = figure_of(cell, quantity, known[cell.name][1])
    return f"{figure.published} / {figure.ours if figure.runs else 'not run'}"
