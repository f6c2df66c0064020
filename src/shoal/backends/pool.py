"""What the dispatcher asks of a pool of workers: processes of this machine, actors of a cluster."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

import cloudpickle

from shoal.backends.backend import Outcome
from shoal.data.federation import Source
from shoal.layout import Layout
from shoal.net import Arithmetic
from shoal.types import Array

TASK_LISTS = 8  # lists of tasks that workers remember


class Lost(Exception):  # an event between pool and dispatcher, never a user's
    """A worker is gone with what it had to do.

    Args:
        why: The end of a sentence, such as " (exit code 7)"; may be empty.
        at_work: Whether what it worked at may have been the cause; False where its machine was lost.

    >>> Lost(" (exit code 7)").at_work
    True
    """

    def __init__(self, why: str = "", at_work: bool = True) -> None:
        super().__init__(why)
        self.at_work = at_work


class Member(Protocol):
    """A worker as the dispatcher sees it.

    >>> from shoal.backends.worker_handle import WorkerHandle
    >>> worker: Member = WorkerHandle()
    >>> worker.alive, worker.ready, worker.portions
    (True, False, [])
    >>> worker.kill()
    """

    portions: list[list[int]]  # numbers of units: those it works at, and those it has got for afterwards
    began: float  # when it began with the first of them
    alive: bool
    ready: bool  # it has started up

    @property
    def usable(self) -> bool:
        """Whether it may be given work."""
        ...

    def kill(self) -> None:
        """End it at once."""
        ...


M = TypeVar("M", bound=Member)


class Pool(Protocol[M]):
    """Workers that all know the same. One that is replaced knows all that the others do.

    >>> from shoal.backends.process_pool import ProcessPool
    >>> pool: Pool[object] = ProcessPool(2)
    >>> pool.count, pool.message_seconds
    (2, 0.003)
    """

    workers: list[M]
    max_units: int  # of one message

    @property
    def message_seconds(self) -> float:
        """Work that is worth a message of its own."""
        ...

    @property
    def count(self) -> int:
        """How many work at a time."""
        ...

    @property
    def what(self) -> str:
        """What its workers are called in messages: "worker process"."""
        ...

    def open(self, layout: Layout, arithmetic: Arithmetic) -> None:
        """A new run begins: workers know no federation, vectors or models; the first time they are started."""
        ...

    def set_federation(self, federation: Source) -> None:
        """From now on clients hold this federation's data."""
        ...

    def set_vectors(self, vectors_VP: Array) -> None:
        """The vectors that clients keep."""
        ...

    def set_models(self, models_KP: Array | None) -> None:
        """The models of the next call."""
        ...

    def set_tasks(self, tasks: Sequence[object]) -> tuple[int, bool]:
        """What is to be done: the number of the list, and whether it is new."""
        ...

    def give(self, worker: M, number: int, units: bytes) -> None:
        """Send a worker units, whose tasks are the list of that number. One that is gone is noticed later."""
        ...

    def wait(self, busy: Sequence[M], timeout: float | None) -> Collection[M]:
        """Wait until one of the busy has something to say, somebody else can be given work, or the time is over.

        Args:
            busy: Those that have work.
            timeout: Seconds.

        Returns:
            Those with something to say.
        """
        ...

    def hear(self, worker: M) -> Iterable[Outcome] | None:
        """What a worker says: None, that it has started up; else what its first portion left. `Lost` if it is gone."""
        ...

    def revive(self) -> None:
        """Replace workers that died while they had nothing to do; take in those that became possible."""
        ...

    def replace(self, place: int) -> None:
        """A fresh worker in place of one."""
        ...

    def close(self) -> None:
        """End all workers, give everything back."""
        ...


class TaskLists:
    """Lists of tasks that workers know by number: the last few, so that what is asked again is not sent again.

    >>> lists = TaskLists()
    >>> [lists.find(["a"])[:2], lists.find(["b"])[:2], lists.find(["a"])[:2]]
    [(0, True), (1, True), (0, False)]
    """

    def __init__(self) -> None:
        self._lists: dict[int, bytes] = {}
        self._last = 0

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        return iter(self._lists.items())

    def find(self, tasks: Sequence[object]) -> tuple[int, bool, bytes]:
        """The number of a list, whether it is new, and its bytes; a new one takes the place after the last used."""
        lists, sent = self._lists, cloudpickle.dumps(tasks, protocol=5)
        known = [number for number, before in lists.items() if before == sent]
        if known:
            self._last = known[0]
        else:
            self._last = len(lists) if len(lists) < TASK_LISTS else (self._last + 1) % TASK_LISTS
            lists[self._last] = sent
        return self._last, not known, sent
