"""The back end of many machines: clients one by one, on a Ray cluster or a Ray that is started here."""

from __future__ import annotations

import time

from shoal.backends.dispatcher import Dispatcher
from shoal.backends.ray_pool import RayPool, RayWorker
from shoal.backends.ray_session import import_ray
from shoal.backends.site import Clock
from shoal.errors import BadInput


class RayWorkers(Dispatcher[RayWorker]):
    """Runs units on actors of Ray, the longest first. Usable for one run after another; `close` ends it.

    Args:
        workers: How many actors; one per core of the cluster by default.
        address: `local` starts Ray here, `auto` joins the cluster of this machine if there is one, else starts Ray
            here; everything else is the address of a cluster.
        clock: Tells seconds.

    >>> from shoal import run
    >>> run("fedavg", "digits", rounds=1, engine=RayWorkers(2)).summary["rounds"]  # doctest: +SKIP
    1
    """

    name = "ray"

    def __init__(self, workers: int | None = None, address: str = "auto", clock: Clock = time.monotonic) -> None:
        import_ray()
        if workers is not None and workers < 1:
            raise BadInput(f"workers must be at least 1, not {workers}")
        super().__init__(RayPool(address, workers, clock), clock)
