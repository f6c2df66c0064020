"""How a round's time and memory grow: with clients, with parameters, with clients a round, on one worker and on all.

Synthetic data of at most 200 samples a client, made on demand; a perceptron and FedAvg. 20 clients train in a round and
100 are tested, unless that is what varies.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from shoal.algorithms import FedAvg
from shoal.backends import Workers
from shoal.bench.machine import Notify, cores, memory
from shoal.bench.rounds import MANY
from shoal.data.build import build
from shoal.engine import Engine
from shoal.kernels import native
from shoal.layout import Layout
from shoal.loop.plan import Plan
from shoal.loop.rounds import run_rounds
from shoal.models import factory
from shoal.net import Arithmetic
from shoal.seeds import Key
from shoal.selection import Random
from shoal.solvers import SGD


@dataclass(frozen=True)
class Point:
    """A setting of what varies."""

    what: str
    clients: int = 1000
    hidden: int = 64
    cohort: int = 20


BASE = Point("")
POINTS = (
    *(replace(BASE, what="clients", clients=n) for n in (100, 1000, 10_000, 100_000, 1_000_000)),
    *(replace(BASE, what="parameters", hidden=h) for h in (16, 64, 256, 1024)),
    *(replace(BASE, what="clients a round", cohort=k) for k in (10, 40, 160)),
)


def time_scaling(points: tuple[Point, ...], repeats: int, notify: Notify) -> list[dict[str, Any]]:
    """Milliseconds of a round, and the memory of all processes, at every point with one worker and with all."""
    how = Arithmetic(kernel="torch" if native() is None else "native")
    found = []
    for workers in sorted({1, cores()}):
        backend = Workers(workers)
        try:
            for point in points:
                notify(f"scaling: {point.what}, {workers} workers")
                found.append(one(point, backend, how, repeats) | {"workers": workers})
        finally:
            backend.close()
    return found


def one(point: Point, backend: Workers, arithmetic: Arithmetic, repeats: int) -> dict[str, Any]:
    federation = build(f"synthetic:1:1:clients={point.clients}:cap=200", None, Key(0))
    model = factory("mlp", federation.shape, federation.classes, hidden=point.hidden)
    layout = Layout.of(model, federation.sample())
    algorithm = FedAvg(select=Random(point.cohort), solver=SGD(lr=0.01, epochs=5, batch=10))
    plan = Plan(algorithm, federation, layout, rounds=MANY, seed=0, eval_clients=100, arithmetic=arithmetic)
    results = run_rounds(plan, Engine(backend, layout, arithmetic=arithmetic))
    for _ in range(3):  # round 0, and two to warm up
        next(results)
    took = []
    for _ in range(4 * repeats):
        began = time.perf_counter()
        next(results)
        took.append(time.perf_counter() - began)
    figures = {"clients": point.clients, "parameters": layout.size, "clients_per_round": point.cohort}
    return {"what": point.what, **figures, "ms_per_round": 1e3 * median(took), "memory": memory()}
