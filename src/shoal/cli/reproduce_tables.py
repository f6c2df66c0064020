"""What `shoal reproduce` prints: the list of tables, and tables with the paper's figures beside ours."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shoal.cli.console import echo, emit, out
from shoal.cli.reproduce_csv import LONG, curve_rows, figure_rows, whole_rows
from shoal.cli.reproduce_json import json_lines, verdict_document
from shoal.cli.tables import as_csv
from shoal.recipes.choose import row_of_table
from shoal.recipes.grids import grid
from shoal.recipes.judging.relations import Verdict, judge, known_cells
from shoal.recipes.judging.statements_guests import YOURS, of_guests
from shoal.recipes.numbers import figure_of, progress_of, state_of
from shoal.recipes.pages.paper_pages import VERDICTS, count_sentence, verdict_rows
from shoal.recipes.pages.reasons import reasons
from shoal.recipes.runs.pace import Paces, minutes_left, paces
from shoal.recipes.store import usable

if TYPE_CHECKING:
    from shoal.cli.reproduce import Shape
    from shoal.recipes.records import Cell, Paper, Table
    from shoal.recipes.runs.single import Job
    from shoal.recipes.store import Store

HEADS = ("row", "column", "quantity", "paper", "ours", "difference", "state")


def show_list(tables: Sequence[Table], cells: Sequence[Cell], store: Store, seeds: int | None, shape: Shape) -> None:
    """Every table and figure: how many cells, how far they are, and what is left to run here."""
    known = paces_here(store)
    lines = [list_line(t, shown_under(t, [t], cells), store, seeds, known) for t in tables]
    if shape == "json":
        emit({"kind": "recipes", "tables": lines})
        return
    if shape == "csv":
        print(as_csv(*whole_rows(lines)), end="")
        return
    heads = ("table", "cells", "done", "partial", "not run", "cannot", "time left", "shows")
    rows = [
        (
            line["table"],
            *(str(line[name]) for name in ("cells", "done", "partial", "not_run", "cannot_run_here")),
            long_time(line["minutes_left"], line["measured"]),
            line["title"],
        )
        for line in lines
    ]
    if shape == "markdown":
        echo(out(), grid(heads, rows))
        return
    echo(out(), aligned(heads, rows))
    echo(out(), "\nRun one:  shoal reproduce flexcfl/table3 rows=mnist-mclr seeds=2")
    echo(
        out(),
        "Figures count the cells that they draw, also of other tables. Times go by runs of the same row, or data and "
        "model,\nin results/; ~: where there is none, by an estimate. jobs=N plays N runs side by side.",
    )


def long_time(minutes: float, measured: bool) -> str:
    """A time in the unit that suits it.

    >>> long_time(0, True), long_time(0.4, True), long_time(12.4, False), long_time(137_615, False)
    ('-', 'under a minute', '~12 min', '~96 days')
    """
    if not minutes:
        return "-"
    sign = "" if measured else "~"
    if minutes < 0.95:
        return "under a minute"
    if minutes < 100:
        return f"{sign}{minutes:.0f} min"
    return f"{sign}{minutes / 60:.0f} h" if minutes < 48 * 60 else f"{sign}{minutes / 60 / 24:,.0f} days"


def list_line(table: Table, cells: Sequence[Cell], store: Store, seeds: int | None, known: Paces) -> dict[str, Any]:
    """One table as numbers."""
    found = [(cell, store.load(cell)) for cell in cells]
    states = Counter(state_of(cell, result, seeds) for cell, result in found)
    costs = [minutes_left(cell, result, seeds, known) for cell, result in found]
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


def ahead(todo: Sequence[Job], tables: Sequence[Table], store: Store, seeds: int | None, jobs: int) -> str:
    """How many runs are to be played, and about how long they take here."""
    known = paces_here(store)
    cells = {job.cell.name: job.cell for job in todo}.values()
    costs = [minutes_left(cell, store.load(cell), seeds, known) for cell in cells]
    mine = {table.name for table in tables}
    drawn = sum(job.cell.table not in mine for job in todo)
    others = f" ({drawn} of other tables, which are drawn too)" if drawn else ""
    took = long_time(sum(minutes for minutes, _ in costs) / min(jobs, len(todo)), all(known for _, known in costs))
    return f"runs to play: {len(todo)}{others}; time: {took}"


def paces_here(store: Store) -> Paces:
    """How long runs take here, by all that is stored."""
    from shoal.recipes import PAPERS

    return paces([(cell, store.load(cell)) for cell in every_cell(PAPERS)])


def every_cell(papers: Mapping[str, Paper]) -> list[Cell]:
    """The cells of papers."""
    return [cell for paper in papers.values() for table in paper.tables for cell in table.cells]


def show_tables(tables: Sequence[Table], cells: Sequence[Cell], store: Store, seeds: int | None, shape: Shape) -> None:
    """The cells, ours beside the paper's."""
    if shape == "csv":
        print(as_csv(LONG, [*long_rows(tables, cells, store)]), end="")
        return
    found = verdicts_of([t.name for t in tables], store, cells)
    known = known_cells(list(cells), store)
    found += [judge(relation, known) for table in tables for relation in of_guests(table, cells)]
    if shape == "json":
        lines = [line for t in tables for line in json_lines(t, shown_under(t, tables, cells), store, seeds)]
        emit({"kind": "reproduction", "cells": lines, "statements": [verdict_document(v) for v in found]})
        return
    for one in tables:
        mine = shown_under(one, tables, cells)
        rows = text_rows(one, mine, store, seeds)
        drawn = (grid if shape == "markdown" else aligned)(HEADS, rows) if rows else drawn_from(one, cells)
        words = "\n\n".join(filter(None, (drawn, *remarks_of(one, mine))))
        echo(
            out(), f"## {one.name}: {one.title}\n" if shape == "markdown" else f"{one.name}: {one.title}", style="bold"
        )
        echo(out(), f"{words}\n")
    if found:
        print_verdicts(found, shape)


