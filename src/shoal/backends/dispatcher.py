"""Hands units to the workers of a pool: who does what, what is done again, and who is left out."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Generic

from shoal.backends.backend import Outcome, Unit, failed
from shoal.backends.dumping import dump_units
from shoal.backends.pool import Lost, M, Pool
from shoal.backends.simulated_clients import SimulatedClients
from shoal.backends.site import Clock
from shoal.data.federation import Source
from shoal.errors import ShoalError
from shoal.layout import Layout
from shoal.net import Arithmetic
from shoal.types import Array, Task

MAX_STILLBORN = 10  # workers in a row that may die before they begin to work
GRACE_SECONDS = 1.0  # past the limit, before a worker that does not answer is replaced


class Dispatcher(SimulatedClients, Generic[M]):
    """Runs units on the workers of a pool, the longest first, short ones together.

    A worker that dies is replaced and its work done again; only a client with which two workers died, and one that
    exceeds the time limit, is left out with the reason. Who does what, and when, has no bearing on any result.

    Args:
        pool: The workers.
        clock: Tells seconds.

    >>> from shoal import run
    >>> from shoal.backends.process_pool import ProcessPool
    >>> dispatcher = Dispatcher(ProcessPool(1))
    >>> run("fedavg", "digits", rounds=1, engine=dispatcher).summary["rounds"]
    1
    >>> dispatcher.close()
    """

    def __init__(self, pool: Pool[M], clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._pool = pool
        self._tell: tuple[Layout, Arithmetic] | None = None  # of a run that the pool has not been told of yet
        self._vectors_VP: Array | None = None  # those that workers know
        self._seconds_per_cost: dict[int, float] = {}  # by list of tasks: what such units took lately
        self._seconds_per_pass: float | None = None  # of a sample through a model, in whatever task of this run
        self._units: Sequence[Unit]  # of the present call, as the next five
        self._cost: int  # of all of them
        self._passes: list[int]  # of samples through models, by unit
        self._tasks: list[object]
        self._task_list: int
        self._deaths: dict[int, int]  # units that go alone, a worker having died: how many died with them alone
        self._stillborn = 0  # workers that died before they began to work, since the last that began

    @property
    def workers(self) -> int:
        """How many work at a time."""
        return self._pool.count

    def open(self, layout: Layout, arithmetic: Arithmetic) -> None:
        """A new run begins."""
        self.forget(layout)
        self._vectors_VP = self._source = None
        self._tell = layout, arithmetic
        self._start()

    def set_federation(self, federation: Source) -> None:
        """From now on clients hold this federation's data."""
        self._source = federation
        if self._tell is None:
            self._pool.set_federation(federation)

    def run(self, units: Sequence[Unit], models_KP: Array | None) -> Iterator[tuple[int, Outcome]]:
        """Run units; they come back in the order in which they end. Chains may be done here, in one call."""
        self._begin(models_KP)
        whole = self.chains_at_once(units, models_KP)
        if whole is not None:
            yield from enumerate(whole)
            return
        self._prepare(units, models_KP)
        waiting = sorted(range(len(units)), key=lambda i: (units[i].cost, -i))  # the longest is popped first
        workers = self._pool.workers
        try:
            while waiting or any(w.portions for w in workers):
                self._pool.revive()
                most = self._cost_of_a_message()
                for portions in (1, 2):  # the second is given ahead
                    for worker in workers:
                        may = worker.usable and len(worker.portions) < portions and self._soon_idle(worker, most)
                        if waiting and may:
                            self._give(worker, self._next_portion(waiting, most))
                for number, outcome in self._receive(waiting):
                    yield self._offer(number, outcome)
        finally:
            for worker in workers:
                if worker.portions:  # the caller went away in the middle of a call
                    worker.kill()
                    worker.portions = []

    def close(self) -> None:
        """End all workers."""
        self._pool.close()
        self._net = self._source = self._laid_out = None

    def _start(self) -> None:
        """Tell workers of the run, if they have not been told; the first time this starts them."""
        if self._tell is not None:
            self._pool.open(*self._tell)
            self._tell = self._seconds_per_pass = None
            if self._source is not None:
                self._pool.set_federation(self._source)

    def _prepare(self, units: Sequence[Unit], models_KP: Array | None) -> None:
        """Tell workers what all units of a call have in common."""
        self._start()
        self._pool.revive()
        vectors_VP = self.snapshot()[1]
        if self._vectors_VP is not vectors_VP:
            self._vectors_VP = vectors_VP
            self._pool.set_vectors(vectors_VP)
        self._pool.set_models(models_KP)
        self._units, self._deaths = units, {}
        self._cost = sum(unit.cost for unit in units)
        self._passes = passes(units, 0 if models_KP is None else len(models_KP))
        self._tasks = list({id(task): task for unit in units for task in unit.tasks}.values())
        self._task_list, new = self._pool.set_tasks(self._tasks)
        if new:
            self._seconds_per_cost.pop(self._task_list, None)

    def _cost_of_a_message(self) -> float:
        """How much work goes into one message: what is worth one, by what such units took so far, but not more than
        half of a worker's share. Of units that nobody has met yet, by what other tasks took for a sample; in a run in
        which nobody has worked yet, an eighth of a share.
        """
        pace, share = self._seconds_per_cost.get(self._task_list), self._cost / self.workers
        if pace is None and self._seconds_per_pass is not None:
            pace = self._seconds_per_pass * max(sum(self._passes) / max(self._cost, 1), 1.0)
        return share / 8 if pace is None else min(self._pool.message_seconds / max(pace, 1e-12), share / 2)

    def _soon_idle(self, worker: M, most: float) -> bool:
        """Whether a worker may have more: it has little left to do, and no unit whose time is watched."""
        now = [self._units[i] for portion in worker.portions for i in portion]
        few = not now or sum(unit.cost for unit in now) <= most
        return few and all(unit.limit is None for unit in now)

    def _next_portion(self, waiting: list[int], most: float) -> list[int]:
        """The next units for a worker: one that is long, or must be watched, alone; short ones together."""
        units, numbers = self._units, [waiting.pop()]
        cost = units[numbers[0]].cost
        while waiting and len(numbers) < self._pool.max_units and units[numbers[0]].limit is None:
            following = waiting[-1]
            if {numbers[0], following} & self._deaths.keys() or cost + units[following].cost > most:
                break
            numbers.append(waiting.pop())
            cost += units[following].cost
        return numbers

    def _give(self, worker: M, numbers: list[int]) -> None:
        """Send a worker units, with what their clients keep."""
        work = [(self._units[i], self._memories(self._units[i].who)) for i in numbers]
        self._pool.give(worker, self._task_list, dump_units(work, self._tasks))
        if not worker.portions:
            worker.began = self._clock()
        worker.portions.append(numbers)

    def _receive(self, waiting: list[int]) -> Iterator[tuple[int, Outcome]]:
        """Wait until something happens: an answer, a death, or the end of somebody's time."""
        busy = [w for w in self._pool.workers if w.portions and w.alive]
        watched = any(self._units[w.portions[0][0]].limit is not None for w in busy)
        heard = self._pool.wait(busy, 0.1 if watched else None)
        for place, worker in enumerate(self._pool.workers):
            if worker in heard:
                try:
                    said = self._pool.hear(worker)
                except Lost as e:
                    yield from self._died(place, waiting, e)
                    continue
                yield from self._answered(worker, said)
            elif worker.portions and not worker.alive:
                yield from self._died(place, waiting, Lost())
            elif worker.portions:
                limit = self._units[worker.portions[0][0]].limit
                if worker.ready and limit is not None and self._clock() - worker.began > limit + GRACE_SECONDS:
                    yield from self._late(place, limit)

    def _answered(self, worker: M, said: Iterable[Outcome] | None) -> Iterator[tuple[int, Outcome]]:
        """A worker said that it begins, or what its first portion left."""
        began, worker.began = worker.began, self._clock()
        if said is None:
            worker.ready, self._stillborn = True, 0
            return
        numbers = worker.portions.pop(0)
        cost, count = sum(self._units[i].cost for i in numbers), sum(self._passes[i] for i in numbers)
        self._seconds_per_cost[self._task_list] = (worker.began - began) / max(cost, 1)
        if count:
            self._seconds_per_pass = (worker.began - began) / count
        yield from zip(numbers, said, strict=True)

    def _died(self, place: int, waiting: list[int], why: Lost) -> Iterator[tuple[int, Outcome]]:
        """A worker died. Its units are done again, each alone; one with which two workers died at work has failed."""
        worker, what = self._pool.workers[place], self._pool.what
        began, (numbers, *ahead) = worker.ready, worker.portions or [[]]
        self._stillborn += not began
        if self._stillborn > MAX_STILLBORN:
            raise ShoalError(f"{what}es die while they start{why}; use engine=serial to go on without them")
        self._pool.replace(place)
        for portion in ahead:
            waiting += reversed(portion)
        for i in reversed(numbers):
            self._deaths[i] = self._deaths.get(i, 0) + (began and why.at_work and len(numbers) == 1)
            if self._deaths[i] == 2:
                yield i, failed(self._units[i], f"failed: its {what} died twice{why}")
            else:
                waiting.append(i)

    def _late(self, place: int, limit: float) -> Iterator[tuple[int, Outcome]]:
        """A worker does not answer in time: who is watched goes alone, and has failed."""
        ((number,),) = self._pool.workers[place].portions
        self._pool.replace(place)
        yield number, failed(self._units[number], f"late: no answer after {limit:g} s")


def passes(units: Sequence[Unit], models: int) -> list[int]:
    """How often each unit sends a sample through a model, as its tasks declare; back is twice the work of forward.

    >>> from shoal.backends.unit import OneClient
    >>> from shoal.seeds import Key
    >>> from shoal.solvers import SGD
    >>> from shoal.tasks import Evaluate, Train
    >>> train, test = (OneClient(task, "ann", 0, Key(0), cost=20) for task in (Train(SGD(epochs=5)), Evaluate()))
    >>> passes([train, test], 1)  # 5 x 20 forward and back; of a test nothing is declared
    [300, 0]
    """
    known: dict[tuple[int, int], int] = {}  # by task and cost
    for task, cost in ((task, unit.cost) for unit in units for task in unit.tasks):
        if (id(task), cost) not in known:
            forward, backward = task.work(cost, models) if isinstance(task, Task) else (cost, 0)
            known[id(task), cost] = forward + 2 * backward
    return [sum(known[id(task), unit.cost] for task in unit.tasks) for unit in units]
