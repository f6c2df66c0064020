"""What a round costs beside training, by engine: processor time of all processes, daemons included.

Clients of 20 samples make one step on a linear model and nobody is tested, so that messages are what is left.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from shoal.algorithms import FedAvg
from shoal.backends import Backend, RayWorkers, Workers
from shoal.bench.machine import Notify, cpu_seconds, in_a_process
from shoal.bench.rounds import MANY
from shoal.data.federation import Federation
from shoal.engine import Engine
from shoal.kernels import native
from shoal.layout import Layout
from shoal.loop.plan import Plan
from shoal.loop.rounds import run_rounds
from shoal.models import factory
from shoal.net import Arithmetic
from shoal.selection import All
from shoal.solvers import SGD

CASES = tuple((clients, workers) for clients in (20, 100) for workers in (1, 2))
ROUNDS = 10  # of a turn
SOLVER = SGD(lr=0.1, steps=1, batch=10)
MISSING = {"note": "not installed"}
OURS = """
import json, sys
from shoal.bench.engines import a_round
engine, kernel, *numbers = sys.argv[1:]
print(json.dumps({"cpu_ms": 1e3 * a_round(engine, kernel, *map(int, numbers))}))
"""
FLOWER = """
import json, sys
from shoal.bench.engines import SOLVER, federation_of, layout_of
from shoal.bench.machine import cpu_seconds
from shoal.bench.peers import Job
from shoal.bench.peers.with_flwr import play
clients, workers, rounds = map(int, sys.argv[1:])
fed = federation_of(clients)
job = Job({c: fed.client(c)("train") for c in fed.ids}, layout_of(fed), SOLVER, fed.classes)
print(json.dumps({"cpu": play(job, rounds, cpu_seconds, workers)}))
"""


def federation_of(clients: int) -> Federation:
    """Clients of 20 samples with 60 numbers each and 10 labels."""
    rng = np.random.default_rng(0)
    made = {
        f"{i:03d}": (rng.normal(size=(20, 60)).astype(np.float32), np.arange(20) % 10) for i in range(clients)
    }  # every label twice
    return Federation.from_arrays(made, test=0.0)


def layout_of(federation: Federation) -> Layout:
    """A linear model of 610 numbers."""
    return Layout.of(factory("mclr", federation.shape, federation.classes), federation.sample())


def time_engines(cases: Sequence[tuple[int, int]], repeats: int, notify: Notify) -> Iterator[dict[str, Any]]:
    """Processor milliseconds of a round of every engine, each in a process of its own; of one that is not installed,
    that it is not.
    """
    for clients, workers in cases:
        line = {"clients": clients, "workers": workers, "cpu_ms": None, "note": ""}
        for engine in ("local", "ray"):
            for kernel in ("native", "torch") if native() is not None else ("torch",):
                notify(f"engines: {clients} clients, {workers} workers, {engine}, {kernel}")
                found = MISSING
                if engine == "local" or importlib.util.find_spec("ray") is not None:
                    found = in_a_process(OURS, engine, kernel, clients, workers, ROUNDS * repeats)
                yield {**line, "engine": f"{engine}, {kernel}", **found}
        notify(f"engines: {clients} clients, {workers} workers, Flower")
        both = all(importlib.util.find_spec(name) is not None for name in ("flwr", "ray"))
        yield {**line, "engine": "Flower's simulation", **(with_flower(clients, workers, repeats) if both else MISSING)}


def a_round(engine: str, kernel: Any, clients: int, workers: int, rounds: int) -> float:
    """Processor seconds, after three rounds to warm up."""
    backend: Backend = Workers(workers) if engine == "local" else RayWorkers(workers, "local")
    federation, how = federation_of(clients), Arithmetic(kernel=kernel)
    layout = layout_of(federation)
    algorithm = FedAvg(select=All(), solver=SOLVER)
    plan = Plan(algorithm, federation, layout, rounds=MANY, seed=0, eval_every=MANY, arithmetic=how)
    try:
        results = run_rounds(plan, Engine(backend, layout, arithmetic=how))
        for _ in range(4):
            next(results)
        before = cpu_seconds()
        for _ in range(rounds):
            next(results)
        return (cpu_seconds() - before) / rounds
    finally:
        backend.close()


def with_flower(clients: int, workers: int, repeats: int) -> dict[str, Any]:
    """The same with Flower's simulation on Ray."""
    found = in_a_process(FLOWER, clients, workers, ROUNDS * repeats)
    return {"cpu_ms": 1e3 * sum(found["cpu"]) / len(found["cpu"])} if "cpu" in found else found
