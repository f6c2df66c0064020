"""A worker's portion in one call of the kernel leaves what its units leave one by one, bit for bit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.contract import test_whole_chains, test_whole_cohorts
from tests.contract.test_whole_cohorts import FEDERATIONS, TASKS, OneByOne, engine_of, play

from shoal.backends import worker
from shoal.backends.backend import Outcome, Unit
from shoal.backends.site import one_thread
from shoal.backends.unit import Chain, OneClient, Slice
from shoal.backends.worker import at_once, run_all
from shoal.data.samples import View
from shoal.kernels import native
from shoal.layout import Layout
from shoal.net import Arithmetic
from shoal.seeds import Key
from shoal.solvers import SGD
from shoal.tasks import Evaluate, Train
from shoal.types import EVERYBODY, Array

pytestmark = pytest.mark.skipif(native() is None, reason="there is no native kernel")

TRAIN = Train(SGD(batch=5))


class InOnePortion(OneByOne):
    """What a worker does that got all units of a call in one message."""

    def open(self, layout: Layout, arithmetic: Arithmetic) -> None:
        super().open(layout, arithmetic)
        self.whole: list[bool] = []

    def chains_at_once(self, units: Sequence[Unit], models_KP: Array | None) -> None:
        return None

    def run(self, units: Sequence[Unit], models_KP: Array | None) -> Iterator[tuple[int, Outcome]]:
        assert self._site is not None
        self._begin(models_KP)
        self._site.vectors_VP = self.snapshot()[1]
        work = [(unit, self._memories(unit.who)) for unit in units]
        with one_thread():
            self.whole.append(at_once(work, self._site, models_KP) is not None)
            outcomes = run_all(work, self._site, models_KP)
        for number, outcome in enumerate(outcomes):
            yield self._offer(number, outcome)


@pytest.mark.parametrize("data", ["bytes", "doubles", "conv with batch norm"])
@pytest.mark.parametrize("name", TASKS)
def test_clients(name: str, data: str) -> None:
    task, sent = TASKS[name]
    federation, model, dtype = FEDERATIONS[data]
    backend = InOnePortion()
    portion = play(engine_of(backend, federation, model, dtype), federation, task, sent)
    one_by_one = play(engine_of(OneByOne(), federation, model, dtype), federation, task, sent)
    for here, there in zip(portion, one_by_one, strict=True):
        assert here == there
    assert all(backend.whole) or name in test_whole_cohorts.FAIL


@pytest.mark.parametrize("name", test_whole_chains.TASKS)
def test_chains(name: str) -> None:
    task, backend = test_whole_chains.TASKS[name], InOnePortion()
    assert test_whole_chains.play(backend, "bytes", task) == test_whole_chains.play(OneByOne(), "bytes", task)
    assert all(backend.whole) == (name not in ("train with momentum kept", "train until it bursts"))


def opened() -> tuple[Any, Array]:
    """A worker's site, and models."""
    federation, model, dtype = FEDERATIONS["bytes"]
    backend = InOnePortion()
    models_KP = engine_of(backend, federation, model, dtype).layout.init_many(2, Key(5))
    assert backend._site is not None
    backend._site.vectors_VP = np.zeros((0, models_KP.shape[1]), np.float32)
    return backend._site, models_KP


def test_what_is_not_alike_goes_one_by_one() -> None:
    """Another task, another call's key, a time limit, a client twice, all clients at once, no such model."""
    site, models_KP = opened()
    a, b = (OneClient(TRAIN, name, 0, Key(1).of(name), 1) for name in ("c1", "c2"))

    def together(*units: Unit) -> bool:
        return at_once([(unit, {}) for unit in units], site, models_KP) is not None

    assert together(a, b) and together(a, replace(b, which=1))
    assert not together(a, replace(b, task=Train(SGD(batch=5))))
    assert not together(a, replace(b, key=Key(2).of("c2"))) and not together(a, replace(b, key=Key(1).of("c1")))
    assert not together(a, replace(b, timeout=9.0))
    assert not together(a, b, a)
    assert not together(a, replace(b, client=EVERYBODY, key=Key(1).of(EVERYBODY)))
    assert not together(a, replace(b, which=2)) and not together(a, replace(b, which=-1))
    chain = Chain(TRAIN, ("c3", "c4"), 0, Key(1), {"P": models_KP.shape[1]}, {"c3": 30, "c4": 11}, 41)
    assert together(chain, chain) and not together(chain, a)
    assert not together(Slice(Evaluate(), np.arange(3), View(), 0), Slice(Evaluate(), np.arange(3), View(), 1))


def test_what_is_raised_for_all_is_the_failure_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of clients that the federation does not have; and a single unit is not worth a look at all samples."""
    site, models_KP = opened()
    units = [OneClient(TRAIN, name, 0, Key(1).of(name), 1) for name in ("c1", "nobody")]
    good, bad = run_all([(unit, {}) for unit in units], site, models_KP)
    assert good.answer is not None and not good.failed
    assert bad.answer is None and bad.failed[0].client == "nobody"
    monkeypatch.setattr(worker, "at_once", None)
    assert run_all([(units[0], {})], site, models_KP)[0].answer is not None
