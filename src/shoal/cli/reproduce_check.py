"""`shoal reproduce --check`: plays runs of `results/` again and says whether they are the same."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import typer

from shoal.cli.console import echo, emit, out
from shoal.cli.reproduce_tables import aligned, long_time
from shoal.cli.tables import as_csv
from shoal.errors import BadInput
from shoal.recipes.grids import grid
from shoal.recipes.runs.again import Twice, made_elsewhere, played_twice, stored_jobs
from shoal.recipes.runs.play import check_data, check_writable, machine
from shoal.recipes.store import Store, differs

if TYPE_CHECKING:
    from shoal.cli.reproduce import Shape
    from shoal.cli.reproduce_words import Asked
    from shoal.recipes.records import Cell, Quantity

HEADS = ("cell", "seed", "quantity", "stored", "now", "")
LONG = ("table", "row", "column", "seed", "quantity", "stored", "now", "same")


def check_cells(
    cells: Sequence[Cell], store: Store, asked: Asked, work: Path, seconds: float | None, quiet: bool, shape: Shape
) -> None:
    """Play stored runs again, in a folder of their own, and print both; the exit code is 1 if one differs."""
    from shoal.cli.reproduce import run_jobs, unplayed

    todo = stored_jobs(cells, store, asked.seeds)
    other = next((words for cell in cells if (words := refused(cell, store)) is not None), None)
    if not todo and other is not None:
        raise BadInput(f"{other}, and cannot be compared; --again makes it anew")
    if not todo:
        raise BadInput(
            f"--check plays again what is stored, and {store.root} has no complete run of this; leave it out"
        )
    took = sum(float(store_run(store, job.cell, job.seed).get("seconds") or 0.0) for job in todo)
    said = f"runs to play again: {len(todo)}; time: {long_time(took / 60 / min(asked.jobs, len(todo)), True)}"
    check_data(todo)
    check_writable(work, "--work")
    with TemporaryDirectory(prefix="check-", dir=work) as folder:
        fresh = Store(Path(folder) / "results")
        kept = "results are as they were, and --check begins anew"
        failed = run_jobs(todo, said, fresh, asked, Path(folder) / "runs", seconds, quiet, kept=kept)
        found = played_twice(todo, store, fresh)
    show_checked(found, len(todo), store, shape)
    if failed:
        raise unplayed(failed)
    if not all(twice.same for twice in found):
        raise typer.Exit(1)


def refused(cell: Cell, store: Store) -> str | None:
    """What a file has that its recipe has not; None: nothing, or there is no file."""
    result = store.load(cell)
    words = differs(cell, result) if result is not None else None
    return words and f"{store.path(cell)} has {words}"


def store_run(store: Store, cell: Cell, seed: int) -> dict[str, Any]:
    result = store.load(cell)
    return dict(result.runs[seed]) if result is not None else {}


def show_checked(found: Sequence[Twice], asked: int, store: Store, shape: Shape) -> None:
    """Both figures of every run, and in a sentence how many are the same."""
    if shape == "json":
        emit({"kind": "check", "asked": asked, "runs": [document(twice) for twice in found]})
        return
    rows = [(twice, quantity, *twice.figures(quantity)) for twice in found for quantity in quantities_of(twice)]
    if shape == "csv":
        lines = [
            [t.job.cell.table, t.job.cell.row, t.job.cell.column, t.job.seed, q.name, stored, now, t.same]
            for t, q, stored, now in rows
        ]
        print(as_csv(LONG, lines), end="")
        return
    texts = [
        [t.job.cell.name, str(t.job.seed), q.head, shown(stored, q), shown(now, q), "same" if t.same else "differs"]
        for t, q, stored, now in rows
    ]
    drawn = grid(HEADS, texts) if shape == "markdown" else aligned(HEADS, texts)
    echo(out(), "\n\n".join([*([drawn] if texts else []), sentence(found, asked, store)]))


def document(twice: Twice) -> dict[str, Any]:
    """A run as data."""
    stored, now = twice.stored["figures"], twice.now["figures"]
    return {"cell": twice.job.cell.name, "seed": twice.job.seed, "same": twice.same, "stored": stored, "now": now}


def quantities_of(twice: Twice) -> list[Quantity]:
    """What the table of a run shows of it, where there is something."""
    from shoal.recipes import PAPERS

    mine = (table for paper in PAPERS.values() for table in paper.tables if table.name == twice.job.cell.table)
    return [quantity for table in mine for quantity in table.quantities if twice.figures(quantity) != (None, None)]


def shown(value: float | None, quantity: Quantity) -> str:
    """As the table of the paper shows it, with a digit more.

    >>> from shoal.recipes.records import Quantity
    >>> shown(89.125, Quantity("best_accuracy", "best", 100)), shown(None, Quantity("rounds_to_80", "rounds"))
    ('89.12', 'never')
    """
    return "never" if value is None else f"{value:.{quantity.digits + 1}f}"


def sentence(found: Sequence[Twice], asked: int, store: Store) -> str:
    """How many runs are the same, by how much others differ, and what may be behind that."""
    other = [twice for twice in found if not twice.same]
    words = [f"{len(found) - len(other)} of {len(found)} runs are the same to the last digit that is kept."]
    if other:
        apart = [
            (abs(now - stored), quantity)
            for twice in other
            for quantity in quantities_of(twice)
            for stored, now in [twice.figures(quantity)]
            if stored is not None and now is not None
        ]
        if apart:
            most, quantity = max(apart, key=lambda pair: pair[0])
            words.append(f"The others are up to {most:.{quantity.digits + 1}f} apart ({quantity.head}).")
        there = made_elsewhere([twice.job for twice in other], store, machine())
        words.append(
            f"Not as where they were made: {there}."
            if there
            else "They were made with the same code and libraries: something is wrong."
        )
    if len(found) < asked:
        words.append(f"{asked - len(found)} of {asked} runs were not played to their end.")
    return " ".join(words)
