"""Room for local training that is taken once and kept: a run needs no more memory when it meets its largest client."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from shoal.kernels.calls import Call, address
from shoal.types import Array

if TYPE_CHECKING:
    from shoal.kernels.sgd import Native

MOST, TOGETHER = (
    64 << 20,
    512 << 20,
)  # bytes, of a thread and of all; what needs more takes it for the call, and gives it back
LINE = 64  # of the cache


class Rooms:
    """A room for every thread of a call, the same ones in the next call."""

    def __init__(self) -> None:
        self.held: Array = np.zeros(0, np.uint8)
        self._lock = Lock()

    @contextmanager
    def lent(self, kernel: Native, call: Call, most: int, largest: int, largest_dual: int) -> Iterator[None]:
        """A call has them meanwhile; a second one at the same time takes its own.

        Args:
            kernel: What trains.
            call: All that clients have in common.
            most: Samples of the largest batch.
            largest: Samples of the largest client that may come.
            largest_dual: The same of those whose first layer is trained in the dual form.
        """
        if not self._lock.acquire(blocking=False):
            yield
            return
        try:
            ask = ((largest, 0), (largest_dual, 1))
            room = max(kernel.room_of(ctypes.byref(call), n, dual, most) for n, dual in ask)
            if room <= MOST and call.threads * room <= TOGETHER:
                if len(self.held) < call.threads * room + LINE:
                    self.held = np.ones(call.threads * room + LINE, np.uint8)  # which the system gives at once
                begin = address(self.held)
                call.rooms, call.room = begin + -begin % LINE, room
            yield
        finally:
            self._lock.release()
