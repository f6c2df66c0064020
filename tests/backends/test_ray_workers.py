"""Actors of Ray: equal bits whatever dies, nobody left out who did nothing, machines that join, unlike ones refused."""

from __future__ import annotations

import importlib
import os
import socket
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pytest
from tests.backends.ray_cluster import Struck, cluster, shoot
from tests.conftest import small_net
from tests.support import Telling

import shoal
from shoal.backends import Backend, RayWorkers, Serial, ray_pool
from shoal.backends.ray_pool import RayWorker
from shoal.data.federation import Federation
from shoal.engine import Engine
from shoal.errors import BadInput, ShoalError
from shoal.experiment.engines_agree import digest_of
from shoal.layout import Layout
from shoal.net import Net
from shoal.seeds import Key
from shoal.types import ClientData, Field, Memory, Task

OWN: dict[str, Any] = {"groups": 2, "pretrain_steps": 6, "momentum": 0.9, "momentum_memory": "kept"}


def test_without_the_package_it_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(BadInput, match=r"engine=ray needs the package ray; .* pip install 'shoal\[ray\]'"):
        shoal.run("fedavg", rounds=1, engine="ray")


def test_what_is_not_possible_is_said_before_anything_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray", reason="needs the package ray: pip install 'shoal[ray]'")
    with pytest.raises(BadInput, match="workers must be at least 1"):
        RayWorkers(0)
    with pytest.raises(BadInput, match=r"address=10.0.0.1:6379 belongs to engine=ray, not to engine=local"):
        shoal.run("fedavg", rounds=1, address="10.0.0.1:6379")
    with pytest.raises(BadInput, match="address=ray://head:10001 is not possible: use auto, local or HOST:PORT"):
        shoal.run("fedavg", rounds=1, engine="ray", address="ray://head:10001")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]  # nobody listens there from now on
    monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{port}")
    with pytest.raises(BadInput, match=rf"there is no Ray cluster at address=127.0.0.1:{port} \(.*\); is it started"):
        shoal.run("fedavg", rounds=1, engine="ray")


def flexcfl(toy: Federation, engine: Any, **settings: Any) -> str:
    """FlexCFL keeps vectors on clients, momentum is kept, all are tested; nobody may be left out."""
    run = shoal.run("flexcfl", toy, small_net, rounds=2, seed=1, engine=engine, **OWN, **settings)
    assert not run.summary["left_out"]
    return digest_of(run)


@pytest.fixture(scope="module")
def two_nodes() -> Iterator[Any]:
    with cluster(1, 1) as made:
        yield made


@pytest.mark.slow
def test_actors_killed_from_outside_change_no_bit(two_nodes: Any, toy: Federation) -> None:
    shots = []

    def strike(workers: Struck, worker: RayWorker, handed: int) -> None:
        for victim in workers.members if handed == 11 else [worker]:
            if handed in (4, 11, 18, 30) and victim.usable and not workers.alone(victim):
                shots.append(handed)
                shoot(victim)

    struck = Struck(two_nodes.address, strike)
    try:
        assert flexcfl(toy, struck) == flexcfl(toy, "serial")
    finally:
        struck.close()
    assert len(shots) >= 3


@pytest.mark.slow
def test_a_node_killed_in_the_middle_of_a_round_changes_no_bit_and_one_that_joins_is_used(
    toy: Federation, caplog: pytest.LogCaptureFixture
) -> None:
    with cluster(1) as made:
        doomed, used = made.add_node(num_cpus=2), set[str]()

        def strike(workers: Struck, worker: RayWorker, handed: int) -> None:
            used.add(worker.node)
            nonlocal doomed
            if doomed is not None and len(used) == 2 and worker.node == doomed.node_id:  # it has just got work
                made.remove_node(doomed, allow_graceful=False)
                doomed = None

        struck, want = Struck(made.address, strike), flexcfl(toy, "serial")
        try:
            while doomed is not None:  # until actors have started on both
                assert flexcfl(toy, struck) == want
            assert len(caplog.messages) <= 1  # none where the actor is known to be lost before its machine is
            assert all(said.endswith("is lost; its clients are done elsewhere") for said in caplog.messages)
            joined = made.add_node(num_cpus=1)
            used.clear()
            while joined.node_id not in used:  # an actor has to start there
                assert flexcfl(toy, struck) == want
        finally:
            struck.close()


@dataclass(frozen=True)
class Odd(Task):
    """Client c01 takes its process down, client c02 never ends."""

    name: ClassVar[str] = "odd"
    models: ClassVar[Literal["none"]] = "none"
    fields: ClassVar[Mapping[str, Field]] = {"pid": Field("int")}

    def __call__(self, net: Net, models: Any, data: ClientData, memory: Memory, key: Key) -> tuple[Any, Memory]:
        if key.client == "c01":
            os._exit(7)
        if key.client == "c02":
            threading.Event().wait()
        return {"pid": os.getpid()}, memory

    def work(self, samples: int, models: int) -> tuple[int, int]:
        return 0, 0


