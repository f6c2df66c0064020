"""Writes records, events and checkpoints of a run into its folder."""

from __future__ import annotations

import time

from shoal.experiment import checkpoint
from shoal.experiment.callbacks.base import Observer
from shoal.experiment.folder import Folder
from shoal.experiment.loop import Moment, Plan

SHARE = 0.05  # of a run's time that checkpoints may take when their rhythm is automatic


class Files(Observer):
    """Records and events of every round; checkpoints every so many rounds, or as time allows."""

    def __init__(self, folder: Folder, every: int | str = "auto") -> None:
        self._folder, self._every = folder, every
        self._spent, self._began, self._last = 0.0, 0.0, 0

    def start(self, plan: Plan, label: str, begin: int) -> None:
        self._began, self._last = time.perf_counter(), plan.rounds

    def moment(self, moment: Moment) -> None:
        self._folder.append(moment.row, moment.events)
        if self._due(moment.round):
            clock = time.perf_counter()
            self._folder.settle()
            checkpoint.save(self._folder.checkpoints, moment)
            self._spent += time.perf_counter() - clock

    def _due(self, round: int) -> bool:
        if round in (0, self._last):
            return True
        if isinstance(self._every, int):
            return round % self._every == 0
        return self._spent <= SHARE * (time.perf_counter() - self._began)
