"""A worker without its process: messages in, answers out, each verb by itself."""

from __future__ import annotations

import os
import pickle
from dataclasses import dataclass
from functools import partial
from multiprocessing import Pipe
from typing import Any

import cloudpickle
import numpy as np
import pytest
from tests.conftest import make_toy
from torch import nn

from shoal.backends import Serial
from shoal.backends.backend import Outcome
from shoal.backends.dumping import dump_units
from shoal.backends.process_worker import ARENA_BYTES, READY, ProcessWorker, main, unpack
from shoal.backends.shared_memory import Block, Publisher
from shoal.backends.unit import OneClient
from shoal.backends.worker import return_large_arrays
from shoal.layout import Layout
from shoal.net import Arithmetic
from shoal.seeds import Key
from shoal.solvers import SGD
from shoal.tasks import Train
from shoal.types import Array, Failure

TOY = make_toy()
LAYOUT = Layout.of(partial(nn.Linear, 6, 3), TOY.x[:1])
TASK = Train(SGD(lr=0.1, batch=5))


class Sent(list[bytes]):
    """A connection that only remembers what was sent."""

    def send_bytes(self, data: bytes) -> None:
        self.append(data)


def units(*names: str, task: Any = TASK) -> list[OneClient]:
    return [OneClient(task, name, 0, Key(1).of(name), 1) for name in names]


def told(worker: ProcessWorker, models_KP: Array, tasks: list[Any]) -> None:
    """What the parent says before it sends work."""
    publisher = Publisher()
    worker.do_open(publisher.dump("layout", LAYOUT), Arithmetic())
    worker.do_set_federation(publisher.dump("federation", TOY))
    worker.do_set_vectors(publisher.dump("vectors", np.zeros((0, LAYOUT.size), np.float32)))
    block = Block.new(models_KP.nbytes)
    worker.do_block(7, block.size, os.dup(block.fd))
    block.array(models_KP.shape, models_KP.dtype)[...] = models_KP
    worker.do_models(7, models_KP.shape, models_KP.dtype.str)
    worker.do_tasks(3, cloudpickle.dumps(tasks))


def work(worker: ProcessWorker, todo: list[OneClient], tasks: list[Any]) -> None:
    worker.do_units(3, dump_units([(unit, {}) for unit in todo], tasks))


def test_it_does_what_the_serial_back_end_does() -> None:
    sent = Sent()
    worker = ProcessWorker(sent)  # type: ignore[arg-type]
    models_KP = LAYOUT.init(Key(3))[None]
    told(worker, models_KP, [TASK])
    work(worker, units("c00", "c05"), [TASK])
    work(worker, units("c03"), [TASK])
    assert [data == READY for data in sent] == [True, False, False]  # it says once that it has begun
    serial = Serial()
    serial.open(LAYOUT, Arithmetic())
    serial.set_federation(TOY)
    want = dict(serial.run(units("c00", "c05", "c03"), models_KP))
    arena = Block.new(1)
    got = [outcome for data in sent[1:] for outcome in unpack(data, arena)]
    for i, outcome in enumerate(got):
        mine, theirs = outcome.answer or {}, want[i].answer or {}
        np.testing.assert_array_equal(mine["update"], theirs["update"])
        assert mine["count"] == theirs["count"]
    assert len(got) == 3


def test_a_new_federation_keeps_the_vectors_and_no_models_are_none() -> None:
    worker = ProcessWorker(Sent())  # type: ignore[arg-type]
    told(worker, LAYOUT.init(Key(3))[None], [])
    assert worker.worker.site is not None
    vectors_VP = worker.worker.site.vectors_VP
    worker.do_set_federation(Publisher().dump("federation", make_toy(5)))
    assert worker.worker.site.vectors_VP is vectors_VP
    assert len(worker.worker.site.federation.roster.ids) == 5
    worker.do_models(None, (), "")
    assert worker.worker.models_KP is None
    worker.do_open(Publisher().dump("layout", LAYOUT), Arithmetic())
    assert worker.worker.site is None  # another run: other data


def test_a_block_that_is_dropped_is_closed() -> None:
    worker = ProcessWorker(Sent())  # type: ignore[arg-type]
    block = Block.new(10)
    worker.do_block(4, block.size, fd := os.dup(block.fd))
    worker.do_drop(4)
    assert worker.blocks == {}
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)


def answers(worker: ProcessWorker, *arrays: Array) -> tuple[list[Outcome], list[dict[str, tuple[int, ...]]]]:
    """What arrives of answers with these arrays, and where in the arena they lay."""
    data = worker.pack([Outcome({"a": array, "n": 5}, {"ann": {"k": 1}}, (Failure("bob", "ill"),)) for array in arrays])
    places = [{name: place for name, place in row[1].items()} for row in pickle.loads(data)]
    assert worker.arena is not None
    return list(unpack(data, worker.arena)), places


