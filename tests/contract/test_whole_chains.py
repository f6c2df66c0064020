"""Chains that train in one call answer and fail as their clients would one after the other, bit for bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.contract.test_whole_cohorts import FEDERATIONS, KEPT, engine_of, kept, plain

from shoal.backends import Backend, Serial, Workers
from shoal.backends.backend import Outcome, Unit
from shoal.kernels import native
from shoal.layout import Layout
from shoal.net import Arithmetic
from shoal.seeds import Key
from shoal.solvers import SGD, Proximal
from shoal.tasks import Train
from shoal.types import Answers, Array, CohortAnswers, CohortAtWork, Task

pytestmark = pytest.mark.skipif(native() is None, reason="there is no native kernel")

TASKS: dict[str, Task] = {
    "train": Train(SGD(epochs=3, batch=5, lr=0.1)),
    "train by steps": Train(SGD(steps=4, batch=4, weight_decay=0.01, shuffle=False)),
    "train with momentum": Train(SGD(batch=16, momentum=0.9)),
    "train with a pull": Train(SGD(batch=5, terms=(Proximal(0.1),))),
    "train with momentum kept": Train(KEPT),
    "train until it bursts": Train(SGD(lr=1e30, epochs=5, batch=3)),
}
GROUPS = [("c3", "c1"), (), ("c7", "zoe", "c2", "c5"), ("c4",), ("nobody",)]


class Spied(Serial):
    """Notes which calls were done whole."""

    def open(self, layout: Layout, arithmetic: Arithmetic) -> None:
        super().open(layout, arithmetic)
        self.whole: list[bool] = []

    def chains_at_once(self, units: Sequence[Unit], models_KP: Array | None) -> list[Outcome] | None:
        found = super().chains_at_once(units, models_KP)
        self.whole.append(found is not None)
        return found


class OneByOne(Serial):
    """Never does chains whole."""

    def chains_at_once(self, units: Sequence[Unit], models_KP: Array | None) -> None:
        return None


def play(backend: Backend, data: str, task: Task, **front: Any) -> list[Any]:
    federation, model, dtype = FEDERATIONS[data]
    engine = engine_of(backend, federation, model, dtype, **front)
    models_KP = engine.layout.init_many(2, Key(5))
    seen: list[Any] = []
    for round in (1, 2):
        got = engine.chain(task, GROUPS, models_KP, np.array([0, 1, 1, 0, 0]), Key(7).at(round))
        ledger = engine.drain()
        engine.commit()
        seen += [plain(got), ledger.counts, ledger.diagnostics, ledger.events, kept(engine.snapshot()[0])]
    return seen


@pytest.mark.parametrize("data", FEDERATIONS)
@pytest.mark.parametrize("name", TASKS)
def test_whole_or_one_by_one(name: str, data: str) -> None:
    backend = Spied()
    whole = play(backend, data, TASKS[name])
    assert whole == play(OneByOne(), data, TASKS[name])
    if name != "train until it bursts":
        assert backend.whole == [name != "train with momentum kept"] * 2
        assert whole[0][0] == ("0", "2", "3"), "groups that answer"


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_threads_change_no_bit_and_need_no_process(workers: int) -> None:
    local = Workers(workers)
    try:
        assert play(local, "conv", TASKS["train"]) == play(Serial(), "conv", TASKS["train"])
        assert local._pool.workers == []
    finally:
        local.close()


def test_a_client_that_ends_in_no_numbers_is_skipped_as_ever() -> None:
    federation, model, dtype = FEDERATIONS["bytes"]
    backend = Spied()
    engine = engine_of(backend, federation, model, dtype)
    models_KP = engine.layout.init_many(2, Key(0))
    models_KP[1, 0] = np.nan
    got = engine.chain(TASKS["train"], [("c1", "c2"), ("c3", "c4")], models_KP, np.array([0, 1]), Key(1))
    assert backend.whole == [False]
    assert got.cohort == ("0",)
    assert [(f.client, f.reason) for f in got.failed] == [(c, "update is not finite") for c in ("c3", "c4")]


def test_a_call_of_its_own_is_never_bypassed() -> None:
    class Counted(Train):
        """Says how many samples it saw, doubled."""

        def __call__(self, *given: Any) -> Any:
            answer, keep = super().__call__(*given)
            return {**answer, "count": 2 * answer["count"]}, keep

    backend = Spied()
    seen = play(backend, "bytes", Counted(SGD()))
    assert backend.whole == [False] * 2
    assert seen == play(OneByOne(), "bytes", Counted(SGD()))


def test_a_time_limit_is_for_single_clients() -> None:
    backend = Spied()
    seen = play(backend, "bytes", TASKS["train"], timeout=1000.0)
    assert backend.whole == [False] * 2
    assert seen[0] == play(Serial(), "bytes", TASKS["train"])[0]


def test_chains_of_two_calls_are_not_one() -> None:
    class Taker(Spied):
        """Keeps what it is given."""

        def chains_at_once(self, units: Sequence[Unit], models_KP: Array | None) -> list[Outcome] | None:
            self.given = list(units)
            return super().chains_at_once(units, models_KP)

    federation, model, dtype = FEDERATIONS["bytes"]
    backend = Taker()
    engine = engine_of(backend, federation, model, dtype)
    models_KP = engine.layout.init_many(1, Key(0))
    engine.chain(TASKS["train"], [("c1",), ("c2",)], models_KP, np.array([0, 0]), Key(1))
    one, two = backend.given
    assert backend.whole == [True]
    assert backend.chains_at_once([one, replace(two, key=Key(2))], models_KP) is None  # type: ignore[type-var]


class Broken(Train):
    """Has a form for chains that raises an error."""

    error: ClassVar[type[Exception]] = ValueError
    asked: ClassVar[list[str]] = []

    def __call__(self, *given: Any) -> Any:
        return super().__call__(*given)

    def for_chains(self, cohort: CohortAtWork, lengths_M: Array, key: Key) -> CohortAnswers | None:
        self.asked.append(type(self).__name__)
        raise self.error("the form for chains is broken")


class Starved(Broken):
    error = MemoryError


def broken(kind: type[Train]) -> tuple[list[bool], Answers]:
    backend = Spied()
    federation, model, dtype = FEDERATIONS["bytes"]
    engine = engine_of(backend, federation, model, dtype)
    models_KP = engine.layout.init_many(2, Key(5))
    got = engine.chain(kind(SGD(lr=0.1)), [("c1", "c2"), (), ("c3",)], models_KP, np.array([0, 1, 1]), Key(7))
    return backend.whole, got


def test_an_error_of_chains_is_told_and_not_hidden() -> None:
    whole, got = broken(Broken)
    assert whole == [True] and got.cohort == ()
    assert [f.client for f in got.failed] == ["c1", "c2", "c3"]
    assert all("ValueError: the form for chains is broken" in f.reason for f in got.failed)


def test_chains_for_which_there_is_no_room_run_client_by_client() -> None:
    whole, got = broken(Starved)
    assert Starved.asked[-1] == "Starved"
    assert whole == [False] and got.cohort == ("0", "2") and not got.failed
    assert got["update"].tolist() == broken(Train)[1]["update"].tolist()
