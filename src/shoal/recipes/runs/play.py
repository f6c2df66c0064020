"""Runs the cells of recipes, one by one or side by side, goes on where it stopped, and ends when the time is over."""

from __future__ import annotations

import platform
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import shoal
from shoal.backends import Backend
from shoal.bench.history import commit
from shoal.data.find import NOT_FETCHED, find
from shoal.data.spec import parse
from shoal.errors import BadInput, RunFolderError
from shoal.observers import Observer
from shoal.recipes.records import Cell
from shoal.recipes.runs.measure import measure
from shoal.recipes.runs.single import Ended, Job, play_one
from shoal.recipes.runs.team import Team
from shoal.recipes.store import Result, Store, defaults_of, differs, usable
from shoal.store.environment import environment
from shoal.store.folder import Folder
from shoal.version import __version__

__all__ = ["Outcome", "by_federation", "check_data", "check_writable", "jobs", "machine", "play"]

Watch = Callable[["Job", int, int], Sequence[Observer]]  # the job, its number, how many -> who watches its run


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
    found: list[Job] = []
    for cell in cells:
        if cell.why_not:
            continue
        result = store.load(cell)
        other = differs(cell, result) if result is not None else None
        if other is not None and not again:
            raise BadInput(f"{store.path(cell)} has {other}; --again makes it anew, or move the file away")
        done = () if result is None or other is not None else result.seeds_done
        wanted = range(cell.seeds if seeds is None else seeds)
        found += [Job(cell, seed) for seed in wanted if seed not in done]
    return by_federation(found)


def by_federation(some: Iterable[Job]) -> list[Job]:
    """Runs of one row and one federation together, seed by seed; rows stay in their order.

    Args:
        some: In the order in which their rows are wanted.

    Returns:
        All of them.
    """
    homes: dict[tuple[str, str, str], list[Job]] = {}
    for job in some:
        keys = job.cell.keys
        homes.setdefault((job.cell.row, str(keys.get("data")), str(keys.get("partition"))), []).append(job)
    return [job for home in homes.values() for job in sorted(home, key=lambda job: job.seed)]


def play(
    todo: Sequence[Job],
    store: Store,
    work: Path,
    backend: Backend | Team,
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
        backend: Where clients work; a team plays several runs side by side.
        seconds: After which to stop; the runs that are on are written down with their round, and can be resumed.
        watch: Makes the observers of each run; a team's runs are announced when they have ended.
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
    for place, option in ((store.root, "--results"), (work, "--work")) if todo else ():
        check_writable(place, option)
    taken, left = Taken(store, work, keep), len(todo)

    def seconds_left() -> float | None:
        return None if end is None else max(end - timer(), 0.0)

    def is_over() -> bool:
        return end is not None and timer() >= end

    if isinstance(backend, Team):

        def take(ended: Ended) -> None:
            said = taken.take(ended)
            for observer in watch(ended.job, taken.number, left) if watch else ():
                observer.note(said)

        backend.play(todo, work, take, seconds_left, again)
    else:
        for number, job in enumerate(todo, 1):
            if is_over():
                break
            watching = watch(job, number, left) if watch else ()
            try:
                taken.take(play_one(job, work, backend, watching, again, is_over))
            except KeyboardInterrupt:
                taken.take(Ended(job))
                raise
    return Outcome(taken.played, left - taken.played, tuple(taken.failed))


class Taken:
    """Writes down what runs gave, and counts."""

    def __init__(self, store: Store, work: Path, keep: bool) -> None:
        self._store, self._work, self._keep, self._made = store, work, keep, machine()
        self.number, self.played = 0, 0
        self.failed: list[str] = []

    def take(self, ended: Ended) -> str:
        """Put what a run gave into its cell, and say what it was; what cannot be written ends it all."""
        self.number += 1
        job, path = ended.job, ended.job.folder(self._work)
        if ended.failed:
            self.failed.append(ended.failed)
            return f"{job.name}  failed"
        if not (path / "records.jsonl").is_file() or not any(Folder(path).rows()):
            return f"{job.name}  not begun"
        entry = measure(Folder(path), job.cell)
        write(job, entry, self._store, self._made)
        if not entry["complete"]:
            return f"{job.name}  round {entry['rounds']}/{job.cell.rounds}"
        self.played += 1
        if not self._keep:
            shutil.rmtree(path)
        return f"{job.name}  complete, {entry['seconds']:.0f} s"


def write(job: Job, entry: Mapping[str, Any], store: Store, made: Mapping[str, Any]) -> None:
    """Put what a run gave into its cell; runs of other settings go."""
    before = usable(job.cell, store.load(job.cell)) or Result(job.cell.settings)
    runs = {**before.runs, job.seed: {"commit": made["commit"], **entry}}
    store.save(job.cell, replace(before, runs=runs, made=made, defaults=defaults_of(job.cell)))


def check_data(todo: Iterable[Job]) -> None:
    """The error of the first data set that is not on this machine, before any run.

    Args:
        todo: What is to be played.
    """
    from shoal.data.fetch import SOURCES

    for name in dict.fromkeys(parse(str(job.cell.keys["data"])).name for job in todo if "data" in job.cell.keys):
        if name in SOURCES or name in NOT_FETCHED:
            find(name)


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
    return {"commit": commit(Path(shoal.__file__)), **known, "machine": platform.machine()}
