"""A Ray cluster of several nodes on this machine, and workers of it that meet with accidents."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from shoal.backends import RayWorkers
from shoal.backends.ray_pool import RayWorker


@contextmanager
def cluster(*cores: int, **first: Any) -> Iterator[Any]:
    """Nodes with so many cores each; the first is the head. Whoever joined it has left before it ends."""
    pytest.importorskip("ray", reason="needs the package ray: pip install 'shoal[ray]'")
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": cores[0], "include_dashboard": False, **first})
    try:
        for count in cores[1:]:
            made.add_node(num_cpus=count)
        yield made
    finally:
        made.shutdown()  # type: ignore[no-untyped-call,unused-ignore]


class Struck(RayWorkers):
    """Workers to which something happens when a portion has been handed out: `strike(self, worker, count)`."""

    def __init__(self, address: str, strike: Callable[[Struck, RayWorker, int], None], **options: Any) -> None:
        super().__init__(address=address, **options)
        self.strike, self.handed = strike, 0

    @property
    def members(self) -> list[RayWorker]:
        """All workers, also those that have not said hello."""
        return self._pool.workers

    def alone(self, worker: RayWorker) -> bool:
        """Whether it works at a unit that has lost a worker before: it must not lose another."""
        return any(self._deaths.get(i) for portion in worker.portions for i in portion)

    def _give(self, worker: RayWorker, numbers: list[int]) -> None:
        super()._give(worker, numbers)
        self.handed += 1
        self.strike(self, worker, self.handed)


def shoot(worker: RayWorker) -> None:
    """SIGKILL for the process of an actor, as the system's killer of processes would."""
    import ray

    pid = ray.get(worker.actor.__ray_call__.remote(lambda self: os.getpid()))
    os.kill(pid, signal.SIGKILL)
