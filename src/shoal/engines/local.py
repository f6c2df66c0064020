"""The fast engine of one machine: worker processes that live as long as the engine, one torch thread each."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import send_handle

import cloudpickle

from shoal.data.federation import Source
from shoal.engines.shared import Block, Publisher, dump_unit
from shoal.engines.unit import Clock, Outcome, Unit, failed
from shoal.engines.worker import READY, unpack
from shoal.errors import BadInput
from shoal.layout import Layout
from shoal.net import Arithmetic
from shoal.types import Array

BOOT = (
    "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN);"
    "import sys; sys.path[:] = {path!r}; from shoal.engines.worker import main; main({fd})"
)
GRACE = 1.0  # seconds past the limit before a worker that does not answer is replaced


class Member:
    """One worker process and what the parent knows about it."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        code = BOOT.format(path=sys.path, fd=theirs.fileno())
        one = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", code],
            pass_fds=[theirs.fileno()],
            env={**os.environ, **one},
            stdin=subprocess.DEVNULL,
            stdout=2,
        )
        theirs.close()
        self.connection = Connection(ours.detach())
        self.blocks: set[int] = set()
        self.arena = 0
        self.job: tuple[int, float] | None = None  # unit number and when it began
        self.alive, self.ready = True, False  # ready: it has started up and said so

    def tell(self, *message: object) -> None:
        """Send a message; a worker that is gone is noticed later, when it is needed."""
        if self.alive:
            try:
                self.connection.send(message)
            except OSError:
                self.kill()

    def hand_over(self, number: int, block: Block) -> None:
        """Give the worker access to a block."""
        self.tell("block", number, block.size)
        if self.alive:
            try:
                send_handle(self.connection, block.fd, self.process.pid)
            except OSError:
                self.kill()

    def kill(self) -> None:
        if not self.alive:
            return
        self.process.kill()
        self.process.wait()
        self.connection.close()
        self.alive, self.job = False, None


