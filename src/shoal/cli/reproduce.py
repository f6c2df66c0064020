"""`shoal reproduce`: the tables and figures of the papers, ours beside theirs."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.console import echo, err, out
from shoal.cli.failures import Interrupted, guarded
from shoal.errors import BadInput, ShoalError

if TYPE_CHECKING:
    from rich.console import Console

    from shoal.backends import Backend
    from shoal.recipes.records import Cell, Table
    from shoal.recipes.runs.single import Job
    from shoal.recipes.runs.team import Team
    from shoal.recipes.store import Store

UNITS = {"s": 1, "m": 60, "h": 3600}


class Shape(StrEnum):
    """How tables are printed."""

    text = "text"
    markdown = "markdown"
    json = "json"


Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TABLE|KEY=VALUE",
        help="Tables, figures or papers to run (flexcfl/table3); rows=, columns=, seeds= choose cells; jobs=4 plays "
        "four runs side by side; engine=, workers= are as for run. None: the list.",
    ),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
ShapeOption = Annotated[Shape, typer.Option("--format", help="text, markdown, or json for programs.")]
Budget = Annotated[str | None, typer.Option(metavar="TIME", help="Stop cleanly after 90s, 150m or 8h.")]
ListOption = Annotated[bool, typer.Option("--list", help="Only show what there is; run nothing.")]
Again = Annotated[bool, typer.Option("--again", help="Make cells anew that were made with other settings.")]
Keep = Annotated[bool, typer.Option("--keep", help="Keep the folders of complete runs.")]
Relations = Annotated[bool, typer.Option("--relations", help="Show the statements of the papers and their verdicts.")]
Html = Annotated[Path | None, typer.Option("--html", metavar="DIR", help="Also write a page per paper, with figures.")]
WriteDocs = Annotated[bool, typer.Option("--write-docs", help="Write the pages of docs/ that are made from results.")]
ResultsOption = Annotated[Path, typer.Option("--results", metavar="DIR", help="Where results of cells are.")]
WorkOption = Annotated[Path, typer.Option("--work", metavar="DIR", help="Where runs lie while they go on.")]


@dataclass(frozen=True)
class Asked:
    """What the words of the command ask for.

    >>> asked = Asked.read(["flexcfl/table3", "rows=mnist-mclr,synthetic", "seeds=2"])
    >>> asked.tables, asked.rows, asked.seeds
    (('flexcfl/table3',), ('mnist-mclr', 'synthetic'), 2)
    """

    tables: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    seeds: int | None = None
    engine: str = "local"
    workers: int | None = None
    jobs: int = 1

    @classmethod
    def read(cls, words: Sequence[str]) -> Asked:
        tables = tuple(word.strip("/") for word in words if "=" not in word)
        pairs = dict(word.split("=", 1) for word in words if "=" in word)
        empty = next((key for key, value in pairs.items() if not value), None)
        if empty is not None:
            raise BadInput(f"{empty}= has no value; write {empty}=VALUE, or leave it out")
        rows, columns = (tuple(filter(None, pairs.pop(key, "").split(","))) for key in ("rows", "columns"))
        seeds, workers, jobs = (whole(key, pairs.pop(key, None)) for key in ("seeds", "workers", "jobs"))
        engine = pairs.pop("engine", "local")
        if pairs:
            raise BadInput(
                f"{next(iter(pairs))}= is not a key of reproduce, which has rows, columns, seeds, jobs, engine and "
                "workers; the recipe has the settings, and `shoal run` takes others"
            )
        return cls(tables, rows, columns, seeds, engine, workers, jobs or 1)


def whole(key: str, text: str | None) -> int | None:
    """A number from 1 on.

    >>> whole("seeds", "5"), whole("seeds", None)
    (5, None)
    """
    if text is None:
        return None
    if not text.isdecimal() or int(text) < 1:
        raise BadInput(f"{key}={text} is not possible: give a whole number from 1 on")
    return int(text)


def seconds_of(text: str) -> float:
    """A time with its unit.

    >>> seconds_of("150m"), seconds_of("1.5h"), seconds_of("90s")
    (9000.0, 5400.0, 90.0)
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text)
    if not match or float(match[1]) == 0:
        raise BadInput(f"--budget {text} is not a time; write 90s, 150m or 8h")
    return float(match[1]) * UNITS[match[2]]


