"""A back end whose devices hold memory and samples themselves: the engine asks it as it asks a simulation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from tests.conftest import small_net

import shoal
from shoal.backends import Backend, Outcome, Serial, Site, Unit
from shoal.backends.site import one_thread
from shoal.data.federation import Federation, Source
from shoal.engine import Engine
from shoal.errors import TooFewAnswers
from shoal.layout import Layout
from shoal.net import Arithmetic, Net
from shoal.seeds import Key
from shoal.tasks import StoreDirections, Train
from shoal.types import Array, Memory, Ref


class Device:
    """One client's own store: what it keeps, what it would keep of this round, and of which unit."""

    def __init__(self) -> None:
        self.kept: Memory = {}
        self.pending: Memory | None = None
        self.offered: Memory = {}


class Devices:
    """Runs a unit on the devices of its clients. Nothing that they keep is ever seen outside."""

    holds_data = False

    def open(self, layout: Layout, arithmetic: Arithmetic) -> None:
        self.net = Net(layout, arithmetic)
        self.devices: dict[str, Device] = {}

    def set_federation(self, federation: Source) -> None:
        self.site = Site(self.net, federation)

    def run(self, units: Sequence[Unit], models_KP: Array | None) -> Iterator[tuple[int, Outcome]]:
        self.offers: dict[int, list[Device]] = {}
        for number in reversed(range(len(units))):  # in any order
            mine = {c: self.devices.setdefault(c, Device()) for c in units[number].who}
            now = {c: d.kept if d.pending is None else d.pending for c, d in mine.items()}
            with one_thread():
                out = units[number](self.site, models_KP, now)
            for client, memory in out.memories.items():
                mine[client].offered = {name: own(value, models_KP) for name, value in memory.items()}
            self.offers[number] = [mine[client] for client in out.memories]
            yield number, Outcome(out.answer, {}, out.failed)

    def whole_cohort(self, *asked: Any) -> None:
        """Nobody but a device has its data."""

    def log_probabilities(self, *asked: Any) -> None:
        """Nobody but a device has its data."""

    def keep(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            for device in self.offers[number]:
                device.pending = device.offered

    def commit(self) -> None:
        for device in self.devices.values():
            device.kept, device.pending = device.kept if device.pending is None else device.pending, None

    def rollback(self) -> None:
        for device in self.devices.values():
            device.pending = None

    def snapshot(self) -> tuple[Mapping[str, Memory], Array]:
        return {}, np.zeros((0, self.net.layout.size), self.net.layout.dtype)

    def restore(self, memories: Mapping[str, Memory], vectors_VP: Array) -> None:
        self.rollback()

    def close(self) -> None:
        self.devices = {}


def own(value: Any, models_KP: Array | None) -> Any:
    """A copy on the device of vectors that it was sent."""
    if not isinstance(value, Ref):
        return value
    assert value.sent and models_KP is not None
    return models_KP[value.rows[0]].copy() if value.flat else models_KP[list(value.rows)]


@pytest.mark.parametrize(
    ("name", "own_keys"),
    [
        ("flexcfl", {"groups": 2, "pretrain_steps": 6, "migration": "aligned", "drift": "swap-all:0.3"}),
        ("fedavg", {"momentum": 0.9, "momentum_memory": "kept"}),
        ("naivegsp", {"groups": 3, "kappa": 1, "momentum": 0.9, "momentum_memory": "kept"}),
    ],
)
def test_devices_that_hold_their_memory_learn_what_simulated_ones_learn(
    toy: Federation, name: str, own_keys: dict[str, Any]
) -> None:
    backends: list[Backend] = [Serial(), Devices()]
    found = [shoal.run(name, toy, small_net, rounds=3, seed=2, engine=backend, **own_keys) for backend in backends]
    one, two = (run.serving for run in found)
    assert one.models_KP.tobytes() == two.models_KP.tobytes()
    assert dict(found[0].groups) == dict(found[1].groups)
    assert found[0].summary["vectors"] == found[1].summary["vectors"]
    for a, b in zip(found[0].history, found[1].history, strict=True):  # one by one instead of in bulk: the same counts
        assert a.get("clients") == b.get("clients")


def test_a_device_forgets_a_round_that_does_not_count(toy: Federation) -> None:
    devices = Devices()
    engine = Engine(devices, Layout.of(small_net, toy.sample()), min_answers=2)
    engine.set_federation(toy)
    w_KP = engine.layout.init_many(3, Key(0))
    engine.map(StoreDirections(), ("c00", "c01"), w_KP, None, Key(0))
    engine.commit()
    engine.map(StoreDirections(), ("c00", "c01"), w_KP[1:], None, Key(0))
    assert len(devices.devices["c00"].pending or {}) == 3
    with pytest.raises(TooFewAnswers):
        engine.map(Train(shoal.SGD()), ("zoe", "yan"), w_KP, np.zeros(2, int), Key(0))
    engine.rollback()
    assert devices.devices["c00"].kept["directions"].tobytes() == w_KP[1:].tobytes()
    assert devices.devices["c00"].pending is None
    assert engine.snapshot()[0] == {}
