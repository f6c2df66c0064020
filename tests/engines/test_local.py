"""Worker processes: what happens when one dies or hangs, and what is left behind when the pool closes."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
import pytest
from tests.conftest import small_net
from torch import nn

from shoal.data.federation import Federation
from shoal.engines import Front, Serial, Workers
from shoal.engines.shared import Block, Publisher, load
from shoal.engines.unit import OneClient
from shoal.errors import BadInput
from shoal.layout import Layout
from shoal.net import Net
from shoal.seeds import Key
from shoal.solvers import SGD
from shoal.tasks import Train
from shoal.types import ClientData, Field, Memory


@dataclass(frozen=True)
class Whoami:
    """Tells the process it runs in; client c01 takes its process down, client c02 never ends."""

    name: ClassVar[str] = "whoami"
    models: ClassVar[Literal["none"]] = "none"
    fields: ClassVar[Mapping[str, Field]] = {"pid": Field("int"), "threads": Field("int")}

    def __call__(self, net: Net, models: Any, data: ClientData, memory: Memory, key: Key) -> tuple[Any, Memory]:
        import torch

        if key.client == "c01":
            os._exit(7)
        if key.client == "c02":
            threading.Event().wait()
        return {"pid": os.getpid(), "threads": torch.get_num_threads()}, memory

    def work(self, samples: int, models: int) -> tuple[int, int]:
        return 0, 0


@dataclass(frozen=True)
class Unsendable(Whoami):
    """Answers with something that no process can send."""

    def __call__(self, net: Net, models: Any, data: ClientData, memory: Memory, key: Key) -> tuple[Any, Memory]:
        return {"pid": 1, "threads": 1}, {"lock": threading.Lock()}


def two_layers(width: int) -> nn.Module:
    return nn.Sequential(nn.Linear(6, width), nn.Linear(width, 3))


class Watch:
    """A clock that stands still until `jump` is set; then an hour passes between two looks."""

    now, jump = 0.0, False

    def __call__(self) -> float:
        self.now += 3600.0 * self.jump
        return self.now


@pytest.fixture
def two(toy: Federation) -> Iterator[tuple[Watch, Front]]:
    watch = Watch()
    workers = Workers(2, clock=watch)
    engine = Front(workers, Layout.of(small_net, toy.sample()), timeout=50.0, min_answers=0)
    engine.use(toy)
    yield watch, engine
    workers.close()


def test_a_dead_worker_is_replaced_and_its_client_left_out(two: tuple[Watch, Front]) -> None:
    _, engine = two
    got = engine.map(Whoami(), ("c00", "c01"), None, None, Key(0))
    assert got.cohort == ("c00",)
    assert got.failed[0].reason == "failed: its worker process died (exit code 7)"
    assert got["threads"].tolist() == [1]
    again = engine.map(Whoami(), ("c03", "c04"), None, None, Key(0))
    assert len(again) == 2
    assert os.getpid() not in again["pid"]


def test_a_hanging_client_is_late_and_its_worker_replaced(two: tuple[Watch, Front]) -> None:
    watch, engine = two
    watch.jump = True
    got = engine.map(Whoami(), ("c02",), None, None, Key(0))
    watch.jump = False
    assert not len(got)
    assert got.failed[0].reason == "late: no answer after 50 s"
    assert len(engine.map(Whoami(), ("c03", "c04"), None, None, Key(0))) == 2


def test_a_worker_that_died_while_idle_is_replaced_without_loss(toy: Federation) -> None:
    workers = Workers(2)
    engine = Front(workers, Layout.of(small_net, toy.sample()))
    engine.use(toy)
    ids = ("c00", "c03", "c04")
    assert len(engine.map(Whoami(), ids, None, None, Key(0))) == 3
    for member in workers._members:
        member.process.kill()
        member.process.wait()
    try:
        engine.use(toy.keep(ids))
        assert len(engine.map(Whoami(), ids, None, None, Key(0))) == 3
    finally:
        workers.close()


def test_a_pool_survives_a_call_that_was_broken_off(pool: Workers, toy: Federation) -> None:
    layout = Layout.of(small_net, toy.sample())
    engine = Front(pool, layout)
    engine.use(toy)
    unit = OneClient(Train(SGD(epochs=50)), "c00", 0, {}, Key(0).of("c00"), 1)
    half_done = pool.run([unit, unit, unit, unit], layout.init_many(1, Key(0)))
    next(half_done)
    half_done.close()  # type: ignore[attr-defined]
    again = Front(pool, layout)
    again.use(toy)
    assert len(again.map(Whoami(), ("c00", "c03"), None, None, Key(0))) == 2


def test_an_answer_that_cannot_be_sent_is_a_failure(pool: Workers, toy: Federation) -> None:
    engine = Front(pool, Layout.of(small_net, toy.sample()), min_answers=0)
    engine.use(toy)
    got = engine.map(Unsendable(), ("c00",), None, None, Key(0))
    assert "the answer cannot be sent" in got.failed[0].reason


def test_a_model_that_cannot_be_sent_is_one_sentence(pool: Workers, toy: Federation) -> None:
    lock = threading.Lock()

    def locked() -> nn.Module:
        with lock:
            return small_net()

    with pytest.raises(BadInput, match="cannot be sent to worker processes"):
        Front(pool, Layout.of(locked, toy.sample()))


def test_closing_leaves_no_process_and_no_descriptor(toy: Federation) -> None:
    open_files = len(os.listdir("/proc/self/fd"))
    workers = Workers(2)
    engine = Front(workers, Layout.of(small_net, toy.sample()))
    engine.use(toy)
    pids = {int(p) for p in engine.map(Whoami(), ("c03", "c04", "c05"), None, None, Key(0))["pid"]}
    engine.close()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert len(os.listdir("/proc/self/fd")) == open_files


def test_one_pool_serves_one_model_and_federation_after_another(pool: Workers, toy: Federation) -> None:
    for width in (4, 400, 8):  # the arena and the blocks must grow, and stay right when they are too large
        layout = Layout.of(partial(two_layers, width), toy.sample())
        w_KP, ids = layout.init_many(2, Key(0)), toy.keep(["c00", "c03", "c04"]).ids
        found = []
        for backend in (Serial(), pool):
            engine = Front(backend, layout)
            engine.use(toy.keep(ids))
            found.append(engine.map(Train(SGD()), ids, w_KP, np.array([0, 1, 0]), Key(1))["update"].tobytes())
        assert found[0] == found[1]


def test_large_arrays_are_shared_not_copied() -> None:
    publisher = Publisher()
    big, small = np.arange(1 << 18, dtype=np.float64), np.arange(5)
    data = publisher.dump("one", {"big": big, "again": big, "small": small})
    assert len(data) < 2000
    assert len(publisher.blocks) == 1
    blocks = {n: Block(os.dup(b.fd), b.size) for n, b in publisher.blocks.items()}
    seen = load(data, blocks)
    assert np.array_equal(seen["big"], big)
    assert np.array_equal(seen["small"], small)
    assert not seen["big"].flags.writeable
    publisher.dump("two", {"big": big})
    assert len(publisher.blocks) == 1  # known already
    publisher.dump("one", {"other": small})
    assert len(publisher.blocks) == 1  # the other topic still needs it
    publisher.dump("two", None)
    assert not publisher.blocks  # nobody needs it any more
    publisher.close()


def test_workers_must_be_a_positive_number() -> None:
    with pytest.raises(BadInput, match="workers must be at least 1"):
        Workers(0)


def test_nothing_is_lost_with_a_worker_that_dies_while_it_is_given_more(toy: Federation) -> None:
    """A worker that is gone is noticed when it is handed its next portion: what it had before goes to another one."""
    workers = Workers(1)
    engine = Front(workers, Layout.of(small_net, toy.sample()), min_answers=0)
    engine.use(toy)
    honest, died = workers._hand, list[list[int]]()

    def treacherous(m: Any, numbers: list[int], units: Any) -> None:
        if m.jobs and not died:
            died.append(m.jobs[0])
            m.process.kill()
            m.process.wait()
            m.connection.close()
        honest(m, numbers, units)

    models, which = engine.layout.init(Key(1))[None], np.zeros(len(toy.ids), int)
    try:
        engine.map(Train(SGD()), toy.ids, models, which, Key(1))
        workers._pace[workers._slot] = 0.0  # all is brief from now on: portions of several, and one ahead
        workers._hand = treacherous  # type: ignore[method-assign]
        got = engine.map(Train(SGD()), toy.ids, models, which, Key(1))
    finally:
        workers.close()
    assert died and got.cohort == toy.ids
