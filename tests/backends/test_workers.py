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
from tests.backends.in_process import Here
from tests.conftest import make_toy, small_net
from torch import nn

import shoal
from shoal.backends import Serial, Workers, process_pool, worker_handle
from shoal.backends.shared_memory import Block, Publisher, load
from shoal.backends.unit import OneClient
from shoal.data.federation import Federation
from shoal.engine import Engine
from shoal.errors import BadInput, ShoalError
from shoal.layout import Layout
from shoal.net import Arithmetic, Net
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


def test_worker_processes_need_a_posix_system() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "name", "nt")
        with pytest.raises(BadInput, match="engine=local needs Linux or macOS"):
            Workers(1)


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
    """The first go alone, later several go together, and whose fault it was shows when each goes alone. So two
    processes die with it, or three if it was not alone at first, which depends on how long the others took.
    """
    workers = Workers(1)
    engine = Engine(workers, Layout.of(small_net, toy.sample()))
    engine.set_federation(toy)
    task = Deadly(str(tmp_path / "tries"))
    try:
        for call in (1, 2):
            got = engine.map(task, toy.ids, None, None, Key(0))
            assert got.cohort == tuple(c for c in toy.ids if c != "c01")
            assert [f.reason for f in got.failed] == ["failed: its worker process died twice (exit code 7)"]
            assert 2 * call <= len(set((tmp_path / "tries").read_text().split())) <= 3 * call
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
    start = "from shoal.backends.process_worker import main"
    ask = f"from multiprocessing import reduction; reduction.ACKNOWLEDGE = True; {start}"
    boot = worker_handle.BOOT_CODE.replace(start, ask)
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


# ------------------------------------------------------------------------------------- step by step, without processes


class Paced(Workers):
    """Workers that are here, on a clock that is set by hand."""

    def __init__(self, count: int = 2) -> None:
        self.now = 0.0
        super().__init__(count, clock=lambda: self.now)

    def begin(self, *costs: int, timeout: float | None = None, task: Any = None) -> list[int]:
        """A call with units of these costs; the waiting ones."""
        task = task or Whoami()
        units = [
            OneClient(task, f"c{i + 3:02d}", -1, Key(0).of(f"c{i + 3:02d}"), n, timeout) for i, n in enumerate(costs)
        ]
        self._prepare(units, None)
        return sorted(range(len(units)), key=lambda i: (costs[i], -i))

    def pace(self, seconds: float) -> None:
        """What a unit of cost 1 took lately."""
        self._seconds_per_cost[self._task_list] = seconds


