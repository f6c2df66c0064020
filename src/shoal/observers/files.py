"""Writes records, events and checkpoints of a run into its folder."""

from __future__ import annotations

import time

from shoal.loop.plan import Plan, RoundResult
from shoal.observers.observer import Observer
from shoal.store import checkpoint
from shoal.store.folder import Folder

SHARE = 0.05  # of a run's time that checkpoints may take when their rhythm is automatic


class Files(Observer):
    """Records and events of every round; checkpoints every so many rounds, or as time allows.

    Args:
        folder: Where to.
        every: Rounds between two checkpoints; `auto`: at most a twentieth of the time goes into them.

    >>> import tempfile, shoal
    >>> from pathlib import Path
    >>> run = shoal.run("fedavg", rounds=1, engine="serial", out=Path(tempfile.mkdtemp()) / "run")  # a Files is at work
    >>> len((run.folder / "records.jsonl").read_text().splitlines())
    2
    """

    def __init__(self, folder: Folder, every: int | str = "auto") -> None:
        self._folder, self._every = folder, every
        self._spent, self._began, self._last = 0.0, 0.0, 0

    def start(self, plan: Plan, label: str, begin: int) -> None:
        self._began, self._last = time.perf_counter(), plan.rounds

    def after_round(self, result: RoundResult) -> None:
        self._folder.append(result.row, result.events)
        if self._due(result.round):
            clock = time.perf_counter()
            self._folder.sync()
            checkpoint.save(self._folder, result)
            self._spent += time.perf_counter() - clock

    def _due(self, round: int) -> bool:
        if round in (0, self._last):
            return True
        if isinstance(self._every, int):
            return round % self._every == 0
        return self._spent <= SHARE * (time.perf_counter() - self._began)
