"""Times rounds of clustered methods beside FedAvg's: training, whatever finds groups, and the test of all clients.

In round 1 everybody trains, so that all clients have a group and are tested in every round that counts; after it
each round has new clients, the same ones for every method.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median
from typing import Any

from shoal.algorithms import CFL, IFCA, FedAvg, FedGroup, FlexCFL, WeCFL
from shoal.backends import Backend
from shoal.bench.machine import Notify
from shoal.bench.rounds import MANY, Contender, open_backends
from shoal.bench.workloads import WORKLOADS, Workload
from shoal.data.drift import Drift, parse_drift
from shoal.data.federation import Federation
from shoal.engine import Engine
from shoal.kernels import Network, native
from shoal.layout import Layout
from shoal.loop.plan import Plan, RoundResult
from shoal.loop.rounds import run_rounds
from shoal.net import Arithmetic
from shoal.seeds import Key
from shoal.selection import Random
from shoal.types import Algorithm, Cohort, Roster

NAMES = ("W1", "W3")  # the workloads whose data are grouped
GROUPS = 3
DRIFT = "swap-all:0.05"  # each round, a twentieth of the clients exchange their data
ROUNDS = 10  # of a turn


@dataclass(frozen=True)
class EverybodyFirst:
    """Everybody in round 1, then random clients, new ones every round.

    >>> import numpy as np
    >>> roster = Roster(("a", "b", "c", "d"), np.ones(4))
    >>> [len(EverybodyFirst(2)(roster, Key(0).at(t))) for t in (1, 2, 3)]
    [4, 2, 2]
    """

    k: int

    def __call__(self, clients: Roster, key: Key) -> Cohort:
        return clients.ids if key.round <= 1 else Random(self.k)(clients, key)


@dataclass(frozen=True)
class Method:
    """An algorithm, the drift it meets, and how many rounds a turn has."""

    name: str
    algorithm: Algorithm
    rounds: int = ROUNDS
    drift: Drift = Drift()


def methods(workload: Workload) -> tuple[Method, ...]:
    """FedAvg, which the others are compared with, and the clustered methods."""
    how: dict[str, Any] = {"select": EverybodyFirst(workload.cohort), "solver": workload.solver}
    grouped = {"groups": GROUPS, **how}
    return (
        Method("FedAvg", FedAvg(**how)),
        Method("IFCA", IFCA(**grouped)),
        Method("FedGroup", FedGroup(**grouped)),
        Method("FlexCFL, with drift", FlexCFL(**grouped), drift=parse_drift(DRIFT)),
        Method("WeCFL, all clients", WeCFL(groups=GROUPS, solver=workload.solver), rounds=1),
        Method("CFL, all clients", CFL(solver=workload.solver), rounds=1),
    )


class Playing:
    """A method at work on one back end: its start is behind it, and the last round is at hand."""

    def __init__(self, method: Method, federation: Federation, layout: Layout, backend: Backend, where: str) -> None:
        able = native() is not None and Network.of(layout.factory()) is not None
        arithmetic = Arithmetic(kernel="native" if able else "torch")
        plan = Plan(method.algorithm, federation, layout, MANY, seed=0, drift=method.drift, arithmetic=arithmetic)
        self.results = run_rounds(plan, Engine(backend, layout, arithmetic=arithmetic))
        self.method, self.where = method, where
        began = time.perf_counter()
        for _ in range(2):  # round 0, and round 1 in which everybody trains
            self.last: RoundResult = next(self.results)
        self.start = time.perf_counter() - began
        self.contender = Contender(f"shoal, {where}, {arithmetic.kernel}, {method.name}", self.play, method.rounds)

    def play(self) -> None:
        self.last = next(self.results)


def time_clustered(repeats: int, quick: bool, notify: Notify) -> list[dict[str, Any]]:
    """Seconds a round of every method with every engine; all take turns."""
    chosen = [WORKLOADS[name].quick() if quick else WORKLOADS[name] for name in NAMES]
    return [time_methods(workload, repeats, notify) for workload in chosen]


def time_methods(workload: Workload, repeats: int, notify: Notify) -> dict[str, Any]:
    """The methods on the data of one workload."""
    federation, source = workload.federation()
    layout, playing = workload.layout(federation), list[Playing]()
    with ExitStack() as stack:
        _, warm_up = next(open_backends(stack))
        Playing(methods(workload)[0], federation, layout, warm_up, "")  # what is loaded once is nobody's start
        for method in methods(workload):
            for where, backend in open_backends(stack):
                notify(f"clustered {workload.name}: {method.name}, {where}")
                playing.append(Playing(method, federation, layout, backend, where))
        for number in range(repeats):
            notify(f"clustered {workload.name}: turn {number + 1} of {repeats}")
            for p in playing:
                p.contender.clocked_turn()
    return {
        "workload": workload.name,
        "title": workload.title,
        "data": source,
        "clients": len(federation.ids),
        "groups": GROUPS,
        "drift": DRIFT,
        "rounds": ROUNDS,
        "results": [line(p, playing) for p in playing],
    }


def line(p: Playing, playing: list[Playing]) -> dict[str, Any]:
    """The figures of one method; how many times FedAvg's time is a median over turns, with the same engine."""
    fedavg = next(other for other in playing if other.where == p.where).contender
    mine, row = p.contender, p.last.row
    return {
        "name": mine.name,
        "method": p.method.name,
        "where": p.where,
        "clients_per_round": row["trained"],
        "tested": row.get("tested", len(row["clients"]["ids"])),
        "start_s": p.start,
        "s_per_round": median(mine.wall),
        "cpu_s_per_round": median(mine.cpu),
        "times_fedavg": median(m / f for m, f in zip(mine.wall, fedavg.wall, strict=True)),
    }