def long_rows(tables: Sequence[Table], cells: Sequence[Cell], store: Store) -> Iterator[list[Any]]:
    """Every value of some tables and figures, a line each."""
    stored = {cell.name: (cell, found) for cell in cells if (found := usable(cell, store.load(cell)))}
    for table in tables:
        mine = (cell.name for cell in shown_under(table, tables, cells))
        yield from figure_rows(table, [stored[name] for name in mine if name in stored])
        yield from curve_rows(table, stored)


def remarks_of(table: Table, cells: Sequence[Cell]) -> list[str]:
    """What stands below the cells of a table: why some cannot be run, and where else it is shown."""
    reasons: dict[str, list[str]] = {}
    for cell in cells:
        rows = reasons.setdefault(cell.why_not, [])
        rows += [cell.row] if cell.why_not and cell.row not in rows else []
    found = [f"{', '.join(rows)} cannot be run here: {why}" for why, rows in reasons.items() if rows]
    return [*found, *([f"See {table.elsewhere}"] if table.elsewhere else [])]


def drawn_from(table: Table, cells: Sequence[Cell]) -> str:
    """Where the cells stand that a figure without rows draws; empty if it draws none of them."""
    drawn = {name for panel in table.panels for name in panel.cells}
    names = dict.fromkeys(cell.table for cell in cells if cell.name in drawn)
    return f"Draws cells of {', '.join(names)}." if names else ""


def shown_under(table: Table, tables: Sequence[Table], cells: Sequence[Cell]) -> list[Cell]:
    """Of some cells those of a table, and those that its panels draw, unless their own table is shown as well."""
    drawn = {name for panel in table.panels for name in panel.cells}
    names = {t.name for t in tables}
    return [c for c in cells if c.table == table.name or (c.name in drawn and c.table not in names)]


