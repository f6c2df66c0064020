"""Writes records, events and checkpoints of a run into its folder."""

from __future__ import annotations

import logging
import time
from concurrent.futures import Future, ThreadPoolExecutor, wait

from shoal.loop.plan import Plan, RoundResult
from shoal.observers.observer import Observer
from shoal.store import checkpoint
from shoal.store.codec import Copied
from shoal.store.folder import Folder

SHARE = 0.05  # of a run's time that checkpoints may take when their rhythm is automatic
log = logging.getLogger("shoal")


class Files(Observer):
    """Records and events of every round; checkpoints every so many rounds, or as time allows.

    Records are written at once. Most of a checkpoint is waiting for the disk: it is copied here and written by a thread
    while the next round is on, one at a time. What could not be written is an error of the next round, as it would
    have been of this one; the last checkpoint is waited for.

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
        self._writer = ThreadPoolExecutor(1, "shoal checkpoints")
        self._pending: Future[None] | None = None

    def start(self, plan: Plan, label: str, begin: int) -> None:
        self._began, self._last = time.perf_counter(), plan.rounds

    def after_round(self, result: RoundResult) -> None:
        self._folder.append(result.row, result.events)
        if self._pending is not None and self._pending.done():
            self._written()
        last = result.round == self._last or result.stopped is not None
        if last or self._due(result.round):
            self._written()
            clock = time.perf_counter()
            copy = checkpoint.copied(self._folder, result)
            self._spent += time.perf_counter() - clock
            self._pending = self._writer.submit(self._write, result.round, copy)
        if last:
            self._written()

    def stop(self) -> None:
        """Of an interrupted run, too, the checkpoint that is being written is completed."""
        try:
            self._written()
        except Exception as e:  # the run ends with another error, which is the one to tell
            log.warning("the last checkpoint could not be written: %s", e)
        finally:
            self._writer.shutdown()

    def _write(self, round: int, copy: Copied) -> None:
        clock = time.perf_counter()
        checkpoint.save(self._folder, round, copy)
        self._spent += time.perf_counter() - clock

    def _written(self) -> None:
        """Wait for the checkpoint that is being written, if one is; an error of it is raised here, once."""
        pending = self._pending
        if pending is not None:
            wait([pending])  # an interruption while waiting leaves it pending
            self._pending = None
            pending.result()

    def _due(self, round: int) -> bool:
        if round == 0:
            return True
        if isinstance(self._every, int):
            return round % self._every == 0
        return self._pending is None and self._spent <= SHARE * (time.perf_counter() - self._began)
