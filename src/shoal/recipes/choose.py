"""From words to cells: `flexcfl/table3 rows=mnist-mclr columns=fedavg,ifca`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from shoal.errors import BadInput, unknown
from shoal.recipes.records import Cell, Paper, Table

__all__ = ["cells_named", "cells_of", "tables_named", "tables_with"]


def tables_named(papers: Mapping[str, Paper], names: Sequence[str]) -> list[Table]:
    """Tables by name: a paper (`flexcfl`), a table (`flexcfl/table3`) or the begin of several (`flexcfl/table4`).

    Args:
        papers: All there are, by name.
        names: None: all tables.

    Returns:
        Tables, each once.

    >>> from shoal.recipes import PAPERS
    >>> [table.name for table in tables_named(PAPERS, ["flexcfl/table4"])]
    ['flexcfl/table4-swap-all', 'flexcfl/table4-swap-part', 'flexcfl/table4-incremental']
    """
    every = [table for paper in papers.values() for table in paper.tables]
    if not names:
        return every
    found: dict[str, Table] = {}
    for name in names:
        mine = [t for t in every if t.name == name or t.name.startswith((f"{name}/", f"{name}-"))]
        for cell in (cell for table in every for cell in table.cells if not mine):
            if name in (f"{cell.table}/{cell.row}", cell.name):
                column = f" columns={cell.column}" if name == cell.name else ""
                raise BadInput(f"{name} is a part of a table; write {cell.table} rows={cell.row}{column}")
        if not mine:
            paper = papers.get(name.split("/")[0])
            known = [table.name for table in paper.tables] if paper else list(papers)
            raise unknown("table", name, known, "`shoal reproduce` lists all.")
        found |= {table.name: table for table in mine}
    return list(found.values())


def cells_of(papers: Mapping[str, Paper], tables: Sequence[Table]) -> list[Cell]:
    """The cells of tables and those that their panels draw, which may be of other tables; each once.

    Args:
        papers: All there are, by name.
        tables: Some of theirs.

    Returns:
        Cells.

    >>> from shoal.recipes import PAPERS
    >>> [cell.name for cell in cells_of(PAPERS, tables_named(PAPERS, ["wecfl/fig4"]))]
    ['wecfl/table2-fmnist-dirichlet/k10/wecfl', 'wecfl/table2-cifar-dirichlet/k10/wecfl']
    """
    every = {cell.name: cell for paper in papers.values() for table in paper.tables for cell in table.cells}
    own = [cell.name for table in tables for cell in table.cells]
    drawn = [name for table in tables for panel in table.panels for name in panel.cells]
    return [every[name] for name in dict.fromkeys((*own, *drawn))]


def cells_named(cells: Sequence[Cell], rows: Sequence[str] = (), columns: Sequence[str] = ()) -> list[Cell]:
    """Some of the cells, in the order of the rows that are asked for; `*` stands for anything in a name.

    Args:
        cells: Of which to choose.
        rows: Names, also with the table's in front, as figures list them: `table1/classes-5`; none: all.
        columns: Names; none: all. A guest takes part whatever is named here: it was asked for by name.

    Returns:
        Cells, at least one.

    >>> from shoal.recipes import PAPERS
    >>> cells = cells_of(PAPERS, tables_named(PAPERS, ["fedgroup/table1"]))
    >>> [cell.row for cell in cells_named(cells, ["classes-5*"])]
    ['classes-5', 'classes-5-sigma1.55']
    >>> [cell.name for cell in cells_named(cells, ["table1/classes-5"])]
    ['fedgroup/table1/classes-5/fedavg']
    """
    for word in rows:
        if not any(is_row(cell, word) for cell in cells):
            raise unknown("row", word, {cell.row for cell in cells})
    for word in columns:
        if not any(fnmatchcase(cell.column, word) for cell in cells):
            raise unknown("column", word, {cell.column for cell in cells})
    found = [c for c in cells if not columns or c.source or any(fnmatchcase(c.column, word) for word in columns)]
    found = in_order(found, rows) if rows else found
    if rows and columns and not found:
        raise BadInput(f"no cell is in rows={','.join(rows)} and in columns={','.join(columns)}; leave one of them out")
    return found


def in_order(cells: Sequence[Cell], rows: Sequence[str]) -> list[Cell]:
    """The cells of these rows, row by row as they are asked for."""
    found = {cell.name: cell for word in rows for cell in cells if is_row(cell, word)}
    return list(found.values())


def row_of_table(cell: Cell) -> str:
    """The row of a cell with its table in front, as it stands under a figure that draws it.

    >>> row_of_table(Cell("fedgroup/table1", "classes-5", "fedavg", "fedavg", {}))
    'table1/classes-5'
    """
    return f"{cell.table.split('/', 1)[1]}/{cell.row}"


def is_row(cell: Cell, word: str) -> bool:
    """Whether a word means the row of a cell."""
    return fnmatchcase(row_of_table(cell) if "/" in word else cell.row, word)


def tables_with(tables: Sequence[Table], cells: Sequence[Cell]) -> list[Table]:
    """Of some tables those that have or draw one of the cells.

    Args:
        tables: Of which to choose.
        cells: Some.

    Returns:
        Tables.

    >>> from shoal.recipes import PAPERS
    >>> tables = tables_named(PAPERS, ["fedgroup"])
    >>> [table.name for table in tables_with(tables, cells_named(cells_of(PAPERS, tables), ["classes-1"]))]
    ['fedgroup/table1', 'fedgroup/fig1']
    """
    names = {cell.name for cell in cells}
    drawn = {table.name: {name for panel in table.panels for name in panel.cells} for table in tables}
    return [t for t in tables if not names.isdisjoint({*drawn[t.name], *(cell.name for cell in t.cells)})]
