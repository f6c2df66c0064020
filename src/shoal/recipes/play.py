"""Runs the cells of recipes one after the other, goes on where it stopped, and ends when the time is over."""

from __future__ import annotations

import platform
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from shoal.backends import Backend
from shoal.bench.history import commit
from shoal.errors import BadInput, RunFolderError, ShoalError
from shoal.experiment.api import resume, start
from shoal.experiment.sweep import Point, check_taken
from shoal.loop.plan import Plan, RoundResult
from shoal.observers import Observer
from shoal.recipes.measure import measure
from shoal.recipes.records import Cell
from shoal.recipes.store import Result, Store, defaults_of, differs
from shoal.store.environment import environment
from shoal.store.folder import Folder
from shoal.version import __version__

__all__ = ["Job", "Outcome", "jobs", "play"]

Watch = Callable[["Job", int, int], Sequence[Observer]]  # the job, its number, how many -> who watches its run


class TimeOver(Exception):
    """The budget is spent; the run that was on can be resumed."""


@dataclass(frozen=True)
class Job:
    """One run: a cell with a seed.

    >>> Job(Cell("p/t", "a", "x", "fedavg", {"rounds": 1}), 2).name
    'p/t/a/x seed 2'
    """

    cell: Cell
    seed: int

    @property
    def name(self) -> str:
        return f"{self.cell.name} seed {self.seed}"


@dataclass(frozen=True)
class Outcome:
    """How it ended.

    Attributes:
        played: Runs that were completed now.
        left: Runs that are not complete.
        failed: Sentences of runs that could not be played.

    >>> Outcome(1, 2).left
    2
    """

    played: int
    left: int
    failed: tuple[str, ...] = ()


class Deadline(Observer):
    """Ends a run after the round in which the time is over, unless it is the last one."""

    def __init__(self, at: float, timer: Callable[[], float]) -> None:
        self._at, self._timer, self._last = at, timer, 0

    def start(self, plan: Plan, label: str, begin: int) -> None:
        self._last = plan.rounds

    def after_round(self, result: RoundResult) -> None:
        if self._timer() >= self._at and result.round < self._last:
            raise TimeOver


def jobs(cells: Iterable[Cell], store: Store, seeds: int | None = None, again: bool = False) -> list[Job]:
    """What is to be run: seed by seed within a federation, so that it is built once and methods can be compared early.

    Args:
        cells: In the order in which their rows are wanted.
        store: What is there already.
        seeds: How many; None: as many as the recipe says.
        again: Whether to run anew what was made with other settings, which is refused otherwise.

    Returns:
        The runs that are not complete.

    >>> import tempfile
    >>> cells = [Cell("p/t", "a", column, "fedavg", {"rounds": 1}) for column in "xy"]
    >>> [job.name for job in jobs(cells, Store(tempfile.mkdtemp()), 2)]
    ['p/t/a/x seed 0', 'p/t/a/y seed 0', 'p/t/a/x seed 1', 'p/t/a/y seed 1']
    """
    found: dict[tuple[str, str, str], list[Job]] = {}
    for cell in cells:
        if cell.why_not:
            continue
        result = store.load(cell)
        other = differs(cell, result) if result is not None else None
        if other is not None and not again:
            raise BadInput(f"{store.path(cell)} has {other}; --again makes it anew, or move the file away")
        done = () if result is None or other is not None else result.seeds_done
        home = (cell.row, str(cell.keys.get("data")), str(cell.keys.get("partition")))
        wanted = range(cell.seeds if seeds is None else seeds)
        found.setdefault(home, []).extend(Job(cell, seed) for seed in wanted if seed not in done)
    return [job for home in found.values() for job in sorted(home, key=lambda job: job.seed)]


def play(
    todo: Sequence[Job],
    store: Store,
    work: Path,
    backend: Backend,
    seconds: float | None = None,
    watch: Watch | None = None,
    timer: Callable[[], float] = time.monotonic,
    keep: bool = False,
    again: bool = False,
) -> Outcome:
    """Play runs until all are complete or the time is over; a cell's file is written after each of its runs.

    Args:
        todo: What `jobs` gave.
        store: Where cells are written.
        work: Where runs lie while they are not complete.
        backend: Where clients work.
        seconds: After which to stop; the run that is on is written down with its round, and can be resumed.
        watch: Makes the observers of each run.
        timer: Of seconds.
        keep: Whether folders of complete runs stay.
        again: Whether to begin a run anew whose folder was made with other settings, which is refused otherwise.

    Returns:
        How it ended.

    >>> import tempfile
    >>> from shoal.backends import Serial
    >>> store, cell = Store(tempfile.mkdtemp()), Cell("p/t", "a", "x", "fedavg", {"rounds": 1, "data": "digits"})
    >>> play(jobs([cell], store, 1), store, Path(tempfile.mkdtemp()), Serial())
    Outcome(played=1, left=0, failed=())
    """
    end = None if seconds is None else timer() + seconds
    played, failed, made = 0, [], machine()
    for place, option in ((store.root, "--results"), (work, "--work")) if todo else ():
        check_writable(place, option)
    for number, job in enumerate(todo, 1):
        if end is not None and timer() >= end:
            break
        path = work / job.cell.name / f"seed={job.seed}"
        watching = [*(watch(job, number, len(todo)) if watch else ()), *([Deadline(end, timer)] if end else ())]
        try:
            play_run(job, path, backend, watching, again)
            entry = measure(Folder(path), job.cell)
        except TimeOver:
            write(job, measure(Folder(path), job.cell), store, made)
            break
        except KeyboardInterrupt:
            if (path / "records.jsonl").is_file() and any(Folder(path).rows()):
                write(job, measure(Folder(path), job.cell), store, made)
            raise
        except ShoalError as e:
            failed.append(f"{job.name}: {e}")
            continue
        write(job, entry, store, made)  # what cannot be written ends it all
        played += 1
        if not keep:
            shutil.rmtree(path)
    return Outcome(played, len(todo) - played, tuple(failed))


def play_run(job: Job, path: Path, backend: Backend, observers: Sequence[Observer], again: bool) -> None:
    """Begin the run, or go on with it."""
    point = Point(path.name, job.cell.algorithm, {**job.cell.keys, "seed": job.seed})
    try:
        check_taken(point, path)
    except RunFolderError:
        if not again:
            raise
        shutil.rmtree(path)
    if Folder(path).summary() is not None:
        return
    if (path / "config.toml").exists():
        resume(path, engine=backend, observers=observers, progress=False)
    else:
        start(point.resolved, backend, path, observers)


def write(job: Job, entry: Mapping[str, Any], store: Store, made: Mapping[str, Any]) -> None:
    """Put what a run gave into its cell; runs of other settings go."""
    before = store.load(job.cell)
    if before is None or differs(job.cell, before) is not None:
        before = Result(job.cell.settings)
    runs = {**before.runs, job.seed: {"commit": made["commit"], **entry}}
    store.save(job.cell, replace(before, runs=runs, made=made, defaults=defaults_of(job.cell)))


def check_writable(place: Path, option: str) -> None:
    """A sentence before the first run if a folder cannot be written to."""
    try:
        place.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=place):
            pass
    except OSError as e:
        raise RunFolderError(f"cannot write to {place}: {e.strerror or e}; choose another {option} DIR") from e


def machine() -> dict[str, Any]:
    """Of which code, and on what."""
    known = {k: v for k, v in environment(__version__).items() if k not in ("command", "started", "platform")}
    return {"commit": commit(Path(__file__)), **known, "machine": platform.machine()}