@pytest.mark.slow
def test_who_kills_two_actors_or_takes_too_long_is_left_out_and_nobody_else(two_nodes: Any, toy: Federation) -> None:
    workers = RayWorkers(address=two_nodes.address)
    engine = Engine(workers, Layout.of(small_net, toy.sample()), timeout=2.0)
    engine.set_federation(toy)
    try:
        got = engine.map(Odd(), toy.ids, None, None, Key(0))
    finally:
        workers.close()
    reasons = {f.client: f.reason for f in got.failed}
    assert reasons == {"c01": "failed: its Ray worker process died twice", "c02": "late: no answer after 2 s"}
    assert set(got.cohort) == set(toy.ids) - {"c01", "c02"}
    assert os.getpid() not in got["pid"]


@pytest.mark.slow
def test_answers_of_declared_shapes_come_back(two_nodes: Any, toy: Federation) -> None:
    def told(backend: Backend) -> list[Any]:
        engine = Engine(backend, Layout.of(small_net, toy.sample()))
        engine.set_federation(toy)
        w_KP = engine.layout.init_many(1, Key(3))
        got = [
            engine.map(Telling(), toy.ids, w_KP, np.zeros(len(toy.ids), int), Key(0)),
            engine.chain(Telling(), [toy.ids[:3]], w_KP, np.zeros(1, int), Key(0)),
        ]
        return [answers[name].tolist() for answers in got for name in Telling.fields]

    workers = RayWorkers(address=two_nodes.address)
    try:
        assert told(workers) == told(Serial())
    finally:
        workers.close()


@pytest.mark.slow
def test_what_cannot_be_taken_in_is_one_sentence(two_nodes: Any, toy: Federation, tmp_path: Path) -> None:
    """A module that is here and not where actors look: the run ends, whatever they are told afterwards."""
    (tmp_path / "mine.py").write_text("from torch import nn\n\ndef net() -> nn.Module:\n    return nn.Linear(6, 3)\n")
    workers = RayWorkers(address=two_nodes.address)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.syspath_prepend(tmp_path)
            net = importlib.import_module("mine").net
            assert shoal.run("fedavg", toy, net, rounds=1, engine=workers).summary["left_out"] == 0
            (tmp_path / "mine.py").unlink()
            workers.close()
            with pytest.raises(ShoalError, match=r"a Ray worker cannot go on \(ModuleNotFoundError: .*\); what is"):
                shoal.run("fedavg", toy, net, rounds=1, engine=workers)
    finally:
        workers.close()


@pytest.mark.slow
def test_a_machine_that_computes_other_bits_gets_no_work(
    toy: Federation, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with cluster(1) as made:
        other = made.add_node(num_cpus=1, env_vars={"SHOAL_KERNEL_VARIANT": "none"})
        used: list[str] = []
        struck = Struck(made.address, lambda workers, worker, handed: used.append(worker.node))
        try:
            while not caplog.records:
                flexcfl(toy, struck)
            assert other.node_id not in used
        finally:
            struck.close()
        (record,) = caplog.records
        assert "computes other bits than this machine (kernel none there, " in record.getMessage()
        monkeypatch.setattr(ray_pool, "facts", lambda: {"kernel": "another"})
        alone = RayWorkers(address=made.address)
        try:
            with pytest.raises(ShoalError, match="no machine of the Ray cluster computes like this one"):
                flexcfl(toy, alone)
        finally:
            alone.close()


@pytest.mark.slow
def test_one_pool_serves_one_run_after_another_and_large_arrays_lie_in_store(two_nodes: Any, toy: Federation) -> None:
    """First data and model of more than a megabyte each; then small ones; then a model that cannot be sent."""
    rng = np.random.default_rng(0)
    large = {f"c{i}": (rng.normal(size=(300, 100)).astype(np.float32), rng.integers(0, 3, 300)) for i in range(12)}
    workers = RayWorkers(address=two_nodes.address)
    words: dict[str, Any] = {"rounds": 2, "drift": "swap-all:0.5", "clients_per_round": 6}
    try:
        for data, model in ((Federation.from_arrays(large), "mlp:hidden=3000"), ("digits", "mclr")):
            first = digest_of(shoal.run("fedavg", data, model, engine="serial", **words))
            assert digest_of(shoal.run("fedavg", data, model, engine=workers, **words)) == first
            said: Any = workers._pool
            assert any(refs for _, (_, _, _, refs) in said._said.values()) == (model != "mclr")
        lock = threading.Lock()

        def locked() -> Any:
            with lock:
                return small_net()

        with pytest.raises(BadInput, match="the layout cannot be sent to worker processes"):
            shoal.run("fedavg", toy, locked, engine=workers, rounds=1)
    finally:
        workers.close()
