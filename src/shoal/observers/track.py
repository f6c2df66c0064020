"""Trackers: observers that tell TensorBoard, MLflow or Weights & Biases of a run; what they share."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from shoal.errors import BadInput, ShoalError, unknown
from shoal.loop.history import History
from shoal.loop.plan import Plan, RoundResult
from shoal.loop.row import Row
from shoal.observers.observer import Observer
from shoal.store.folder import Folder

if TYPE_CHECKING:
    from shoal.experiment.result import Run

TRACKERS = {
    "tensorboard": "TensorBoard",
    "mlflow": "MLflow",
    "wandb": "WandB",
}  # a module here and a package: its class
ARTIFACTS = ("config.toml", "environment.json", "summary.json", "groups.csv", "models")

log = logging.getLogger("shoal")


class Service(Protocol):
    """What a tracker does with what it is told."""

    def open(self, folder: Folder, parameters: Mapping[str, Any]) -> int:
        """Open the tracked run of a folder, or begin one; the last round it knows, -1 if none."""

    def log_round(self, round: int, numbers: Mapping[str, float]) -> None:
        """One round."""

    def log_artifact(self, path: Path) -> None:
        """A file or folder of the complete run."""

    def close(self, complete: bool) -> None:
        """Close the tracked run; it may be opened again."""


def check_trackers(track: str | None) -> tuple[str, ...]:
    """The names in `track=a,b`; a sentence for one that does not exist or whose package is missing.

    Args:
        track: Names separated by commas, or None.

    Returns:
        The names, each once.

    >>> check_trackers("tensorbord")
    Traceback (most recent call last):
    shoal.errors.BadInput: unknown tracker 'tensorbord'; did you mean 'tensorboard'? Known: mlflow, tensorboard, wandb.
    """
    names = tuple(dict.fromkeys(word.strip() for word in track.split(","))) if track else ()
    for name in names:
        if name not in TRACKERS:
            raise unknown("tracker", name, TRACKERS)
        if find_spec(name) is None:
            raise BadInput(f"track={name} needs the package {name}; install it with: pip install 'shoal[track]'")
    return names


def make_trackers(track: str | None, folder: Folder) -> list[Tracker]:
    """The trackers of a run.

    Args:
        track: Names separated by commas, or None.
        folder: Of the run; what they need to go on with it later is kept there.

    Returns:
        One observer per name.

    >>> from shoal.store.folder import Folder
    >>> make_trackers(None, Folder("runs/first"))
    []
    """
    return [Tracker(name, service(name), folder) for name in check_trackers(track)]


def service(name: str) -> Service:
    """The service behind a name."""
    made: Service = getattr(import_module(f"shoal.observers.{name}"), TRACKERS[name])()
    return made


def scalars(row: Row) -> dict[str, float]:
    """The numbers of a record by name: what a group has ends in its number, what travelled is summed over tasks.

    >>> scalars({"round": 3, "accuracy": 0.5, "partial": False, "group_size": [2, 4], "group_accuracy": [0.25, None]})
    {'accuracy': 0.5, 'partial': 0.0, 'group_size/0': 2.0, 'group_size/1': 4.0, 'group_accuracy/0': 0.25}
    >>> scalars({"time": {"round": 1.5}, "measures": {"f": 2}, "traffic": {"train": {"bytes_down": 8, "bytes_up": 4}}})
    {'time/round': 1.5, 'measures/f': 2.0, 'bytes': 12.0}
    """
    found: dict[str, float] = {}
    for name, value in row.items():
        if isinstance(value, int | float):
            found[name] = float(value)
        elif name.startswith("group_") and isinstance(value, list):
            found |= {f"{name}/{k}": float(v) for k, v in enumerate(value) if isinstance(v, int | float)}
        elif name in ("time", "measures"):
            found |= {f"{name}/{k}": float(v) for k, v in value.items() if isinstance(v, int | float)}
        elif name == "traffic":
            found["bytes"] = float(History([row]).bytes())
    found.pop("round", None)
    return found


class Tracker(Observer):
    """Tells a service of every round once, also over interruptions; the artefacts follow when the run is complete.

    Rounds play to the same bits after `resume`, so what was told before is not told again, and what was written to
    the folder but not told any more is told first. A service that fails on the way is given up with a warning.
    """

    def __init__(self, name: str, service: Service, folder: Folder) -> None:
        self._name, self._service, self._folder = name, service, folder
        self._last, self._rounds, self._open = -1, 0, False

    def start(self, plan: Plan, label: str, begin: int) -> None:
        from shoal.store.folder import flatten

        self._rounds = plan.rounds
        try:
            self._last = self._service.open(self._folder, flatten(self._folder.config()))
            self._open = True
            for row in self._folder.rows():
                self._tell(row)
        except Exception as e:
            raise ShoalError(f"track={self._name} failed: {one_line(e)}") from e

    def after_round(self, result: RoundResult) -> None:
        self._safely(lambda: self._tell(result.row))
        if result.stopped is not None:
            self._rounds = result.round

    def stop(self) -> None:
        if self._last < self._rounds:
            self._safely(lambda: self._service.close(complete=False))
            self._open = False

    def done(self, run: Run) -> None:
        self._safely(self._finish)
        self._open = False

    def _tell(self, row: Row) -> None:
        if row["round"] > self._last:
            self._service.log_round(row["round"], scalars(row))
            self._last = row["round"]

    def _finish(self) -> None:
        for name in ARTIFACTS:
            self._service.log_artifact(self._folder.path / name)
        self._service.close(complete=True)

    def _safely(self, act: Callable[[], None]) -> None:
        """Do what may fail without harm to the run."""
        if not self._open:
            return
        try:
            act()
        except Exception as e:
            self._open = False
            log.warning(f"{self._name} no longer tracks the run: {one_line(e)}")


def one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
