"""Worker processes that all know the same: a layout, a federation, vectors, models and tasks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from multiprocessing.connection import wait

from shoal.backends.backend import Outcome
from shoal.backends.pool import Lost, TaskLists
from shoal.backends.process_worker import READY, unpack
from shoal.backends.shared_memory import Publisher
from shoal.backends.worker_handle import WorkerHandle, exit_code
from shoal.data.federation import Source
from shoal.layout import Layout
from shoal.net import Arithmetic
from shoal.types import Array

ANSWER_BYTES = 1 << 20  # room for the answers of one message, at least


class ProcessPool:
    """So many processes, started by the first `open`. One that is replaced is told all that the others know.

    Args:
        count: How many.
    """

    message_seconds = 0.003  # work that is worth a message of its own
    what = "worker process"

    def __init__(self, count: int) -> None:
        self.count = count
        self.workers: list[WorkerHandle] = []
        self._publisher = Publisher()
        self._said: dict[str, tuple[object, ...]] = {}  # what workers were told last, by topic
        self._task_lists = TaskLists()
        self._models_block: tuple[int, int] | None = None  # number and size

    def open(self, layout: Layout, arithmetic: Arithmetic) -> None:
        """A new run begins: workers know no federation, vectors or models."""
        self._said = {"open": ("open", self._publisher.dump("layout", layout), arithmetic)}
        self._said |= {f"tasks {i}": ("tasks", i, tasks) for i, tasks in self._task_lists}
        half = max(ANSWER_BYTES, layout.bytes)  # an answer may lie in one half while the next is written into the other
        self._arena_size = 2 * half
        self.max_units = max(1, half // layout.bytes - 1)  # of one message: their answers must fit into the arena
        if not self.workers:
            self.workers = [WorkerHandle() for _ in range(self.count)]
        for worker in self.workers:
            self._equip(worker)
            worker.send(*self._said["open"])

    def set_federation(self, federation: Source) -> None:
        """From now on clients hold this federation's data."""
        self._say("federation", "set_federation", self._publisher.dump("federation", federation))

    def set_vectors(self, vectors_VP: Array) -> None:
        """The vectors that clients keep."""
        self._say("vectors", "set_vectors", self._publisher.dump("vectors", vectors_VP))

    def set_models(self, models_KP: Array | None) -> None:
        """The models of the next call."""
        if models_KP is None:
            self._say("models", "models", None, (), "")
            return
        if self._models_block is None or self._models_block[1] < models_KP.nbytes:
            if self._models_block is not None:
                self._publisher.drop(self._models_block[0])
            self._models_block = (self._publisher.add(models_KP.nbytes), models_KP.nbytes)
        number = self._models_block[0]
        self._publisher.blocks[number].array(models_KP.shape, models_KP.dtype)[...] = models_KP
        self._say("models", "models", number, models_KP.shape, models_KP.dtype.str)

    def set_tasks(self, tasks: Sequence[object]) -> tuple[int, bool]:
        """What is to be done, told once; what workers know already is not told again.

        Args:
            tasks: The tasks of the next call.

        Returns:
            The number of the list, and whether it is new.
        """
        number, new, sent = self._task_lists.find(tasks)
        if new:
            self._say(f"tasks {number}", "tasks", number, sent)
        return number, new

    def give(self, worker: WorkerHandle, number: int, units: bytes) -> None:
        """Send a worker units, whose tasks are the list of that number."""
        worker.send("units", number, units)

    def wait(self, busy: Sequence[WorkerHandle], timeout: float | None) -> list[WorkerHandle]:
        """Wait until one of the busy has something to say, or the time is over; those that have."""
        ready = wait([w.connection for w in busy], timeout=timeout) if busy else []
        return [w for w in busy if w.connection in ready]

    def hear(self, worker: WorkerHandle) -> Iterable[Outcome] | None:
        """What a worker's message says, with what lies in its arena; None: that it begins."""
        try:
            message = worker.connection.recv_bytes()
        except (EOFError, OSError):
            raise Lost(f" (exit code {exit_code(worker.process)})") from None
        return None if message == READY else unpack(message, self._publisher.blocks[worker.arena])

    def revive(self) -> None:
        """Replace workers that died while they had nothing to do."""
        for place, worker in enumerate(self.workers):
            if not worker.portions and (not worker.alive or worker.process.poll() is not None):
                self.replace(place)

    def replace(self, place: int) -> None:
        """A fresh worker that knows all that the old one was told."""
        old = self.workers[place]
        old.kill()
        if old.arena:
            self._publisher.drop(old.arena)
        worker = self.workers[place] = WorkerHandle()
        self._equip(worker)
        for said in self._said.values():
            worker.send(*said)

    def close(self) -> None:
        """End all processes, give all memory back."""
        for worker in self.workers:
            worker.kill()
        self.workers = []
        self._publisher.close()

    def _say(self, topic: str, *message: object) -> None:
        """Tell every worker, in place of what was said on the topic before."""
        if self._said.get(topic) != message:
            self._said[topic] = message
            for worker in self.workers:
                self._share_blocks(worker)
                worker.send(*message)

    def _equip(self, worker: WorkerHandle) -> None:
        """Give a worker room for its answers, and access to what it must see."""
        if not worker.arena or self._publisher.blocks[worker.arena].size < self._arena_size:
            old, worker.arena = worker.arena, self._publisher.add(self._arena_size)
            if old:
                self._publisher.drop(old)
        self._share_blocks(worker)
        worker.send("arena", worker.arena)

    def _share_blocks(self, worker: WorkerHandle) -> None:
        """Hand a worker the blocks it does not have, and take away the ones that are gone."""
        arenas = {other.arena for other in self.workers} - {worker.arena}
        wanted = set(self._publisher.blocks) - arenas
        for number in worker.blocks - wanted:
            worker.send("drop", number)
        for number in wanted - worker.blocks:
            worker.share(number, self._publisher.blocks[number])
        worker.blocks = wanted
