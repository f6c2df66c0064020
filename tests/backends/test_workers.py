"""Worker processes: what happens when one dies or hangs, and what is left behind when the pool closes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pytest
from tests.conftest import make_toy, small_net
from torch import nn

import shoal
from shoal.backends import Serial, Workers, worker_handle
from shoal.backends.shared_memory import Block, Publisher, load
from shoal.backends.unit import OneClient
from shoal.data.federation import Federation
from shoal.engine import Engine
from shoal.errors import BadInput, ShoalError
from shoal.layout import Layout
from shoal.net import Net
from shoal.seeds import Key
from shoal.solvers import SGD
from shoal.tasks import Train
from shoal.types import ClientData, Field, Memory, Task


@dataclass(frozen=True)
class Whoami(Task):
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
def two(toy: Federation) -> Iterator[tuple[Watch, Engine]]:
    watch = Watch()
    workers = Workers(2, clock=watch)
    engine = Engine(workers, Layout.of(small_net, toy.sample()), timeout=50.0, min_answers=0)
    engine.set_federation(toy)
    yield watch, engine
    workers.close()


def test_a_dead_worker_is_replaced_and_its_client_left_out(two: tuple[Watch, Engine]) -> None:
    _, engine = two
    got = engine.map(Whoami(), ("c00", "c01"), None, None, Key(0))
    assert got.cohort == ("c00",)
    assert got.failed[0].reason == "failed: its worker process died twice (exit code 7)"
    assert got["threads"].tolist() == [1]
    again = engine.map(Whoami(), ("c03", "c04"), None, None, Key(0))
    assert len(again) == 2
    assert os.getpid() not in again["pid"]


def test_a_hanging_client_is_late_and_its_worker_replaced(two: tuple[Watch, Engine]) -> None:
    watch, engine = two
    watch.jump = True
    got = engine.map(Whoami(), ("c02",), None, None, Key(0))
    watch.jump = False
    assert not len(got)
    assert got.failed[0].reason == "late: no answer after 50 s"
    assert len(engine.map(Whoami(), ("c03", "c04"), None, None, Key(0))) == 2


def test_a_worker_that_died_while_idle_is_replaced_without_loss(toy: Federation) -> None:
    workers = Workers(2)
    engine = Engine(workers, Layout.of(small_net, toy.sample()))
    engine.set_federation(toy)
    ids = ("c00", "c03", "c04")
    assert len(engine.map(Whoami(), ids, None, None, Key(0))) == 3
    for member in workers._pool.workers:
        member.process.kill()
        member.process.wait()
    try:
        engine.set_federation(toy.keep(ids))
        assert len(engine.map(Whoami(), ids, None, None, Key(0))) == 3
    finally:
        workers.close()


def test_a_pool_survives_a_call_that_was_broken_off(pool: Workers, toy: Federation) -> None:
    layout = Layout.of(small_net, toy.sample())
    engine = Engine(pool, layout)
    engine.set_federation(toy)
    unit = OneClient(Train(SGD(epochs=50)), "c00", 0, Key(0).of("c00"), 1)
    half_done = pool.run([unit, unit, unit, unit], layout.init_many(1, Key(0)))
    next(half_done)
    half_done.close()  # type: ignore[attr-defined]
    again = Engine(pool, layout)
    again.set_federation(toy)
    assert len(again.map(Whoami(), ("c00", "c03"), None, None, Key(0))) == 2


def test_an_answer_that_cannot_be_sent_is_a_failure(pool: Workers, toy: Federation) -> None:
    engine = Engine(pool, Layout.of(small_net, toy.sample()), min_answers=0)
    engine.set_federation(toy)
    got = engine.map(Unsendable(), ("c00",), None, None, Key(0))
    assert "the answer cannot be sent" in got.failed[0].reason


def test_a_model_that_cannot_be_sent_is_one_sentence(pool: Workers, toy: Federation) -> None:
    lock = threading.Lock()

    def locked() -> nn.Module:
        with lock:
            return small_net()

    with pytest.raises(BadInput, match="cannot be sent to worker processes"):
        Engine(pool, Layout.of(locked, toy.sample()))


def test_closing_leaves_no_process_and_no_descriptor(toy: Federation) -> None:
    open_files = len(os.listdir("/dev/fd"))
    workers = Workers(2)
    engine = Engine(workers, Layout.of(small_net, toy.sample()))
    engine.set_federation(toy)
    pids = {int(p) for p in engine.map(Whoami(), ("c03", "c04", "c05"), None, None, Key(0))["pid"]}
    engine.close()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert len(os.listdir("/dev/fd")) == open_files


def test_one_pool_serves_one_model_and_federation_after_another(pool: Workers, toy: Federation) -> None:
    for width in (4, 400, 8):  # the arena and the blocks must grow, and stay right when they are too large
        layout = Layout.of(partial(two_layers, width), toy.sample())
        w_KP, ids = layout.init_many(2, Key(0)), toy.keep(["c00", "c03", "c04"]).ids
        found = []
        for backend in (Serial(), pool):
            engine = Engine(backend, layout)
            engine.set_federation(toy.keep(ids))
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
    engine = Engine(workers, Layout.of(small_net, toy.sample()), min_answers=0)
    engine.set_federation(toy)
    honest, died = workers._give, list[list[int]]()

    def treacherous(m: Any, numbers: list[int]) -> None:
        if m.portions and not died:
            died.append(m.portions[0])
            m.process.kill()
            m.process.wait()
            m.connection.close()
        honest(m, numbers)

    models, which = engine.layout.init(Key(1))[None], np.zeros(len(toy.ids), int)
    try:
        engine.map(Train(SGD()), toy.ids, models, which, Key(1))
        workers._seconds_per_cost[workers._task_list] = (
            0.0  # all is brief from now on: portions of several, and one ahead
        )
        workers._give = treacherous  # type: ignore[assignment,method-assign]
        got = engine.map(Train(SGD()), toy.ids, models, which, Key(1))
    finally:
        workers.close()
    assert died and got.cohort == toy.ids


@dataclass(frozen=True)
class Deadly(Whoami):
    """Takes its process down when client c01 does it, and writes down that it was tried."""

    tries: str

    def __call__(self, net: Net, models: Any, data: ClientData, memory: Memory, key: Key) -> tuple[Any, Memory]:
        if key.client == "c01":
            with open(self.tries, "a") as file:
                print(os.getpid(), file=file)
            os._exit(7)
        return {"pid": os.getpid(), "threads": 1}, memory


def test_who_takes_two_workers_down_is_left_out_and_nobody_else(toy: Federation, tmp_path: Path) -> None:
    """At first everybody goes alone; later several go together, and whose fault it was shows when each goes alone."""
    workers = Workers(1)
    engine = Engine(workers, Layout.of(small_net, toy.sample()))
    engine.set_federation(toy)
    task = Deadly(str(tmp_path / "tries"))
    try:
        for together in (0, 1):
            got = engine.map(task, toy.ids, None, None, Key(0))
            assert got.cohort == tuple(c for c in toy.ids if c != "c01")
            assert [f.reason for f in got.failed] == ["failed: its worker process died twice (exit code 7)"]
            assert len(set((tmp_path / "tries").read_text().split())) == 2 + 3 * together
            workers._seconds_per_cost[workers._task_list] = 0.0  # all is brief from now on
    finally:
        workers.close()


class Sniped(Workers):
    """Workers that are killed from outside, now and then when one of them gets work: this one, or all. Nobody is so
    unlucky as to lose two of them.
    """

    def __init__(self) -> None:
        super().__init__(2)
        self.shots, self.handed = 0, 0

    def _give(self, worker: Any, numbers: list[int]) -> None:
        super()._give(worker, numbers)
        self.handed += 1
        if self.handed in (4, 11, 18):
            for victim in self._pool.workers if self.handed == 11 else [worker]:
                if not any(self._deaths.get(i) for portion in victim.portions for i in portion):
                    self.shots += 1
                    victim.process.kill()


def test_workers_killed_from_outside_change_no_bit(toy: Federation) -> None:
    """FlexCFL keeps vectors on clients, momentum is kept, all are tested."""
    found, sniped = [], Sniped()
    own: dict[str, Any] = {"groups": 2, "pretrain_steps": 6, "momentum": 0.9, "momentum_memory": "kept"}
    try:
        for engine in ("serial", sniped):
            run = shoal.run("flexcfl", toy, small_net, rounds=2, seed=1, engine=engine, **own)
            assert not run.summary["left_out"]
            rows = [{k: v for k, v in row.items() if k != "time"} for row in run.history]
            found.append((run.serving.models_KP.tobytes(), json.dumps(rows)))
    finally:
        sniped.close()
    assert sniped.shots >= 2
    assert found[0] == found[1]


class KilledAtBirth(Workers):
    """A worker that is killed with its first work, before it has begun: five times."""

    killed = 0

    def _give(self, worker: Any, numbers: list[int]) -> None:
        super()._give(worker, numbers)
        if not worker.ready and self.killed < 5:
            self.killed += 1
            worker.process.kill()


def test_a_worker_that_is_killed_while_it_starts_is_nobodys_fault(toy: Federation) -> None:
    workers = KilledAtBirth(1)
    engine = Engine(workers, Layout.of(small_net, toy.sample()))
    engine.set_federation(toy)
    try:
        assert len(engine.map(Whoami(), ("c03", "c04"), None, None, Key(0))) == 2
    finally:
        workers.close()
    assert workers.killed == 5


def test_workers_that_cannot_start_are_one_sentence(toy: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_handle, "BOOT_CODE", "raise SystemExit(3)")
    workers = Workers(1)
    engine = Engine(workers, Layout.of(small_net, toy.sample()))
    engine.set_federation(toy)
    try:
        with pytest.raises(ShoalError, match=r"worker processes die while they start.*; use engine=serial"):
            engine.map(Whoami(), ("c03", "c04"), None, None, Key(0))
    finally:
        workers.close()


def in_a_process_of_its_own(function: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Call a function of this file elsewhere: where it would hang, the test fails instead."""
    command = [sys.executable, "-c", f"from tests.backends.test_workers import {function}; {function}()"]
    return subprocess.run(
        command, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, text=True, timeout=300, **options
    )


