"""The dispatcher over a pool that is neither processes nor Ray: workers here, which begin, answer and die as told."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.conftest import small_net

from shoal.backends import Serial
from shoal.backends.backend import Outcome
from shoal.backends.dispatcher import Dispatcher
from shoal.backends.pool import Lost, TaskLists
from shoal.backends.unit import OneClient
from shoal.backends.worker import Worker
from shoal.data.federation import Federation
from shoal.errors import ShoalError
from shoal.layout import Layout
from shoal.net import Arithmetic
from shoal.seeds import Key
from shoal.solvers import SGD
from shoal.tasks import Train
from shoal.types import Array

TASK = Train(SGD(lr=0.1, batch=5))
MACHINE, FAULT = Lost(" (the machine)", at_work=False), Lost(" (by itself)")


@dataclass(eq=False)
class Toy:
    """A worker that does everything when it is heard."""

    worker: Worker = field(default_factory=Worker)
    portions: list[list[int]] = field(default_factory=list)
    began: float = 0.0
    alive: bool = True
    ready: bool = False
    inbox: list[tuple[int, bytes]] = field(default_factory=list)

    @property
    def usable(self) -> bool:
        return self.ready

    def kill(self) -> None:
        self.alive = False


class ToyPool:
    """Workers that may be given work once they have said hello. `fate` says who is lost, by who hears whom when."""

    message_seconds, max_units, what = 1.0, 3, "toy process"

    def __init__(self, count: int, fate: dict[int, Lost]) -> None:
        self.workers = [Toy() for _ in range(count)]
        self.fate, self.heard, self.replaced, self.given = fate, 0, list[int](), list[int]()
        self.lists, self.said = TaskLists(), list[tuple[Any, ...]]()

    @property
    def count(self) -> int:
        return len(self.workers)

    def tell(self, verb: str, *arguments: Any) -> None:
        self.said.append((verb, *arguments))
        for toy in self.workers:
            getattr(toy.worker, verb)(*arguments)

    def open(self, layout: Layout, arithmetic: Arithmetic) -> None:
        self.tell("open", layout, arithmetic)

    def set_federation(self, federation: Any) -> None:
        self.tell("set_federation", federation)

    def set_vectors(self, vectors_VP: Array) -> None:
        self.tell("set_vectors", vectors_VP)

    def set_models(self, models_KP: Array | None) -> None:
        self.tell("set_models", models_KP)

    def set_tasks(self, tasks: Sequence[object]) -> tuple[int, bool]:
        number, new, sent = self.lists.find(tasks)
        self.tell("set_tasks", number, sent)
        return number, new

    def give(self, worker: Toy, number: int, units: bytes) -> None:
        assert worker.usable and worker.alive
        self.given.append(self.workers.index(worker))
        worker.inbox.append((number, units))

    def wait(self, busy: Sequence[Toy], timeout: float | None) -> list[Toy]:
        return [toy for toy in self.workers if toy in busy or not toy.ready][:1]  # one thing after the other

    def hear(self, worker: Toy) -> Iterable[Outcome] | None:
        self.heard += 1
        if self.heard in self.fate:
            raise self.fate[self.heard]
        if not worker.ready:
            return None
        return list(pickle.loads(worker.worker.run(*worker.inbox.pop(0), pickle.dumps)))

    def revive(self) -> None:
        for place, toy in enumerate(self.workers):
            if not toy.alive and not toy.portions:
                self.replace(place)

    def replace(self, place: int) -> None:
        self.replaced.append(place)
        self.workers[place] = fresh = Toy()
        for verb, *arguments in self.said:
            getattr(fresh.worker, verb)(*arguments)

    def close(self) -> None:
        self.workers.clear()


def units(toy: Federation) -> list[OneClient]:
    return [OneClient(TASK, name, 0, Key(1).of(name), 10 + i) for i, name in enumerate(toy.ids)]


def answers(outcomes: Iterator[tuple[int, Outcome]]) -> list[Any]:
    found = dict(outcomes)
    return [(found[i].answer or {}).get("update") for i in range(len(found))]


def opened(backend: Any, toy: Federation) -> tuple[Any, Array]:
    layout = Layout.of(small_net, toy.sample())
    backend.open(layout, Arithmetic())
    backend.set_federation(toy)
    return backend, layout.init(Key(2))[None]


@pytest.mark.parametrize(
    "fate",
    [
        {},
        {1: MACHINE, 2: FAULT},  # before anybody said hello
        {3: FAULT, 9: FAULT},
        {3: MACHINE, 5: MACHINE, 7: MACHINE, 9: MACHINE},  # the machine's fault is no unit's, however often
        {n: MACHINE for n in range(3, 40, 2)},
    ],
    ids=["well", "at birth", "died", "lost", "lost often"],
)
def test_whatever_is_lost_the_answers_are_those_of_one_process(toy: Federation, fate: dict[int, Lost]) -> None:
    serial, models_KP = opened(Serial(), toy)
    want = answers(serial.run(units(toy), models_KP))
    pool = ToyPool(2, fate)
    dispatcher, _ = opened(Dispatcher(pool), toy)
    for _ in range(2):  # the second time several go together
        got = answers(dispatcher.run(units(toy), models_KP))
        assert [update_P.tobytes() for update_P in got] == [update_P.tobytes() for update_P in want]
    assert len(pool.replaced) == len([n for n in fate if n <= pool.heard])


def test_a_unit_with_which_two_workers_died_alone_is_left_out(toy: Federation) -> None:
    """Hello, then the longest unit, which is given again at once: the deaths of its machine between do not count."""
    pool = ToyPool(1, {2: FAULT, 4: MACHINE, 6: FAULT})
    dispatcher, models_KP = opened(Dispatcher(pool), toy)
    found = dict(dispatcher.run(units(toy), models_KP))
    failed = {i: out.failed[0].reason for i, out in found.items() if out.failed}
    assert failed == {len(toy.ids) - 1: "failed: its toy process died twice (by itself)"}
    assert len(found) == len(toy.ids)


def test_work_goes_only_to_those_that_said_hello(toy: Federation) -> None:
    """The first is heard at once, so that the second never gets its turn to say hello before all is done."""
    pool = ToyPool(2, {})
    dispatcher, models_KP = opened(Dispatcher(pool), toy)
    assert len(answers(dispatcher.run(units(toy), models_KP))) == len(toy.ids)
    assert set(pool.given) == {0} and not pool.workers[1].ready


def test_workers_that_never_say_hello_are_one_sentence(toy: Federation) -> None:
    dispatcher, models_KP = opened(Dispatcher(ToyPool(1, dict.fromkeys(range(1, 20), FAULT))), toy)
    with pytest.raises(ShoalError, match=r"^toy processes die while they start \(by itself\); use engine=serial"):
        answers(dispatcher.run(units(toy), models_KP))


def test_a_call_that_was_broken_off_leaves_nothing_for_the_next(toy: Federation) -> None:
    """Numbers of the old call would mean other units, or none, in the new one."""
    pool = ToyPool(1, {})
    dispatcher, models_KP = opened(Dispatcher(pool), toy)
    half_done = dispatcher.run(units(toy), models_KP)
    next(half_done)
    next(half_done)
    pool.workers[0].portions.append([11])
    half_done.close()
    assert len(answers(dispatcher.run(units(toy)[:1], models_KP))) == 1
    assert pool.replaced == [0]
