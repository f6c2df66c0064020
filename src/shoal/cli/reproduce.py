"""`shoal reproduce`: the tables and figures of the papers, ours beside theirs."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.console import echo, err, out
from shoal.cli.failures import Interrupted, guarded
from shoal.cli.reproduce_words import Asked, refuse_beside_check, refuse_cells, refuse_guests, refuse_idle, seconds_of
from shoal.errors import RunFolderError, ShoalError

if TYPE_CHECKING:
    from rich.console import Console

    from shoal.backends import Backend
    from shoal.recipes import Paper
    from shoal.recipes.runs.single import Job
    from shoal.recipes.runs.team import Team
    from shoal.recipes.store import Store


class Shape(StrEnum):
    """How tables are printed."""

    text = "text"
    markdown = "markdown"
    json = "json"
    csv = "csv"


Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TABLE|KEY=VALUE...",
        help="Tables, figures or papers to run (flexcfl/table3); rows= and columns= choose cells, and seeds= how many "
        "runs of each; methods= adds methods that the paper does not have, such as mine.py:Mine; jobs=4 plays four "
        "runs side by side; engine=, workers= are as for run. None: the list.",
    ),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
ShapeOption = Annotated[
    Shape, typer.Option("--format", help="text, markdown, json for programs, csv with a line for every value.")
]
Budget = Annotated[str | None, typer.Option(metavar="TIME", help="Stop cleanly after 90s, 150m or 8h.")]
ListOption = Annotated[bool, typer.Option("--list", help="Only show what there is; run nothing.")]
Again = Annotated[bool, typer.Option("--again", help="Make cells anew that were made with other settings.")]
Keep = Annotated[bool, typer.Option("--keep", help="Keep the folders of complete runs.")]
Check = Annotated[
    bool, typer.Option("--check", help="Play runs again that are stored, and compare; results stay as they are.")
]
Relations = Annotated[bool, typer.Option("--relations", help="Show the statements of the papers and their verdicts.")]
Html = Annotated[Path | None, typer.Option("--html", metavar="DIR", help="Also write a page per paper, with figures.")]
WriteDocs = Annotated[bool, typer.Option("--write-docs", help="Write the pages of docs/ that are made from results.")]
ResultsOption = Annotated[Path, typer.Option("--results", metavar="DIR", help="Where results of cells are.")]
WorkOption = Annotated[Path, typer.Option("--work", metavar="DIR", help="Where runs lie while they go on.")]


@guarded
def reproduce(
    words: Words = None,
    budget: Budget = None,
    listing: ListOption = False,
    again: Again = False,
    keep: Keep = False,
    check: Check = False,
    relations: Relations = False,
    html: Html = None,
    write_docs: WriteDocs = False,
    results: ResultsOption = Path("results"),
    work: WorkOption = Path("runs/reproduce"),
    format: ShapeOption = Shape.text,
    quiet: QuietOption = False,
) -> None:
    """Run tables of the papers and print them beside ours; without any word, list them with what they cost here.

    Each cell is kept in results/PAPER/TABLE/ROW/COLUMN.json with the values of every seed; what is there is not run
    again, and what was interrupted goes on. `shoal reproduce flexcfl/table3 rows=mnist-mclr seeds=2` runs one row.
    With jobs= several runs go side by side, each on one core unless workers= says more; figures stay the same.
    With methods= others take part in the rows that are asked for, with the settings of the row: mine.py:Mine, or
    wecfl:groups=4. With --check runs that are there are played again and compared; it ends with 1 if one differs.
    """
    from shoal.cli.reproduce_check import check_cells
    from shoal.cli.reproduce_tables import ahead, show_list, show_statements, show_tables
    from shoal.recipes.choose import cells_named, cells_of, tables_named, tables_with
    from shoal.recipes.runs.play import check_data, check_writable, jobs
    from shoal.recipes.store import Store

    asked = Asked.read(words or ())
    seconds = None if budget is None else seconds_of(budget)
    asked.check_engine()
    idle = "--list" if listing else "--relations" if relations else ""
    runs = bool(asked.tables) and not idle
    if not runs:
        refuse_idle({"--budget": budget, "--again": again, "--keep": keep, "--check": check}, idle)
    if check:
        refuse_beside_check({"--again": again, "--keep": keep, "--html": html, "--write-docs": write_docs})
    if write_docs:
        refuse_guests(asked.methods)
    chosen = {"rows=": asked.rows, "columns=": asked.columns, "methods=": asked.methods, "seeds=": asked.seeds}
    if relations:
        refuse_cells(chosen)
    elif not asked.tables:
        refuse_idle({"methods=": asked.methods} if listing else chosen)
    papers = papers_with(asked)
    tables, store = tables_named(papers, asked.tables), Store(results)
    note = store.missing()
    cells = cells_named(cells_of(papers, tables), asked.rows, asked.columns)
    tables = tables_with(tables, cells) if asked.rows or asked.columns else tables
    if html is not None:
        check_writable(html, "--html")
    if note and not runs and not write_docs:
        echo(err(), note, style="yellow")
    if check:
        check_cells(cells, store, asked, work, seconds, quiet, format)
        return
    failed: tuple[str, ...] = ()
    todo = jobs(cells, store, asked.seeds, again) if runs else []
    if runs and not todo and not quiet and any(not cell.why_not for cell in cells):
        echo(err(), "all runs are there, nothing is left to play")
    if todo:
        check_data(todo)
        said = ahead(todo, tables, store, asked.seeds, asked.jobs)
        failed = run_jobs(todo, said, store, asked, work, seconds, quiet, again, keep)
    if write_docs:
        show_written(documents_of(store), out())
    elif relations:
        show_statements(asked.tables, store, format)
    elif asked.tables:
        show_tables(tables, cells, store, asked.seeds, format)
    else:
        show_list(tables, cells, store, asked.seeds, format)
    if html is not None:
        show_written(pages_of(papers, asked.tables, store, html), err() if format in (Shape.json, Shape.csv) else out())
    if failed:
        raise unplayed(failed)


def unplayed(failed: Sequence[str]) -> ShoalError:
    """The error of runs that could not be played.

    >>> str(unplayed(["p/t/a/x seed 0: no room"]))
    '1 run could not be played: p/t/a/x seed 0: no room'
    """
    if len(failed) == 1:
        return ShoalError(f"1 run could not be played: {failed[0]}")
    return ShoalError(f"{len(failed)} runs could not be played; the first is {failed[0]}")


def papers_with(asked: Asked) -> Mapping[str, Paper]:
    """All papers, with the methods that are asked for in the rows that are."""
    from shoal.recipes import PAPERS
    from shoal.recipes.choose import cells_named, cells_of, tables_named
    from shoal.recipes.guests import invite

    if not asked.methods:
        return PAPERS
    rows = cells_named(cells_of(PAPERS, tables_named(PAPERS, asked.tables)), asked.rows)
    return invite(PAPERS, rows, asked.methods)


def documents_of(store: Store) -> list[Path]:
    """The generated pages of docs/, written."""
    from shoal.cli.reproduce_tables import every_cell
    from shoal.recipes import PAPERS
    from shoal.recipes.judging.relations import known_cells
    from shoal.recipes.pages.documents import documents, write_documents
    from shoal.recipes.pages.extra_pages import read_extras

    if store.missing():
        raise RunFolderError(f"there is no folder {store.root} to make pages from; choose another --results DIR")
    known = known_cells(every_cell(PAPERS), store)
    return write_documents(documents(PAPERS, known, read_extras(store.root)), Path("docs"))


def pages_of(papers: Mapping[str, Paper], names: Sequence[str], store: Store, folder: Path) -> list[Path]:
    """A page of HTML for each paper of which a table is asked for."""
    from shoal.cli.reproduce_tables import every_cell
    from shoal.recipes.judging.relations import known_cells
    from shoal.recipes.pages.html import write_pages

    wanted = {name.split("/")[0] for name in names} or set(papers)
    mine = [paper for name, paper in papers.items() if name in wanted]
    return write_pages(mine, known_cells(every_cell(papers), store), folder)


def show_written(paths: Sequence[Path], screen: Console) -> None:
    for path in paths:
        echo(screen, str(path))


def run_jobs(
    todo: Sequence[Job],
    said: str,
    store: Store,
    asked: Asked,
    work: Path,
    seconds: float | None,
    quiet: bool,
    again: bool = False,
    keep: bool = False,
    kept: str = "",
) -> tuple[str, ...]:
    """Play some runs, of which `said` tells how many they are; the sentences of what failed.

    `kept` tells whoever interrupts it what is left of it.
    """
    from shoal.cli.progress import ProgressDisplay
    from shoal.recipes.runs.play import play

    screen = err()
    if not quiet:
        echo(screen, said)
    display = ProgressDisplay(screen, quiet)

    def watch(job: Job, number: int, total: int) -> Sequence[ProgressDisplay]:
        display.announce(job.name, number, total)
        return (display,)

    try:
        with open_team(asked, len(todo)) as backend:
            ended = play(todo, store, work, backend, seconds, watch, keep=keep, again=again)
    except KeyboardInterrupt as e:
        kept = kept or f"complete runs are in {store.root}, the same command goes on"
        where = f" in {display.name}" if display.name else ""
        raise Interrupted(f"interrupted{where}; {kept}") from e
    for sentence in ended.failed:
        echo(screen, f"failed: {sentence}", style="red")
    left = ended.left - len(ended.failed)
    if left and not quiet and not kept:
        echo(screen, f"{left} of {len(todo)} runs are left; the same command goes on with them")
    sys.stderr.flush()
    return ended.failed


@contextmanager
def open_team(asked: Asked, runs: int) -> Iterator[Backend | Team]:
    """Where runs are played: on a back end, or by a team, of which nobody is without a run."""
    from shoal.recipes.runs.team import Team
    from shoal.setup.prepare import open_backend

    size = min(asked.jobs, runs)
    if size > 1:
        yield Team(size, asked.engine, asked.workers or 1)
    else:
        with open_backend(asked.engine, asked.workers) as backend:
            yield backend
