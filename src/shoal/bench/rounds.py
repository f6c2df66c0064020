"""Times rounds: the plain loop and Shoal's engines take turns, so that what else the machine does meets all alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import torch

from shoal.backends import Backend, Serial, Workers
from shoal.bench.machine import Notify, cores, cpu_seconds, flops, memory, threads
from shoal.bench.plain import PlainLoop
from shoal.bench.workloads import Workload
from shoal.data.federation import Federation
from shoal.engine import Engine
from shoal.kernels import Network, native
from shoal.layout import Layout
from shoal.loop.plan import Plan
from shoal.loop.rounds import run_rounds
from shoal.net import Arithmetic
from shoal.seeds import Key

BRIEF = 0.3  # seconds that a turn should take at least
MANY = 100_000  # rounds of a plan: more than are ever played, and few enough to list, as the cost models do


@dataclass
class Contender:
    """Something that can play a round, and what its turns took."""

    name: str
    play: Callable[[], object]
    rounds: int  # of a turn
    threads: int = 1
    wall: list[float] = field(default_factory=list)  # seconds a round, of every turn
    cpu: list[float] = field(default_factory=list)

    def turn(self, rounds: int | None = None) -> tuple[float, float]:
        """Seconds and processor seconds a round; of so many rounds if it is not the usual number."""
        count = rounds or self.rounds
        with threads(self.threads):
            cpu, began = cpu_seconds(), time.perf_counter()
            for _ in range(count):
                self.play()
            took, spent = time.perf_counter() - began, cpu_seconds() - cpu
        return took / count, spent / count

    def clocked_turn(self) -> None:
        """A turn that counts."""
        wall, cpu = self.turn()
        self.wall.append(wall)
        self.cpu.append(cpu)


def time_rounds(workload: Workload, repeats: int, peak: float, compiled: bool, notify: Notify) -> dict[str, Any]:
    """One workload: milliseconds per local step in whole rounds, and how they compare with the plain loop."""
    federation, source = workload.federation()
    layout = workload.layout(federation)
    steps, work = cost(workload, federation, layout)
    most = 0
    with ExitStack() as stack:
        contenders = list(make_contenders(workload, federation, layout, compiled, stack))
        for c in contenders:  # one round warms up, and says how often the rounds fit into a turn
            notify(f"{workload.name}: {c.name}")
            c.rounds *= max(1, min(20, int(BRIEF / (c.turn(1)[0] * c.rounds))))
        for number in range(repeats):
            notify(f"{workload.name}: turn {number + 1} of {repeats}")
            for c in contenders:
                c.clocked_turn()
            most = max(most, memory())
    return {
        "workload": workload.name,
        "title": workload.title,
        "data": source,
        "clients": len(federation.ids),
        "clients_per_round": workload.cohort,
        "rounds": workload.rounds,
        "steps_per_round": steps,
        "gflop_per_round": work / 1e9,
        "peak_memory": most,
        "results": [line(c, contenders, steps, work, peak) for c in contenders],
    }


def line(c: Contender, contenders: list[Contender], steps: float, work: float, peak: float) -> dict[str, Any]:
    """The figures of one contender; ratios are medians over turns, each against the plain loop of the same turn."""
    plain = [p for p in contenders if p.name.startswith("plain")]
    best = min(plain, key=lambda p: median(p.wall))
    one = next(p for p in plain if p.threads == 1)
    return {
        "name": c.name,
        "ms_per_step": 1e3 * median(c.wall) / steps,
        "cpu_ms_per_step": 1e3 * median(c.cpu) / steps,
        "ratio": median(b / w for b, w in zip(best.wall, c.wall, strict=True)),
        "cpu_ratio": median(b / w for b, w in zip(one.cpu, c.cpu, strict=True)),
        "peak_fraction": work / median(c.cpu) / peak,
        "against": best.name,
    }


def make_contenders(
    workload: Workload, federation: Federation, layout: Layout, compiled: bool, stack: ExitStack
) -> Iterator[Contender]:
    """The plain loop with one thread and with all, then Shoal in one process and in all, with every kernel."""
    yield from plain_loops(workload, federation, layout, workload.rounds)
    ways = {"torch": Arithmetic()}
    if native() is not None and Network.of(layout.factory()) is not None:
        ways["native"] = Arithmetic(kernel="native")
    if compiled:
        ways["compiled"] = Arithmetic(compiled=True)
    for kernel, arithmetic in ways.items():
        for where, backend in open_backends(stack):
            plan = Plan(workload.algorithm(), federation, layout, rounds=MANY, seed=0, arithmetic=arithmetic)
            results = run_rounds(plan, Engine(backend, layout, arithmetic=arithmetic))
            next(results)  # round 0
            yield Contender(f"shoal, {where}, {kernel}", results.__next__, workload.rounds)


def open_backends(stack: ExitStack) -> Iterator[tuple[str, Backend]]:
    """One process, and all workers; closed with the stack."""
    backends: dict[str, Backend] = {"one process": Serial(), f"{cores()} workers": Workers(cores())}
    for where, backend in backends.items():
        stack.callback(backend.close)
        yield where, backend


def plain_loops(workload: Workload, federation: Federation, layout: Layout, rounds: int) -> Iterator[Contender]:
    """The plain loop with one thread and with all."""
    for count in sorted({1, cores()}):
        name = f"plain loop, {count} thread{'s' if count > 1 else ''}"
        yield Contender(name, PlainLoop(workload, federation, layout), rounds, count)


def cost(workload: Workload, federation: Federation, layout: Layout) -> tuple[float, float]:
    """Local steps and useful operations of a round: training of the cohort and the test of all clients."""
    solver, steps, passes = workload.solver, 0, 0
    for t in range(workload.rounds):
        for client in workload.select(federation.roster, Key(0).at(t)):
            n = federation.roster.size(client)
            steps += solver.steps_for(n)
            passes += solver.passes(n)
    x, y = federation.client(federation.ids[0])("train")
    there_and_back, there = flops(layout.module(layout.init(Key(0))), torch.as_tensor(x[:2]), torch.as_tensor(y[:2]))
    tested = int(federation.test.sizes.sum())
    return steps / workload.rounds, (there_and_back * passes / workload.rounds + there * tested) / 2
