"""The plain back end: one unit after the other in this process, easy to step through with a debugger."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import torch

from shoal.backends.backend import Outcome, Unit
from shoal.backends.memory import SimulatedClients
from shoal.backends.site import Clock, Site
from shoal.backends.unit import safely
from shoal.data.federation import Source
from shoal.layout import Layout
from shoal.net import Arithmetic, Net
from shoal.types import Array


@contextmanager
def one_thread() -> Iterator[None]:
    """Arithmetic as in a worker: one thread, denormals flushed; afterwards as it was."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)
        torch.set_num_threads(before)


class Serial(SimulatedClients):
    """Runs units in order, here.

    Args:
        clock: Tells seconds.

    >>> from shoal import run
    >>> run("fedavg", "digits", rounds=1, engine=Serial()).summary["rounds"]
    1
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._site: Site | None = None
        self._net: Net | None = None

    def open(self, layout: Layout, arithmetic: Arithmetic) -> None:
        """A new run begins."""
        self.forget(layout)
        self._net = Net(layout, arithmetic)
        self._site = None

    def set_federation(self, federation: Source) -> None:
        """From now on clients hold this federation's data."""
        assert self._net is not None
        if self._site is None:
            self._site = Site(self._net, federation, self._clock)
        else:
            self._site = replace(self._site, federation=federation)

    def run(self, units: Sequence[Unit], models_KP: Array | None) -> Iterator[tuple[int, Outcome]]:
        """Run units, one after the other."""
        assert self._site is not None
        self._begin(models_KP)
        self._site.vectors_VP = self.snapshot()[1]
        for number, unit in enumerate(units):
            with one_thread():
                outcome = safely(unit, self._site, models_KP, self._memories(unit.who))
            yield self._offer(number, outcome)

    def close(self) -> None:
        """Let go of net and data."""
        self._site = self._net = None