def test_large_arrays_go_through_the_arena_and_small_ones_do_not() -> None:
    worker = ProcessWorker(Sent())  # type: ignore[arg-type]
    worker.blocks[1] = Block.new(4 * ARENA_BYTES)
    worker.do_arena(1)
    small, large = np.arange(ARENA_BYTES // 8 - 1.0), np.arange(ARENA_BYTES // 8 + 0.0)
    got, places = answers(worker, small, large)
    assert [list(p) for p in places] == [[], ["a"]]
    for outcome, array in zip(got, (small, large), strict=True):
        assert outcome.answer is not None
        np.testing.assert_array_equal(outcome.answer["a"], array)
        assert outcome.answer["n"] == 5
        assert (outcome.memories, outcome.failed) == ({"ann": {"k": 1}}, (Failure("bob", "ill"),))
    assert places[1]["a"][0] == 0


def test_each_half_of_the_arena_takes_what_it_can_hold() -> None:
    """Half of 4 * 4096 bytes holds an array of 4160 = 65 * 64 bytes, and not a second one of 4096 behind it."""
    worker = ProcessWorker(Sent())  # type: ignore[arg-type]
    worker.blocks[1] = Block.new(4 * ARENA_BYTES)
    worker.do_arena(1)
    odd, full = np.ones(ARENA_BYTES // 8 + 1), np.ones(ARENA_BYTES // 8)
    assert [p.get("a", (None,))[0] for p in answers(worker, odd, full)[1]] == [0, None]
    assert [p.get("a", (None,))[0] for p in answers(worker, full, full, full)[1]] == [0, ARENA_BYTES, None]
    worker.half = 1
    assert [p.get("a", (None,))[0] for p in answers(worker, full, full)[1]] == [2 * ARENA_BYTES, 3 * ARENA_BYTES]


def test_places_in_the_arena_begin_at_multiples_of_64() -> None:
    worker = ProcessWorker(Sent())  # type: ignore[arg-type]
    worker.blocks[1] = Block.new(8 * ARENA_BYTES)
    worker.do_arena(1)
    odd = np.ones(ARENA_BYTES // 8 + 1)
    assert [p["a"][0] for p in answers(worker, odd, odd)[1]] == [0, ARENA_BYTES + 64]


def test_nothing_to_answer_is_not_an_empty_answer() -> None:
    data = ProcessWorker(Sent()).pack([Outcome(None, {}, (Failure("ann", "ill"),)), Outcome({})])  # type: ignore[arg-type]
    assert [o.answer for o in unpack(data, Block.new(1))] == [None, {}]


@dataclass(frozen=True)
class Unsendable:
    """Answers with a function, for some clients."""

    task: Train

    def __call__(self, net: Any, models: Any, data: Any, memory: Any, key: Key) -> Any:
        answer, keep = self.task(net, models, data, memory, key)
        return ({**answer, "why": lambda: 0} if key.client == "c01" else answer), keep


def test_an_answer_that_cannot_be_sent_costs_its_own_client_alone() -> None:
    sent, task = Sent(), Unsendable(TASK)
    worker = ProcessWorker(sent)  # type: ignore[arg-type]
    told(worker, LAYOUT.init(Key(3))[None], [task])
    work(worker, units("c00", "c01", "c02", task=task), [task])
    got = list(unpack(sent[1], Block.new(1)))
    assert [o.answer is None for o in got] == [False, True, False]
    assert "the answer cannot be sent: failed:" in got[1].failed[0].reason


class Ended(BaseException):
    """The process would have ended."""


@pytest.mark.parametrize(("last", "code"), [(b"", 0), (b"rubbish", 1)])
def test_it_ends_with_its_parent_and_cries_at_rubbish(
    last: bytes, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def end(status: int) -> None:
        raise Ended(status)

    monkeypatch.setattr("shoal.backends.process_worker.os._exit", end)
    ours, theirs = Pipe()
    ours.send(("models", None, (), ""))
    if last:
        ours.send_bytes(last)
    ours.close()
    worker = ProcessWorker(theirs)
    with pytest.raises(Ended) as e:
        worker.receive()
    assert e.value.args == (code,)
    assert worker.inbox.get() == ("models", None, (), "")
    assert ("Traceback" in capsys.readouterr().err) == bool(last)


def test_the_allocator_can_be_told() -> None:
    return_large_arrays()
    assert np.ones(1 << 20).sum() == 1 << 20


def test_the_halves_of_the_arena_take_turns_and_what_lies_there_is_not_sent() -> None:
    """Answers of 21 numbers: 84 bytes from now on count as large."""
    sent = Sent()
    worker = ProcessWorker(sent)  # type: ignore[arg-type]
    told(worker, LAYOUT.init(Key(3))[None], [TASK])
    worker.blocks[1] = Block.new(1 << 16)
    worker.do_arena(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shoal.backends.process_worker.ARENA_BYTES", 84)
        for name in ("c00", "c01", "c02"):
            work(worker, units(name), [TASK])
    rows = [pickle.loads(data)[0] for data in sent[1:]]
    assert [row[1]["update"][0] for row in rows] == [0, 1 << 15, 0]
    assert [sorted(row[0].answer) for row in rows] == [["count", "loss"]] * 3


def test_a_worker_whose_parent_is_gone_ends_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    def end(status: int) -> None:
        raise Ended(status)

    def gone(self: ProcessWorker) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("shoal.backends.process_worker.os._exit", end)
    monkeypatch.setattr(ProcessWorker, "serve", gone)
    monkeypatch.setattr("shoal.backends.process_worker.alone_on_its_core", lambda: None)  # this process is another's
    read, write = os.pipe()
    os.close(write)
    with pytest.raises(Ended) as e:
        main(read)
    assert e.value.args == (0,)


def test_a_worker_that_fails_does_not_wait_for_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that listens ends with the process, which ends with what nobody expected."""
    started: list[dict[str, Any]] = []

    class Thread:
        def __init__(self, **options: Any) -> None:
            started.append(options)

        def start(self) -> None: ...

    monkeypatch.setattr("shoal.backends.process_worker.threading.Thread", Thread)
    worker = ProcessWorker(Sent())  # type: ignore[arg-type]
    worker.inbox.put(("nonsense",))
    with pytest.raises(AttributeError, match="do_nonsense"):
        worker.serve()
    assert started == [{"target": worker.receive, "daemon": True}]
