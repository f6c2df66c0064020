"""The peak memory of a run: proportional set size of this process and all its children, looked at now and then."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from shoal.loop.plan import Plan, RoundResult
from shoal.observers.observer import Observer

PAUSE = 2.0  # seconds between two looks, each of which walks through all memory of a process


class PeakMemory(Observer):
    """`peak` is in bytes; 0 where the system does not tell (it is read from /proc).

    >>> import shoal
    >>> memory = PeakMemory()
    >>> _ = shoal.run("fedavg", rounds=1, engine="serial", observers=[memory])
    >>> memory.peak >= 0
    True
    """

    def __init__(self) -> None:
        self.peak = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def start(self, plan: Plan, label: str, begin: int) -> None:
        self._thread.start()

    def after_round(self, result: RoundResult) -> None:
        if result.round <= 1:
            self._look()

    def stop(self) -> None:
        self._look()
        self._done.set()

    def _watch(self) -> None:
        while not self._done.wait(PAUSE):
            self._look()

    def _look(self) -> None:
        self.peak = max(self.peak, sum(map(pss, family(os.getpid()))))


def family(pid: int) -> list[int]:
    """A process and all its descendants."""
    found = [pid]
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += family(int(child))
    except OSError:
        pass
    return found


def pss(pid: int) -> int:
    """Bytes a process uses, pages shared with others counted in part."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0
