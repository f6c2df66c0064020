"""All clients of a federation in every round, on Ray: what comes back, and what the command does with it.

Clients of 20 samples make one step and nobody is tested, so that answers are what is left.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Iterator, Sequence
from typing import Any

from shoal.algorithms import FedAvg
from shoal.backends import RayWorkers
from shoal.bench.engines import SOLVER, federation_of
from shoal.bench.machine import Notify, cpu_seconds, in_a_process
from shoal.bench.rounds import MANY
from shoal.engine import Engine
from shoal.kernels import native
from shoal.layout import Layout
from shoal.loop.plan import Plan
from shoal.loop.rounds import run_rounds
from shoal.models import factory
from shoal.net import Arithmetic
from shoal.selection import All

CASES = ((1000, 8), (10_000, 8), (1000, 1400))  # clients, and the width of a perceptron: 578 and 99,410 numbers
WORKERS = 2
CODE = """
import json, sys
from shoal.bench.everybody import one
print(json.dumps(one(*map(int, sys.argv[1:]))))
"""


def time_everybody(cases: Sequence[tuple[int, int]], repeats: int, notify: Notify) -> Iterator[dict[str, Any]]:
    """Bytes of a round's answers, processor milliseconds of the command and of all processes."""
    for clients, hidden in cases:
        notify(f"everybody: {clients:,} clients, {hidden} units")
        there = importlib.util.find_spec("ray") is not None
        found = in_a_process(CODE, clients, hidden, 3 * repeats) if there else {"note": "not installed"}
        yield {"clients": clients, "workers": WORKERS, **found}


def one(clients: int, hidden: int, rounds: int) -> dict[str, Any]:
    """So many rounds after two to warm up."""
    federation = federation_of(clients)
    model = factory("mlp", federation.shape, federation.classes, hidden=hidden)
    layout = Layout.of(model, federation.sample())
    how = Arithmetic(kernel="torch" if native() is None else "native")
    algorithm = FedAvg(select=All(), solver=SOLVER)
    plan = Plan(algorithm, federation, layout, rounds=MANY, seed=0, eval_every=MANY, arithmetic=how)
    backend = RayWorkers(WORKERS, "local")
    try:
        results = run_rounds(plan, Engine(backend, layout, arithmetic=how))
        for _ in range(3):
            next(results)
        before = time.process_time(), cpu_seconds()
        for _ in range(rounds):
            row = next(results).row
        command, everything = time.process_time() - before[0], cpu_seconds() - before[1]
    finally:
        backend.close()
    spent = {"command_cpu_ms": 1e3 * command / rounds, "cpu_ms": 1e3 * everything / rounds}
    return {"parameters": layout.size, "bytes": row["traffic"]["train"]["bytes_up"], **spent}
