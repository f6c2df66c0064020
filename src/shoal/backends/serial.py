"""The plain back end: one unit after the other in this process, easy to step through with a debugger."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from shoal.backends.backend import Outcome, Unit
from shoal.backends.simulated_clients import SimulatedClients
from shoal.backends.site import Clock, Site, one_thread
from shoal.backends.unit import safely
from shoal.data.federation import Source
from shoal.layout import Layout
from shoal.net import Arithmetic, Net
from shoal.types import Array


class Serial(SimulatedClients):
    """Runs units in order, here.

    Args:
        clock: Tells seconds.

    >>> from shoal import run
    >>> run("fedavg", "digits", rounds=1, engine=Serial()).summary["rounds"]
    1
    """

    name = "serial"

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._site: Site | None = None

    def open(self, layout: Layout, arithmetic: Arithmetic) -> None:
        """A new run begins."""
        self.forget(layout)
        self._net, self._site, self._source = Net(layout, arithmetic), None, None

    def set_federation(self, federation: Source) -> None:
        """From now on clients hold this federation's data."""
        assert self._net is not None
        self._source = federation
        if self._site is None:
            self._site = Site(self._net, federation, self._clock)
        else:
            self._site = replace(self._site, federation=federation)

    def run(self, units: Sequence[Unit], models_KP: Array | None) -> Iterator[tuple[int, Outcome]]:
        """Run units, one after the other."""
        assert self._site is not None
        self._begin(models_KP)
        whole = self.chains_at_once(units, models_KP)
        if whole is not None:
            yield from enumerate(whole)
            return
        self._site.vectors_VP = self.snapshot()[1]
        for number, unit in enumerate(units):
            with one_thread():
                outcome = safely(unit, self._site, models_KP, self._memories(unit.who))
            yield self._offer(number, outcome)

    def close(self) -> None:
        """Let go of net and data."""
        self._site = self._net = self._source = self._laid_out = None