@pytest.fixture
def paced(toy: Federation, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setattr(process_pool, "WorkerHandle", Here)
    made: Any = Paced()
    made.open(Layout.of(small_net, toy.sample()), Arithmetic())
    made.set_federation(toy)
    yield made
    made.close()


def test_a_message_holds_a_few_milliseconds_and_at_most_half_of_a_share(paced: Any) -> None:
    """Cost 40 on two workers: a share is 20, half of it 10. 3 ms are 6 units of cost that take 0.5 ms each."""
    paced.begin(10, 10, 20)
    assert paced._cost_of_a_message() == 2.5  # nobody has worked yet: an eighth
    paced.pace(0.0005)
    assert paced._cost_of_a_message() == pytest.approx(6.0)
    for pace in (0.0001, 0.0):
        paced.pace(pace)
        assert paced._cost_of_a_message() == 10.0


def test_the_pace_is_that_of_the_last_answer_and_of_other_tasks_is_not_taken_for_it(paced: Any) -> None:
    paced.begin(4, 1)
    worker = paced._pool.workers[0]
    worker.end.ready = True  # its time runs from the portion on
    for numbers, seconds, pace in (([0], 2.0, 0.5), ([1, 0], 1.0, 0.2), ([0], 0.0, 0.0)):
        paced._give(worker, numbers)
        paced.now += seconds
        while worker.connection.poll():
            list(paced._answered(worker, paced._pool.hear(worker)))
        assert paced._seconds_per_cost == {0: pytest.approx(pace)}
    paced.begin(4, 1)
    assert 0 in paced._seconds_per_cost
    paced.begin(4, task=Deadly("other"))
    assert (paced._task_list, list(paced._seconds_per_cost)) == (1, [0])
    for i in range(7):
        paced.begin(4, task=Deadly(str(i)))
    assert (paced._task_list, paced._seconds_per_cost) == (0, {})  # a new list in the place of the first one


def test_of_a_new_task_the_pace_is_guessed_from_the_passes_that_another_made(paced: Any) -> None:
    """2 epochs of 4 samples: 8 there and back, which count three times, 24 in all; they took 12 ms, so a pass takes
    0.5 ms. With 1 epoch a sample is 3 passes, 1.5 ms: 3 ms are 2 of them. Of a task that declares nothing a sample is
    at least one pass: 3 ms are 6. Half of a share of cost 40 is 10, and goes when a pass takes no time.
    """
    one, two, nothing = Train(SGD(epochs=1)), Train(SGD(epochs=2)), Whoami()
    paced.begin(4, task=two)
    worker = paced._pool.workers[0]
    worker.end.ready = True
    paced._give(worker, [0])
    paced.now += 0.012
    assert len(list(paced._answered(worker, paced._pool.hear(worker)))) == 1
    for task, most in ((one, 2.0), (nothing, 6.0)):
        paced.begin(20, 20, task=task)
        assert paced._cost_of_a_message() == pytest.approx(most)
    paced._seconds_per_pass = 0.0
    assert paced._cost_of_a_message() == 10.0
    paced._tell = Layout.of(small_net, paced._source.sample()), Arithmetic()
    paced.begin(20, 20, task=one)  # of another run, whose model may be another
    assert paced._cost_of_a_message() == 2.5


def test_work_that_is_not_declared_is_no_measure_for_others(paced: Any) -> None:
    paced.begin(4)
    worker = paced._pool.workers[0]
    worker.end.ready = True
    paced._give(worker, [0])
    paced.now = 1.0
    assert len(list(paced._answered(worker, paced._pool.hear(worker)))) == 1
    assert paced._seconds_per_pass is None


def test_units_of_no_samples_have_a_pace(paced: Any) -> None:
    paced.begin(0)
    worker = paced._pool.workers[0]
    paced._give(worker, [0])
    paced.now = 3.0
    assert list(paced._answered(worker, paced._pool.hear(worker))) == []
    paced.now = 5.0
    [(number, outcome)] = paced._answered(worker, paced._pool.hear(worker))
    assert (number, outcome.answer["pid"]) == (0, os.getpid())
    assert paced._seconds_per_cost == {0: 2.0}  # since it said that it begins


def test_short_units_go_together_the_longest_first(paced: Any) -> None:
    waiting = paced.begin(5, 3, 3, 2, 1)
    assert paced._next_portion(waiting, 4.0) == [0]  # longer than a message should be: alone
    assert paced._next_portion(waiting, 6.0) == [1, 2]  # 3 + 3, and no 2 behind them
    assert paced._next_portion(waiting, 6.0) == [3, 4]
    assert waiting == []
    waiting = paced.begin(1, 1, 1)
    paced._pool.max_units = 2
    assert paced._next_portion(waiting, 9.0) == [0, 1]  # their answers must fit into the arena


@pytest.mark.parametrize("dead", [0, 1])
def test_a_unit_that_a_worker_died_with_goes_alone(paced: Any, dead: int) -> None:
    waiting = paced.begin(1, 1, 1)
    paced._deaths = {dead: 0}
    assert paced._next_portion(waiting, 9.0) == [0]
    assert paced._next_portion(waiting, 9.0) == ([1, 2] if dead == 0 else [1])


def test_a_unit_whose_time_is_watched_goes_alone(paced: Any) -> None:
    waiting = paced.begin(1, 1, timeout=5.0)
    assert paced._next_portion(waiting, 9.0) == [0]
    worker = paced._pool.workers[0]
    assert paced._soon_idle(worker, 9.0)
    worker.portions = [[0]]
    assert not paced._soon_idle(worker, 9.0)


def test_a_worker_gets_more_while_it_has_little_to_do(paced: Any) -> None:
    paced.begin(1, 2, 3)
    worker = paced._pool.workers[0]
    for portions, soon in (([], True), ([[0]], True), ([[0], [1]], True), ([[0, 1], [2]], False)):
        worker.portions = portions
        assert paced._soon_idle(worker, 3.0) == soon
        assert paced._soon_idle(worker, 0.0) == (not portions)


def test_time_runs_from_the_first_portion_on(paced: Any) -> None:
    paced.begin(1, 1)
    worker = paced._pool.workers[0]
    worker.hangs = True
    for paced.now, numbers in ((2.0, [0]), (3.0, [1])):
        paced._give(worker, numbers)
    assert (worker.began, worker.portions) == (2.0, [[0], [1]])


def ready(worker: Here) -> None:
    """It holds units back, but has begun."""
    worker.hangs, worker.ready = True, True


def test_a_worker_is_late_a_second_after_the_limit(paced: Any) -> None:
    """The limit is 5 s, the grace 1 s: nothing happens at 6 s, and after them it is replaced."""
    waiting = paced.begin(1, timeout=5.0)
    worker = paced._pool.workers[0]
    ready(worker)
    paced._give(worker, [0])
    paced.now = 6.0
    assert list(paced._receive(waiting)) == []
    paced.now, worker.ready = 6.1, False  # it has not started up yet: that is no time of the client's
    assert list(paced._receive(waiting)) == []
    worker.ready = True
    [(number, outcome)] = paced._receive(waiting)
    assert (number, outcome.failed[0].reason) == (0, "late: no answer after 5 s")
    assert paced._pool.workers[0] is not worker and not worker.alive


def test_who_waits_for_nobody_in_particular_waits_until_something_happens(
    paced: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Time is looked at every tenth of a second, but only where a unit has a limit."""
    waits: list[tuple[int, float | None]] = []

    def watch(connections: list[Any], timeout: float | None) -> list[Any]:
        waits.append((len(connections), timeout))
        return []

    monkeypatch.setattr("shoal.backends.process_pool.wait", watch)
    for timeout in (5.0, None):
        waiting = paced.begin(1, 1, timeout=timeout)
        for number, worker in enumerate(paced._pool.workers):
            ready(worker)
            worker.portions = []
            paced._give(worker, [number])
        assert list(paced._receive(waiting)) == []
    assert waits == [(2, 0.1), (2, None)]
    paced._pool.workers[1].portions = []
    list(paced._receive(waiting))
    assert waits[2] == (1, None)  # who has nothing to do says nothing
    paced._pool.workers[0].portions = []


def test_everybody_is_heard_behind_one_that_is_idle_and_one_that_died(paced: Any) -> None:
    waiting = paced.begin(1, 1)
    first, second = paced._pool.workers
    second.end.ready = True
    paced._give(second, [1])
    assert [number for number, _ in paced._receive(waiting)] == [1]  # the first has nothing to do
    ready(first)
    first.portions = [[0]]
    first.die()
    paced._give(second, [1])
    waiting.clear()
    assert [number for number, _ in paced._receive(waiting)] == [1]
    assert waiting == [0]


def test_what_a_dead_worker_had_is_done_again_and_its_second_death_counts(paced: Any) -> None:
    """Numbers 0 and 1 together, 2 ahead: all wait again, those two to go alone; then 0 dies alone, twice."""
    waiting = paced.begin(3, 2, 1)
    waiting.clear()
    for portions, left, deaths in (
        ([[0, 1], [2]], [2, 1, 0], {0: 0, 1: 0}),
        ([[0]], [2, 1, 0], {0: 1, 1: 0}),
    ):
        worker = paced._pool.workers[0]
        ready(worker)
        worker.portions = portions
        for portion in portions:
            for number in portion:
                if number in waiting:
                    waiting.remove(number)
        worker.die()
        assert list(paced._receive(waiting)) == []
        assert (waiting, paced._deaths) == (left, deaths)
        assert paced._pool.workers[0] is not worker
    worker = paced._pool.workers[0]
    ready(worker)
    worker.portions = [[waiting.pop()]]
    worker.die()
    [(number, outcome)] = paced._receive(waiting)
    assert (number, outcome.failed[0].reason) == (0, "failed: its worker process died twice (exit code 7)")
    assert waiting == [2, 1]


def test_a_worker_that_we_gave_up_has_no_exit_code(paced: Any) -> None:
    waiting = paced.begin(1)
    paced._deaths = {0: 1}
    worker = paced._pool.workers[1]
    ready(worker)
    worker.portions = [[waiting.pop()]]
    worker.kill()
    [(_, outcome)] = paced._receive(waiting)
    assert outcome.failed[0].reason == "failed: its worker process died twice"


def test_ten_workers_in_a_row_may_die_while_they_start(paced: Any) -> None:
    def die(begun: bool) -> None:
        waiting: list[int] = []
        worker = paced._pool.workers[0]
        worker.portions, worker.hangs = [[0]], True
        if begun:
            list(paced._answered(worker, None))
        worker.die()
        list(paced._receive(waiting))

    paced.begin(1)
    for _ in range(10):
        die(False)
    assert paced._stillborn == 10
    die(True)
    assert paced._stillborn == 0  # one that began ends the row
    for _ in range(10):
        die(False)
    with pytest.raises(ShoalError, match=r"^worker processes die while they start \(exit code 7\); use engine=serial"):
        die(False)


def test_one_portion_each_before_anybody_gets_a_second(paced: Any) -> None:
    given: list[tuple[int, list[int]]] = []
    honest = paced._give

    def give(worker: Any, numbers: list[int]) -> None:
        given.append((paced._pool.workers.index(worker), numbers))
        honest(worker, numbers)

    paced._give = give
    task = Whoami()
    units = [OneClient(task, f"c{i + 3:02d}", -1, Key(0).of(f"c{i + 3:02d}"), 1) for i in range(5)]
    assert sorted(i for i, _ in paced.run(units, None)) == [0, 1, 2, 3, 4]
    assert given[:2] == [(0, [0]), (1, [1])]
    paced.pace(0.0)  # a message holds at most 5 / (2 * 2) = 1.25 of cost: one unit, and the next is given ahead
    given.clear()
    assert dict(paced.run(units, None)).keys() == {0, 1, 2, 3, 4}
    assert given[:4] == [(0, [0]), (1, [1]), (0, [2]), (1, [3])]


def test_workers_that_have_work_when_the_caller_goes_away_are_ended_and_the_others_not(paced: Any) -> None:
    task = Whoami()
    units = [OneClient(task, name, -1, Key(0).of(name), 1) for name in ("c03", "c04")]
    before = list(paced._pool.workers)
    before[1].hangs = True
    half_done = paced.run(units, None)
    next(half_done)
    half_done.close()
    assert [w.alive for w in before] == [True, False]


def test_vectors_are_told_when_they_are_others(paced: Any) -> None:
    paced.begin(1)
    paced.begin(1)
    size = paced._layout.size
    paced.restore({}, np.ones((2, size), np.float32))
    paced.begin(1)
    for worker in paced._pool.workers:
        assert worker.verbs().count("set_vectors") == 2
        assert worker.worker.site.vectors_VP.tolist() == [[1.0] * size] * 2
    models_KP = np.full((1, size), 3.0, np.float32)
    paced._prepare([], models_KP)
    assert worker.worker.models_KP.tolist() == models_KP.tolist()
