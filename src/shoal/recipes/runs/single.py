"""One run of a cell: begun, or gone on with, until it is complete or somebody says that it is over."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from shoal.algorithms import ALGORITHMS
from shoal.backends import Backend
from shoal.errors import RunFolderError, ShoalError
from shoal.experiment.sweep import Point, check_taken, play
from shoal.loop.plan import Plan, RoundResult
from shoal.observers import Observer
from shoal.recipes.records import Cell
from shoal.registry import mark
from shoal.store.folder import Folder

__all__ = ["Ended", "Job", "play_one"]


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

    def folder(self, work: Path) -> Path:
        """Where it lies while it is not complete."""
        return work / self.cell.name / f"seed={self.seed}"


class Ended(NamedTuple):
    """How a run ended: complete or over, which its folder tells, or not at all, for a reason.

    >>> Ended(Job(Cell("p/t", "a", "x", "fedavg", {}), 0)).failed
    ''
    """

    job: Job
    failed: str = ""


class Over(Exception):
    """The run that was on can be resumed."""


class Until(Observer):
    """Ends a run after the round in which it is over, unless it is the last one."""

    def __init__(self, is_over: Callable[[], bool]) -> None:
        self._is_over, self._last = is_over, 0

    def start(self, plan: Plan, label: str, begin: int) -> None:
        self._last = plan.rounds

    def after_round(self, result: RoundResult) -> None:
        if self._is_over() and result.round < self._last:
            raise Over


def play_one(
    job: Job,
    work: Path,
    backend: Backend,
    observers: Sequence[Observer] = (),
    again: bool = False,
    is_over: Callable[[], bool] = lambda: False,
) -> Ended:
    """Begin a run, or go on with it.

    Args:
        job: Which.
        work: Where runs lie while they are not complete.
        backend: Where clients work.
        observers: Who watches.
        again: Whether to begin it anew if its folder was made with other settings, which is refused otherwise.
        is_over: Asked after every round.

    Returns:
        How it ended; a mistake of the settings is told, not raised.

    >>> import tempfile
    >>> from shoal.backends import Serial
    >>> cell = Cell("p/t", "a", "x", "fedavg", {"rounds": 1, "data": "digits", "lr": "fast"})
    >>> play_one(Job(cell, 0), Path(tempfile.mkdtemp()), Serial()).failed[:17]
    'p/t/a/x seed 0: l'
    """
    path = job.folder(work)
    watching = [*observers, Until(is_over)]
    point = Point(path.name, job.cell.algorithm, {**job.cell.keys, "seed": job.seed})
    try:
        ALGORITHMS.named(job.cell.source)  # a process of a team has not imported it yet
        begin_anew_if_other(point, path, again, job.cell.code)
        play(point, path, backend, watching)
    except Over:
        pass
    except ShoalError as e:
        return Ended(job, f"{job.name}: {e}")
    return Ended(job)


def begin_anew_if_other(point: Point, path: Path, again: bool, code: str) -> None:
    """A folder of other settings, of more rounds, or of other code of the user's own, is refused, or goes."""
    try:
        check_taken(point, path)
        check_rounds(point, path)
        check_code(code, path)
    except RunFolderError:
        if not again:
            raise
        shutil.rmtree(path)


def check_rounds(point: Point, path: Path) -> None:
    """A run of fewer rounds can go on; one of more has gone too far."""
    asked, folder = point.resolved.settings.rounds, Folder(path)
    if (path / "config.toml").exists() and folder.config()["rounds"] > asked:
        raise RunFolderError(
            f"{path} holds a run with rounds={folder.config()['rounds']}, and the recipe asks for rounds={asked}; "
            "move that folder away"
        )


def check_code(code: str, path: Path) -> None:
    """A run of a method of the user's own goes on only with the code that it began with."""
    if (path / "config.toml").exists() and mark(Folder(path).config().get("origins", ())) != code:
        raise RunFolderError(
            f"{path} holds a run that began with other code of its method; --again begins it anew, or put the code back"
        )
