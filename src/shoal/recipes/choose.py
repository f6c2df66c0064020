"""From words to cells: `flexcfl/table3 rows=mnist-mclr columns=fedavg,ifca`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from shoal.errors import unknown
from shoal.recipes.records import Cell, Paper, Table

__all__ = ["cells_named", "cells_of", "tables_named"]


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
    >>> [cell.name for cell in cells_of(PAPERS, tables_named(PAPERS, ["wecfl/fig7"]))]
    ['wecfl/table2-fmnist-dirichlet/k10/wecfl', 'wecfl/fig3/k3/wecfl']
    """
    every = {cell.name: cell for paper in papers.values() for table in paper.tables for cell in table.cells}
    own = [cell.name for table in tables for cell in table.cells]
    drawn = [name for table in tables for panel in table.panels for name in panel.cells]
    return [every[name] for name in dict.fromkeys((*own, *drawn))]


def cells_named(cells: Sequence[Cell], rows: Sequence[str] = (), columns: Sequence[str] = ()) -> list[Cell]:
    """Some of the cells, in the order of the rows that are asked for; `*` stands for anything in a name.

    Args:
        cells: Of which to choose.
        rows: Names; none: all.
        columns: Names; none: all.

    Returns:
        Cells.

    >>> from shoal.recipes import PAPERS
    >>> cells = cells_of(PAPERS, tables_named(PAPERS, ["fedgroup/table1"]))
    >>> [cell.row for cell in cells_named(cells, ["classes-5*"])]
    ['classes-5', 'classes-5-sigma1.55']
    """
    for kind, words, known in (
        ("row", rows, dict.fromkeys(c.row for c in cells)),
        ("column", columns, dict.fromkeys(c.column for c in cells)),
    ):
        for word in words:
            if not any(fnmatchcase(name, word) for name in known):
                raise unknown(kind, word, known)
    found = [c for c in cells if not columns or any(fnmatchcase(c.column, word) for word in columns)]
    return in_order(found, rows) if rows else found


def in_order(cells: Sequence[Cell], rows: Sequence[str]) -> list[Cell]:
    """The cells of these rows, row by row as they are asked for."""
    found = {cell.name: cell for word in rows for cell in cells if fnmatchcase(cell.row, word)}
    return list(found.values())
