"""Actors of a Ray cluster as a pool of workers."""

from __future__ import annotations

import logging
import pickle
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from shoal.backends.backend import Outcome
from shoal.backends.dumping import Dumper
from shoal.backends.likeness import facts, unlike
from shoal.backends.pool import Lost, TaskLists
from shoal.backends.ray_actor import Actor, News
from shoal.backends.ray_session import brief, import_ray, join
from shoal.backends.site import Clock
from shoal.data.federation import Source
from shoal.errors import ShoalError
from shoal.layout import Layout
from shoal.net import Arithmetic
from shoal.types import Array

MESSAGE_BYTES = 64 << 20  # answers of one message, at most
INLINE_BYTES = 100_000  # what is larger goes into the object store, once per machine, instead of every message
LOOK_SECONDS = 1.0  # between two looks at the size of the cluster
START_SECONDS = 300.0  # in which at least one worker must have said hello; a machine may have to be started first
log = logging.getLogger("shoal")


class ObjectStore(Dumper):
    """Large arrays lie in Ray's object store."""

    def __init__(self) -> None:
        super().__init__()
        self.refs: dict[int, Any] = {}
        self._next = 0

    def put(self, array: Array) -> int:
        """Into the store; machines fetch it once."""
        self._next += 1
        self.refs[self._next] = import_ray().put(array)
        return self._next

    def drop(self, number: int) -> None:
        """Ray frees what nobody refers to."""
        del self.refs[number]


class RayWorker:
    """An actor as the dispatcher sees it."""

    def __init__(self, actor: Any) -> None:
        self.actor = actor
        self.hello: Any = None  # where its answer will lie when it has taken in what is new
        self.answers: list[Any] = []  # where those to its portions will lie
        self.told: dict[str, int] = {}  # by topic the number of what it heard last
        self.node = self.address = ""  # of its machine
        self.portions: list[list[int]] = []
        self.began = 0.0
        self.alive, self.ready, self.refused = True, False, False
        self.proved = False  # alive in the present call: one that died before it was not killed by its first units

    @property
    def usable(self) -> bool:
        """Only one that said hello: an actor may wait for ever for a core."""
        return self.alive and self.ready and self.hello is None

    def kill(self) -> None:
        """End the actor."""
        if self.alive:
            self.alive, self.hello, self.answers = False, None, []
            import_ray().kill(self.actor)


