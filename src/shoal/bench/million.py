"""A million clients, produced on demand, of which 200 train in a round: processor time, and memory by process.

Synthetic data of at most 200 samples a client, a linear model of 610 numbers, FedAvg over five epochs, 200 tested.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shoal.algorithms import FedAvg
from shoal.backends import Backend, RayWorkers, Workers
from shoal.bench.machine import Notify, cpu_seconds, in_a_process
from shoal.bench.rounds import MANY
from shoal.data.build import build
from shoal.engine import Engine
from shoal.kernels import native
from shoal.layout import Layout
from shoal.loop.plan import Plan
from shoal.loop.rounds import run_rounds
from shoal.models import factory
from shoal.net import Arithmetic
from shoal.observers.memory import family, pss
from shoal.seeds import Key
from shoal.selection import Random
from shoal.solvers import SGD

ROUNDS, WORKERS = 5, 2  # rounds of a turn
CODE = """
import json, sys
from shoal.bench.million import one
print(json.dumps(one(sys.argv[1], *map(int, sys.argv[2:]))))
"""


def time_million(clients: int, cohort: int, repeats: int, notify: Notify) -> Iterator[dict[str, Any]]:
    """Milliseconds of processor time of a round, and memory by process, on one machine and on Ray."""
    for engine in ("local", "ray"):
        notify(f"million: {clients:,} clients, {engine}")
        line = {"engine": engine, "clients": clients, "clients_per_round": cohort, "workers": WORKERS}
        there = engine == "local" or importlib.util.find_spec("ray") is not None
        asked = (engine, clients, cohort, ROUNDS * repeats)
        yield {**line, **(in_a_process(CODE, *asked) if there else {"note": "not installed"})}


def one(engine: str, clients: int, cohort: int, rounds: int) -> dict[str, Any]:
    """So many rounds after two to warm up; the most that each process has needed after a round."""
    backend: Backend = Workers(WORKERS) if engine == "local" else RayWorkers(WORKERS, "local")
    federation = build(f"synthetic:1:1:clients={clients}:cap=200", None, Key(0))
    layout = Layout.of(factory("mclr", federation.shape, federation.classes), federation.sample())
    how = Arithmetic(kernel="torch" if native() is None else "native")
    algorithm = FedAvg(select=Random(cohort), solver=SGD(lr=0.01, epochs=5, batch=10))
    plan = Plan(algorithm, federation, layout, rounds=MANY, seed=0, eval_clients=cohort, arithmetic=how)
    most: dict[int, int] = {}
    spent = 0.0
    try:
        results = run_rounds(plan, Engine(backend, layout, arithmetic=how))
        for number in range(rounds + 3):  # round 0 first
            before = cpu_seconds()
            next(results)
            spent += cpu_seconds() - before if number > 2 else 0.0
            most |= {pid: max(pss(pid), most.get(pid, 0)) for pid in family(os.getpid())}
        memory: dict[str, list[int]] = {"command": [], "worker": [], "daemon": []}
        for pid, size in most.items():
            memory[kind_of(pid)].append(size)
    finally:
        backend.close()
    return {"rounds": rounds, "cpu_ms": 1e3 * spent / rounds, "memory": memory}


def kind_of(pid: int) -> str:
    """What a process of this family does: `command`, `worker`, or `daemon`, one of Ray's own.

    >>> kind_of(os.getpid())
    'command'
    """
    if pid == os.getpid():
        return "command"
    try:
        words = Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return "daemon"
    return "worker" if words.startswith("ray::Actor") or "process_worker" in words else "daemon"
