"""The plain engine: one unit after the other in this process, easy to step through with a debugger."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import torch

from shoal.data.federation import Source
from shoal.engines.unit import Clock, Outcome, Site, Unit, safely
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


class Serial:
    """Runs units in order, here. The clock can be injected."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._site: Site | None = None
        self._net: Net | None = None

    def open(self, layout: Layout, how: Arithmetic) -> None:
        self._net = Net(layout, how)
        self._site = None

    def use(self, federation: Source) -> None:
        assert self._net is not None
        if self._site is None:
            self._site = Site(self._net, federation, self._clock)
        else:
            self._site = replace(self._site, federation=federation)

    def know(self, library_VP: Array) -> None:
        assert self._site is not None
        self._site.library_VP = library_VP

    def run(self, units: Sequence[Unit], models_KP: Array | None) -> Iterator[tuple[int, Outcome]]:
        assert self._site is not None
        for number, unit in enumerate(units):
            with one_thread():
                outcome = safely(unit, self._site, models_KP)
            yield number, outcome

    def close(self) -> None:
        self._site = self._net = None