class RayPool:
    """Actors, one per core of the cluster, or so many as are asked for. One that dies is replaced, on whatever machine
    has room; machines that join are used.

    Args:
        address: `local` starts Ray here, `auto` joins the cluster of this machine if there is one, else starts Ray
            here; everything else is the address of a cluster.
        count: How many actors; as many as the cluster has cores by default.
        clock: Tells seconds.
    """

    message_seconds = 0.2
    what = "Ray worker process"

    def __init__(self, address: str = "auto", count: int | None = None, clock: Clock = time.monotonic) -> None:
        self.workers: list[RayWorker] = []
        self.max_units = 1
        self._address, self._wanted, self._clock = address, count, clock
        self._store = ObjectStore()
        self._task_lists = TaskLists()
        self._said: dict[str, tuple[int, News]] = {}  # by topic what workers are told, numbered
        self._numbers = 0
        self._gone: set[str] = set()  # machines of which it was said that they are lost
        self._looked = self._usable_at = 0.0
        self._leave: Callable[[], None] | None = None  # ends what this pool has begun with Ray

    @property
    def count(self) -> int:
        """How many said hello, at least one."""
        return max(1, sum(worker.usable for worker in self.workers))

    def open(self, layout: Layout, arithmetic: Arithmetic) -> None:
        """A new run begins."""
        if self._leave is None:
            self._leave = join(self._address, self._wanted)
        self._said = {}
        self.max_units = max(1, MESSAGE_BYTES // layout.bytes)
        self._say("layout", "open", layout, arithmetic)
        for number, sent in self._task_lists:
            self._say(f"tasks {number}", "set_tasks", number, sent)
        self._usable_at = self._clock()
        self._greet(self.workers)
        self._grow()

    def set_federation(self, federation: Source) -> None:
        """From now on clients hold this federation's data; who has it says hello again."""
        self._say("federation", "set_federation", federation)
        self._greet(self.workers)

    def set_vectors(self, vectors_VP: Array) -> None:
        """The vectors that clients keep."""
        self._say("vectors", "set_vectors", vectors_VP)

    def set_models(self, models_KP: Array | None) -> None:
        """The models of the next call."""
        self._store.dump("models", None)  # the same array may hold other numbers by now
        for worker in self.workers:
            worker.proved = False
        self._say("models", "set_models", models_KP)

    def set_tasks(self, tasks: Sequence[object]) -> tuple[int, bool]:
        """What is to be done: the number of the list, and whether it is new."""
        number, new, sent = self._task_lists.find(tasks)
        if new:
            self._say(f"tasks {number}", "set_tasks", number, sent)
        return number, new

    def give(self, worker: RayWorker, number: int, units: bytes) -> None:
        """Send a worker units, with what it does not know yet."""
        worker.answers.append(worker.actor.run.remote(self._news(worker), number, units))

    def wait(self, busy: Sequence[RayWorker], timeout: float | None) -> list[RayWorker]:
        """Those that have answered, or said hello."""
        ray, now = import_ray(), self._clock()
        who = {worker.answers[0]: worker for worker in busy}
        who |= {worker.hello: worker for worker in self.workers if worker.hello is not None}
        if busy or any(worker.usable for worker in self.workers):
            self._usable_at = now
        elif not who or now - self._usable_at > START_SECONDS:
            raise ShoalError(self._nobody())
        if not who:
            return []
        most = LOOK_SECONDS if timeout is None else min(timeout, LOOK_SECONDS)
        ray.wait(list(who), num_returns=1, timeout=most)
        ready, _ = ray.wait(list(who), num_returns=len(who), timeout=0)
        return [who[ref] for ref in ready]

    def hear(self, worker: RayWorker) -> Iterable[Outcome] | None:
        """What its first portion left; None: it said hello."""
        if worker.hello is None:
            return list(pickle.loads(self._get(worker, worker.answers.pop(0))))
        ref, worker.hello = worker.hello, None
        said, worker.node, worker.address = self._get(worker, ref)
        why = unlike(facts(), said, f"the machine {worker.address}")
        if why is not None:
            worker.kill()
            worker.refused = True
            log.warning(why)
        return None

    def revive(self) -> None:
        """Replace workers that were given up; start more where the cluster has grown."""
        for place, worker in enumerate(self.workers):
            if not worker.portions and not worker.alive and not worker.refused:
                self.replace(place)
        if self._clock() - self._looked > LOOK_SECONDS:
            self._grow()

    def replace(self, place: int) -> None:
        """A fresh worker in place of one."""
        self.workers[place].kill()
        self.workers[place] = self._new()
        self._greet([self.workers[place]])

    def close(self) -> None:
        """End all actors, and Ray, if it was started here."""
        if self._leave is not None:
            for worker in self.workers:
                worker.kill()
            self.workers.clear()
            self._said, self._store = {}, ObjectStore()
            leave, self._leave = self._leave, None
            leave()

    def _say(self, topic: str, verb: str, *arguments: object) -> None:
        """Workers are told with their next work, in place of what was said on the topic before."""
        data: Any = self._store.dump(topic, arguments)
        refs = {number: self._store.refs[number] for number in self._store.numbers(topic)}
        if len(data) > INLINE_BYTES:
            data = import_ray().put(data)
        self._numbers += 1
        self._said[topic] = (self._numbers, (topic, verb, data, refs))

    def _news(self, worker: RayWorker) -> list[News]:
        """What a worker has not heard."""
        new = {topic: said for topic, said in self._said.items() if worker.told.get(topic) != said[0]}
        worker.told |= {topic: number for topic, (number, _) in new.items()}
        return [news for _, news in new.values()]

    def _greet(self, workers: Iterable[RayWorker]) -> None:
        for worker in workers:
            if worker.alive:
                worker.hello = worker.actor.hello.remote(self._news(worker))

    def _new(self) -> RayWorker:
        ray = import_ray()
        made = ray.remote(Actor).options(num_cpus=1, max_restarts=0, max_task_retries=0)
        return RayWorker(made.remote(sys.path))

    def _grow(self) -> None:
        """As many workers as there are cores, or as were asked for."""
        self._looked = self._clock()
        want = self._wanted or max(1, int(import_ray().cluster_resources().get("CPU", 1)))
        fresh = [self._new() for _ in range(want - len(self.workers))]
        self.workers += fresh
        self._greet(fresh)

    def _get(self, worker: RayWorker, ref: Any) -> Any:
        """What lies there; `Lost` where it went with its actor or machine."""
        errors = import_ray().exceptions
        try:
            found = import_ray().get(ref)
            worker.proved = True
            return found
        except (errors.RayActorError, errors.ObjectLostError, errors.OutOfMemoryError) as e:
            died = isinstance(e, errors.ActorDiedError | errors.OutOfMemoryError)
            there = not worker.ready or self._there(worker.node)
            if not there and worker.node not in self._gone:
                self._gone.add(worker.node)
                log.warning(f"the machine {worker.address} of the Ray cluster is lost; its clients are done elsewhere")
            raise Lost("" if worker.ready else f" ({brief(e)})", died and worker.proved and there) from None
        except errors.RayTaskError as e:
            remedy = "what is your own must lie under the same path on every machine"
            raise ShoalError(f"a Ray worker cannot go on ({str(e).strip().splitlines()[-1]}); {remedy}") from e
        except errors.RayError as e:
            raise ShoalError(f"Ray has ended ({brief(e)}); shoal resume goes on") from e

    def _there(self, node: str) -> bool:
        """Whether a machine is still part of the cluster."""
        return any(found["NodeID"] == node and found["Alive"] for found in import_ray().nodes())

    def _nobody(self) -> str:
        if self.workers and all(worker.refused for worker in self.workers):
            return "no machine of the Ray cluster computes like this one; the warnings before say what to do"
        cores = import_ray().cluster_resources().get("CPU", 0)
        return (
            f"no Ray worker came up in {START_SECONDS:g} s, of {len(self.workers)} asked for on {cores:g} cores; look "
            "at `ray status` whether others hold the cores, or use engine=local"
        )