class Workers:
    """Runs units in worker processes, the longest first. Usable for one run after another; `close` ends it.

    Data, models and updates pass through shared memory. A worker that dies or exceeds the time limit is replaced
    and its client left out with the reason.
    """

    def __init__(self, workers: int | None = None, clock: Clock = time.monotonic) -> None:
        if os.name != "posix":
            raise BadInput("engine=local needs Linux or macOS; use engine=serial here")
        count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        if workers is not None and workers < 1:
            raise BadInput(f"workers must be at least 1, not {workers}")
        self._clock = clock
        self._publisher = Publisher()
        self._open: tuple[bytes, Arithmetic] | None = None
        self._federation: bytes | None = None
        self._library: bytes | None = None
        self._arena_size = 0
        self._tasks: list[object] = []  # of the present call
        self._tasks_sent = cloudpickle.dumps([])
        self._models: tuple[int | None, tuple[int, ...], str] = (None, (), "")
        self._models_block: tuple[int, int] | None = None  # number and size
        self._members = [Member() for _ in range(workers or count)]

    @property
    def workers(self) -> int:
        return len(self._members)

    def open(self, layout: Layout, how: Arithmetic) -> None:
        self._open = (self._publisher.dump("layout", layout), how)
        self._federation = self._library = None
        self._arena_size = max(1 << 20, 2 * layout.bytes)
        self._revive()
        for m in self._members:
            self._tell_open(m)

    def use(self, federation: Source) -> None:
        self._federation = self._publisher.dump("federation", federation)
        for m in self._members:
            self._sync(m)
            m.tell("use", self._federation)

    def know(self, library_VP: Array) -> None:
        self._library = self._publisher.dump("library", library_VP)
        for m in self._members:
            self._sync(m)
            m.tell("know", self._library)

    def run(self, units: Sequence[Unit], models_KP: Array | None) -> Iterator[tuple[int, Outcome]]:
        self._revive()
        self._share_models(models_KP)
        self._share_tasks(units)
        waiting = sorted(range(len(units)), key=lambda i: (units[i].cost, -i))  # the longest is popped first
        try:
            while waiting or any(m.job for m in self._members):
                for m in self._members:
                    if m.job is None and waiting:
                        number = waiting.pop()
                        self._hand(m, number, units[number])
                yield from self._collect(units)
        finally:
            for m in self._members:
                if m.job is not None:  # the caller went away in the middle of a call
                    m.kill()

    def close(self) -> None:
        for m in self._members:
            m.kill()
        self._members = []
        self._publisher.close()

    def _hand(self, m: Member, number: int, unit: Unit) -> None:
        m.tell("unit", number, dump_unit(unit, self._tasks))
        m.job = (number, self._clock())

    def _collect(self, units: Sequence[Unit]) -> Iterator[tuple[int, Outcome]]:
        """Wait until something happens: an answer, a death, or the end of somebody's time."""
        busy = [m for m in self._members if m.job and m.alive]
        watched = any(m.job and units[m.job[0]].limit is not None for m in busy)
        ready = wait([m.connection for m in busy], timeout=0.1 if watched else None) if busy else []
        for place, m in enumerate(self._members):
            if m.job is None:
                continue
            number, began = m.job
            if not m.alive:
                self._replace(place)
                yield number, failed(units[number], "failed: its worker process died")
                continue
            if m.connection in ready:
                try:
                    message = m.connection.recv()
                except (EOFError, OSError):
                    code = ending(m.process)
                    self._replace(place)
                    yield number, failed(units[number], f"failed: its worker process died (exit code {code})")
                    continue
                if message == READY:
                    m.ready, m.job = True, (number, self._clock())
                    continue
                m.job = None
                yield number, unpack(message[1], self._publisher.blocks[m.arena])
                continue
            limit = units[number].limit
            if m.ready and limit is not None and self._clock() - began > limit + GRACE:
                self._replace(place)
                yield number, failed(units[number], f"late: no answer after {limit:g} s")

    def _revive(self) -> None:
        for place, m in enumerate(self._members):
            if not m.alive or m.process.poll() is not None:
                self._replace(place)

    def _replace(self, place: int) -> None:
        """A fresh worker that knows all that the old one was told."""
        old = self._members[place]
        old.kill()
        if old.arena:
            self._publisher.drop(old.arena)
        m = self._members[place] = Member()
        self._tell_open(m)
        if self._federation is not None:
            m.tell("use", self._federation)
        if self._library is not None:
            m.tell("know", self._library)
        m.tell("models", *self._models)
        m.tell("tasks", self._tasks_sent)

    def _tell_open(self, m: Member) -> None:
        assert self._open is not None
        if not m.arena or self._publisher.blocks[m.arena].size < self._arena_size:
            old, m.arena = m.arena, self._publisher.add(self._arena_size)
            if old:
                self._publisher.drop(old)
        self._sync(m)
        m.tell("arena", m.arena)
        m.tell("open", *self._open)

    def _sync(self, m: Member) -> None:
        """Hand the worker the blocks it does not have, and take away the ones that are gone."""
        arenas = {other.arena for other in self._members} - {m.arena}
        wanted = set(self._publisher.blocks) - arenas
        for number in m.blocks - wanted:
            m.tell("drop", number)
        for number in wanted - m.blocks:
            block = self._publisher.blocks[number]
            m.hand_over(number, block)
        m.blocks = wanted

    def _share_models(self, models_KP: Array | None) -> None:
        if models_KP is None:
            self._models = (None, (), "")
        else:
            if self._models_block is None or self._models_block[1] < models_KP.nbytes:
                if self._models_block is not None:
                    self._publisher.drop(self._models_block[0])
                self._models_block = (self._publisher.add(models_KP.nbytes), models_KP.nbytes)
            number = self._models_block[0]
            self._publisher.blocks[number].array(models_KP.shape, models_KP.dtype)[...] = models_KP
            self._models = (number, models_KP.shape, models_KP.dtype.str)
        for m in self._members:
            self._sync(m)
            m.tell("models", *self._models)

    def _share_tasks(self, units: Sequence[Unit]) -> None:
        """Tell what is to be done, once for all units."""
        before = self._tasks
        self._tasks = list({id(task): task for unit in units for task in unit.tasks}.values())
        if list(map(id, before)) != list(map(id, self._tasks)):
            self._tasks_sent = cloudpickle.dumps(self._tasks, protocol=5)
            for m in self._members:
                m.tell("tasks", self._tasks_sent)


def ending(process: subprocess.Popen[bytes]) -> int | None:
    """The exit code of a process that has closed its end; None if it is still there after a moment."""
    try:
        return process.wait(timeout=2)
    except subprocess.TimeoutExpired:
        return None