@dataclass(frozen=True)
class Hoard(Whoami):
    """Keeps a megabyte, and tells how often it has been asked."""

    fields: ClassVar[Mapping[str, Field]] = {"visits": Field("int")}

    def __call__(self, net: Net, models: Any, data: ClientData, memory: Memory, key: Key) -> tuple[Any, Memory]:
        kept = memory.get("kept", np.zeros(1 << 18, np.float32)) + 1
        return {"visits": int(kept[-1])}, {"kept": kept}


def hoard() -> None:
    toy, workers = make_toy(), Workers(1)
    engine = Engine(workers, Layout.of(small_net, toy.sample()))
    engine.set_federation(toy)
    for _ in range(3):
        got = engine.map(Hoard(), toy.ids, None, None, Key(0))
        workers._seconds_per_cost[workers._task_list] = (
            0.0  # all is brief from now on: a worker gets the next portion ahead
        )
    print(*got["visits"])
    workers.close()


def test_clients_that_keep_much_do_not_make_parent_and_worker_wait_for_each_other() -> None:
    """Portions of several megabytes both ways, the next one sent while the worker sends its answers."""
    assert in_a_process_of_its_own("hoard", check=True, stdout=subprocess.PIPE).stdout == "3 " * 11 + "3\n"


def die_at_work() -> None:
    toy, workers = make_toy(), Workers(1)
    engine = Engine(workers, Layout.of(small_net, toy.sample()))
    engine.set_federation(toy)
    give = workers._give

    def give_and_die(m: Any, numbers: list[int]) -> None:
        give(m, numbers)
        m.connection.recv_bytes()  # it has begun
        os.kill(os.getpid(), signal.SIGKILL)

    workers._give = give_and_die  # type: ignore[assignment,method-assign]
    engine.map(Whoami(), ("c02",), None, None, Key(0))  # never ends


def test_workers_end_with_their_parent_in_the_middle_of_a_unit() -> None:
    """They hold the other end of standard error: reading it comes to an end when all of them are gone."""
    assert in_a_process_of_its_own("die_at_work", stderr=subprocess.PIPE).returncode == -signal.SIGKILL


def test_memory_is_handed_over_where_the_system_wants_a_receipt(
    toy: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on macOS: the parent waits for a byte from the worker, which must not be one of another message."""
    from multiprocessing import reduction

    monkeypatch.setattr(reduction, "ACKNOWLEDGE", True)
    ask = "from multiprocessing import reduction; reduction.ACKNOWLEDGE = True; from shoal.backends.worker import main"
    boot = worker_handle.BOOT_CODE.replace("from shoal.backends.worker import main", ask)
    assert boot != worker_handle.BOOT_CODE
    monkeypatch.setattr(worker_handle, "BOOT_CODE", boot)
    workers = Workers(1)
    engine = Engine(workers, Layout.of(small_net, toy.sample()))
    try:
        for federation in (toy, toy.keep(("c03", "c04"))):
            engine.set_federation(federation)
            assert len(engine.map(Whoami(), ("c03", "c04"), None, None, Key(0))) == 2
    finally:
        workers.close()
