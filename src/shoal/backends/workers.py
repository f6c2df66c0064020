"""The fast back end of one machine: threads for whole cohorts, worker processes for clients one by one."""

from __future__ import annotations

import os
import time

from shoal.backends.dispatcher import Dispatcher
from shoal.backends.process_pool import ProcessPool
from shoal.backends.site import Clock
from shoal.backends.worker_handle import WorkerHandle
from shoal.errors import BadInput
from shoal.layout import Layout
from shoal.net import Arithmetic, Net


class Workers(Dispatcher[WorkerHandle]):
    """Runs units in worker processes, the longest first. Usable for one run after another; `close` ends it.

    Where the native kernel takes the model, a whole cohort is done here by as many threads; processes are then started
    only when something must be done client by client. Data, models and updates pass to them through shared memory.

    Args:
        workers: How many processes, or threads; as many as the machine has cores for us by default.
        clock: Tells seconds.

    >>> from shoal import run
    >>> workers = Workers(1)
    >>> [run(name, "digits", rounds=1, engine=workers).summary["rounds"] for name in ("fedavg", "fedprox")]
    [1, 1]
    >>> workers.close()
    """

    name = "local"

    _pool: ProcessPool

    def __init__(self, workers: int | None = None, clock: Clock = time.monotonic) -> None:
        if os.name != "posix":
            raise BadInput("engine=local needs Linux or macOS; use engine=serial here")
        if workers is not None and workers < 1:
            raise BadInput(f"workers must be at least 1, not {workers}")
        self._threads = workers or cores()
        super().__init__(ProcessPool(self._threads), clock)

    def open(self, layout: Layout, arithmetic: Arithmetic) -> None:
        """A new run begins; processes hear of it when they are needed."""
        self.forget(layout)
        self._vectors_VP = self._source = None
        self._net = Net(layout, arithmetic) if arithmetic.kernel == "native" else None
        self._tell = layout, arithmetic
        if self._net is None or self._net.native is None:
            self._start()


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