def verdicts_of(names: Sequence[str], store: Store, cells: Sequence[Cell] | None = None) -> list[Verdict]:
    """Verdicts on the statements about these tables; with `cells`, on those that need no other cell than these."""
    from shoal.recipes import PAPERS
    from shoal.recipes.judging.statements import STATEMENTS

    known = known_cells(every_cell(PAPERS), store)
    shown = None if cells is None else {cell.name for cell in cells}
    found = []
    for relation in STATEMENTS:
        used = (*relation.left, *relation.right)
        if names and not any(cell.startswith((f"{name}/", f"{name}-")) for name in names for cell in used):
            continue
        if shown is None or shown.issuperset(used):
            found.append(judge(relation, known))
    return found


def show_statements(names: Sequence[str], store: Store, shape: Shape) -> None:
    """The statements of the papers and their verdicts; a sentence where there is none, such as of toys."""
    found = verdicts_of(names, store)
    if not found and shape in ("text", "markdown"):
        echo(out(), f"no statement is about {', '.join(names)}")
        return
    print_verdicts(found, shape)


def print_verdicts(found: Sequence[Verdict], shape: Shape) -> None:
    rows = verdict_rows(found)
    if shape == "json":
        emit({"kind": "statements", "statements": [verdict_document(v) for v in found]})
    elif shape == "csv":
        print(as_csv(*whole_rows([verdict_document(v) for v in found])), end="")
    else:
        screen = out()
        narrow = shape == "text" and screen.is_terminal
        drawn = folded(rows, screen.width) if narrow else (aligned if shape == "text" else grid)(VERDICTS, rows)
        told = reasons([verdict for verdict in found if verdict.relation.source != YOURS])
        words = [count_sentence(found), *told]
        echo(screen, "\n\n".join([drawn, *(wrapped(text, screen.width) if narrow else text for text in words)]))


def wrapped(text: str, width: int) -> str:
    """A paragraph, or the lines of a list, for a screen."""
    return "\n".join(textwrap.fill(line, width) for line in text.splitlines())


def folded(rows: Sequence[Sequence[str]], width: int) -> str:
    """Statements for a screen: the verdict first, then what is said, and the numbers below it.

    >>> print(folded([("a is above b", "Table 1", "above 0", "+1.00", "+0.90", "holds")], 60))
    holds: a is above b
        ours +0.90; paper +1.00; asked for: above 0; Table 1
    """
    lines = []
    for says, source, bounds, paper, ours, verdict in rows:
        numbers = [f"ours {ours}" if ours != "-" else "", f"paper {paper}" if paper != "-" else ""]
        under = "; ".join(filter(None, (*numbers, f"asked for: {bounds}", source)))
        lines += [textwrap.fill(f"{verdict}: {says}", width, subsequent_indent="  ")]
        lines += [textwrap.fill(under, width, initial_indent="    ", subsequent_indent="    ")]
    return "\n".join(lines)


def text_rows(table: Table, cells: Sequence[Cell], store: Store, seeds: int | None) -> list[tuple[str, ...]]:
    """A line for each quantity of each cell."""
    rows: list[tuple[str, ...]] = []
    for cell in cells:
        result = store.load(cell)
        state = progress_of(cell, result) or state_of(cell, result, seeds)
        row = cell.row if cell.table == table.name else row_of_table(cell)
        for number, quantity in enumerate(table.quantities):
            figure = figure_of(cell, quantity, result)
            if number and figure.is_empty:  # a quantity that neither has, such as of another kind of method
                continue
            rows.append((row, cell.column, quantity.head, figure.published, figure.ours, figure.difference, state))
    return rows


def aligned(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table for a terminal; lines are as long as they are, so that a pipe gets whole words.

    >>> print(aligned(("name", "n"), [("fedavg", "3")]))
    name    n
    fedavg  3
    """
    wide = [max(len(line[i]) for line in (heads, *rows)) for i in range(len(heads))]
    lines = ("  ".join(word.ljust(width) for word, width in zip(line, wide, strict=True)) for line in (heads, *rows))
    return "\n".join(line.rstrip() for line in lines)