@guarded
def reproduce(
    words: Words = None,
    budget: Budget = None,
    listing: ListOption = False,
    again: Again = False,
    keep: Keep = False,
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
    """
    from shoal.cli.reproduce_tables import show_list, show_statements, show_tables
    from shoal.recipes import PAPERS
    from shoal.recipes.choose import cells_named, cells_of, tables_named
    from shoal.recipes.store import Store

    asked = Asked.read(words or ())
    seconds = None if budget is None else seconds_of(budget)
    runs = bool(asked.tables) and not listing and not relations
    if not runs:
        refuse_idle({"--budget": budget, "--again": again, "--keep": keep})
    if not asked.tables and not listing:
        refuse_idle({"rows=": asked.rows, "columns=": asked.columns, "seeds=": asked.seeds})
    tables, store = tables_named(PAPERS, asked.tables), Store(results)
    cells = cells_named(cells_of(PAPERS, tables), asked.rows, asked.columns)
    failed: tuple[str, ...] = ()
    if runs:
        failed = run_cells(cells, tables, store, asked, work, seconds, again, keep, quiet)
    if write_docs:
        show_written(documents_of(store), out())
    elif relations:
        show_statements(asked.tables, store, format)
    elif asked.tables:
        show_tables(tables, cells, store, asked.seeds, format)
    else:
        show_list(tables, cells, store, asked.seeds, format)
    if html is not None:
        show_written(pages_of(asked.tables, store, html), err() if format == Shape.json else out())
    if failed:
        raise ShoalError(f"{len(failed)} runs could not be played; the first is {failed[0]}")


def documents_of(store: Store) -> list[Path]:
    """The generated pages of docs/, written."""
    from shoal.cli.reproduce_tables import every_cell
    from shoal.recipes import PAPERS
    from shoal.recipes.judging.relations import known_cells
    from shoal.recipes.pages.documents import documents, write_documents
    from shoal.recipes.pages.extra_pages import read_extras

    return write_documents(documents(PAPERS, known_cells(every_cell(), store), read_extras(store.root)), Path("docs"))


def pages_of(names: Sequence[str], store: Store, folder: Path) -> list[Path]:
    """A page of HTML for each paper of which a table is asked for."""
    from shoal.cli.reproduce_tables import every_cell
    from shoal.recipes import PAPERS
    from shoal.recipes.judging.relations import known_cells
    from shoal.recipes.pages.html import write_pages

    wanted = {name.split("/")[0] for name in names} or set(PAPERS)
    papers = [paper for name, paper in PAPERS.items() if name in wanted]
    return write_pages(papers, known_cells(every_cell(), store), folder)


def show_written(paths: Sequence[Path], screen: Console) -> None:
    for path in paths:
        echo(screen, str(path))


def refuse_idle(given: Mapping[str, Any]) -> None:
    """A sentence if something is given that is about runs, and nothing would be run.

    >>> refuse_idle({"--budget": None, "seeds=": 2})
    Traceback (most recent call last):
    shoal.errors.BadInput: seeds= is about runs, and none is asked for; name a table, such as flexcfl/table3
    """
    word = next((word for word, value in given.items() if value), None)
    if word is not None:
        raise BadInput(f"{word} is about runs, and none is asked for; name a table, such as flexcfl/table3")


def run_cells(
    cells: Sequence[Cell],
    tables: Sequence[Table],
    store: Store,
    asked: Asked,
    work: Path,
    seconds: float | None,
    again: bool,
    keep: bool,
    quiet: bool,
) -> tuple[str, ...]:
    """Play what is not complete; the sentences of what failed."""
    from shoal.cli.progress import ProgressDisplay
    from shoal.cli.reproduce_tables import ahead
    from shoal.recipes.runs.play import jobs, play

    todo = jobs(cells, store, asked.seeds, again)
    if not todo:
        return ()
    screen = err()
    if not quiet:
        echo(screen, ahead(todo, tables, store, asked.seeds, asked.jobs))
    display = ProgressDisplay(screen, quiet)

    def watch(job: Job, number: int, total: int) -> Sequence[ProgressDisplay]:
        display.announce(job.name, number, total)
        return (display,)

    try:
        with open_team(asked, len(todo)) as backend:
            ended = play(todo, store, work, backend, seconds, watch, keep=keep, again=again)
    except KeyboardInterrupt as e:
        raise Interrupted(
            f"interrupted in {display.name}; complete runs are in {store.root}, the same command goes on"
        ) from e
    for sentence in ended.failed:
        echo(screen, f"failed: {sentence}", style="red")
    if ended.left and not quiet:
        echo(screen, f"{ended.left} of {len(todo)} runs are left; the same command goes on with them")
    sys.stderr.flush()
    return ended.failed


@contextmanager
def open_team(asked: Asked, runs: int) -> Iterator[Backend | Team]:
    """Where runs are played: on a back end, or by a team, of which nobody is without a run."""
    from shoal.recipes.runs.team import Team
    from shoal.setup.prepare import open_backend

    if asked.jobs > 1 and asked.engine == "ray":
        raise BadInput("jobs= plays runs side by side on this machine, and engine=ray is about others; leave one out")
    size = min(asked.jobs, runs)
    if size > 1:
        yield Team(size, asked.engine, asked.workers or 1)
    else:
        with open_backend(asked.engine, asked.workers) as backend:
            yield backend
