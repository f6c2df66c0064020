"""The fast engine of one machine: worker processes that live as long as the engine, one torch thread each."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from multiprocessing.connection import wait

import cloudpickle

from shoal.data.federation import Source
from shoal.engines.member import Member, ending
from shoal.engines.shared import Publisher, dump_units
from shoal.engines.unit import Clock, Outcome, Unit, failed
from shoal.engines.worker import READY, unpack
from shoal.errors import BadInput
from shoal.layout import Layout
from shoal.net import Arithmetic
from shoal.types import Array

BRIEF = 0.003  # seconds of work that are worth a message of their own
SLOTS = 8  # lists of tasks that workers remember
GRACE = 1.0  # seconds past the limit before a worker that does not answer is replaced


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
        self._most = 1  # units handed out together: their answers must fit into the arena
        self._alone: set[int] = set()  # units that go alone: a worker was lost with them in this call
        self._tasks: list[object] = []  # of the present call
        self._slots: dict[int, bytes] = {}  # lists of tasks that the workers know
        self._slot = 0  # that of the present call
        self._pace: dict[int, float] = {}  # seconds per unit of cost that such tasks took lately
        self._models: tuple[int | None, tuple[int, ...], str] = (None, (), "")
        self._models_block: tuple[int, int] | None = None  # number and size
        self._members = [Member() for _ in range(workers or count)]

    @property
    def workers(self) -> int:
        return len(self._members)

    def open(self, layout: Layout, how: Arithmetic) -> None:
        self._open = (self._publisher.dump("layout", layout), how)
        self._federation = self._library = None
        half = max(1 << 20, layout.bytes)  # an answer may lie in one half while the next is written into the other
        self._arena_size, self._most = 2 * half, max(1, half // layout.bytes - 1)
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
        self._alone = set()
        self._share_models(models_KP)
        self._share_tasks(units)
        waiting = sorted(range(len(units)), key=lambda i: (units[i].cost, -i))  # the longest is popped first
        piece = self._piece(sum(unit.cost for unit in units))
        try:
            while waiting or any(m.jobs for m in self._members):
                for number in (1, 2):
                    for m in self._members:
                        if waiting and len(m.jobs) < number and self._short(m, units, piece):
                            self._hand(m, self._portion(waiting, units, piece), units)
                yield from self._collect(units, waiting)
        finally:
            for m in self._members:
                if m.jobs:  # the caller went away in the middle of a call
                    m.kill()

    def close(self) -> None:
        for m in self._members:
            m.kill()
        self._members = []
        self._publisher.close()

    def _piece(self, total: float) -> float:
        """How much work goes into one message: a few milliseconds, by the pace of these tasks so far, but not more than
        half of a worker's share. Who does what, and when, has no bearing on any result.
        """
        pace = self._pace.get(self._slot)
        return 0.0 if pace is None else min(BRIEF / max(pace, 1e-12), total / (2 * len(self._members)))

    def _short(self, m: Member, units: Sequence[Unit], piece: float) -> bool:
        """Whether a worker will soon ask for more, and gets it ahead so that it need not wait; not if it is watched."""
        now = [units[i] for job in m.jobs for i in job]
        few = not now or sum(unit.cost for unit in now) <= piece
        return few and all(unit.limit is None for unit in now)

    def _portion(self, waiting: list[int], units: Sequence[Unit], piece: float) -> list[int]:
        """The next units for a worker: one that is long, or must be watched, alone; short ones together."""
        numbers = [waiting.pop()]
        cost = units[numbers[0]].cost
        while waiting and len(numbers) < self._most and units[numbers[0]].limit is None:
            following = units[waiting[-1]]
            if {numbers[0], waiting[-1]} & self._alone or cost + following.cost > piece:
                break
            numbers.append(waiting.pop())
            cost += following.cost
        return numbers

    def _hand(self, m: Member, numbers: list[int], units: Sequence[Unit]) -> None:
        m.tell("units", self._slot, dump_units([units[i] for i in numbers], self._tasks))
        if not m.jobs:
            m.began = self._clock()
        m.jobs.append(numbers)

    def _collect(self, units: Sequence[Unit], waiting: list[int]) -> Iterator[tuple[int, Outcome]]:
        """Wait until something happens: an answer, a death, or the end of somebody's time."""
        busy = [m for m in self._members if m.jobs and m.alive]
        watched = any(units[m.jobs[0][0]].limit is not None for m in busy)
        ready = wait([m.connection for m in busy], timeout=0.1 if watched else None) if busy else []
        for place, m in enumerate(self._members):
            if not m.jobs:
                continue
            if not m.alive:
                yield from self._lost(place, units, waiting, "failed: its worker process died")
            elif m.connection in ready:
                try:
                    message = m.connection.recv_bytes()
                except (EOFError, OSError):
                    why = f"failed: its worker process died (exit code {ending(m.process)})"
                    yield from self._lost(place, units, waiting, why)
                    continue
                began, m.began = m.began, self._clock()
                if message == READY:
                    m.ready = True
                else:
                    cost = sum(units[i].cost for i in m.jobs[0])
                    self._pace[self._slot] = (m.began - began) / max(cost, 1)
                    yield from zip(m.jobs.pop(0), unpack(message, self._publisher.blocks[m.arena]), strict=True)
            else:
                limit = units[m.jobs[0][0]].limit
                if m.ready and limit is not None and self._clock() - m.began > limit + GRACE:
                    yield from self._lost(place, units, waiting, f"late: no answer after {limit:g} s")

    def _lost(self, place: int, units: Sequence[Unit], waiting: list[int], why: str) -> Iterator[tuple[int, Outcome]]:
        """A worker was lost: a unit that was alone has failed, several are tried once more, each alone."""
        numbers, *others = self._members[place].jobs
        self._replace(place)
        for job in others:
            waiting += reversed(job)
        if len(numbers) == 1:
            yield numbers[0], failed(units[numbers[0]], why)
        else:
            self._alone |= set(numbers)
            waiting += reversed(numbers)

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
        for slot, tasks in self._slots.items():
            m.tell("tasks", slot, tasks)

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
        before, self._models = self._models, (None, (), "")
        if models_KP is not None:
            if self._models_block is None or self._models_block[1] < models_KP.nbytes:
                if self._models_block is not None:
                    self._publisher.drop(self._models_block[0])
                self._models_block = (self._publisher.add(models_KP.nbytes), models_KP.nbytes)
            number = self._models_block[0]
            self._publisher.blocks[number].array(models_KP.shape, models_KP.dtype)[...] = models_KP
            self._models = (number, models_KP.shape, models_KP.dtype.str)
        for m in self._members:
            self._sync(m)
            if self._models != before:
                m.tell("models", *self._models)

    def _share_tasks(self, units: Sequence[Unit]) -> None:
        """Tell what is to be done, once for all units; what workers know already is not told again."""
        self._tasks = list({id(task): task for unit in units for task in unit.tasks}.values())
        sent = cloudpickle.dumps(self._tasks, protocol=5)
        known = [slot for slot, tasks in self._slots.items() if tasks == sent]
        if known:
            self._slot = known[0]
            return
        self._slot = len(self._slots) if len(self._slots) < SLOTS else (self._slot + 1) % SLOTS
        self._slots[self._slot] = sent
        self._pace.pop(self._slot, None)
        for m in self._members:
            m.tell("tasks", self._slot, sent)
