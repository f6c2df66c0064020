"""Other simulators on the same work, each as its documentation recommends; one process each, training only."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from torch import nn

from shoal.bench.machine import last_json
from shoal.bench.workloads import Workload
from shoal.layout import Layout
from shoal.seeds import Key
from shoal.solvers import SGD
from shoal.types import Array

PEERS = {  # no model is written for the other workloads
    "W1": ("fedjax", "fedjax_hypcluster", "flwr", "pfl", "fluke"),
    "W3": ("flwr", "pfl", "fluke"),
}
MODULES = {"fedjax_hypcluster": "fedjax"}  # what a peer imports, if it is not called so
ROUNDS = 3  # that count, after one that warms up


@dataclass(frozen=True)
class Job:
    """Clients that all train every round, the model and how."""

    clients: dict[str, tuple[Array, Array]]
    layout: Layout
    solver: SGD
    classes: int

    @classmethod
    def of(cls, workload: Workload) -> Job:
        federation, _ = workload.federation()
        cohort = workload.select(federation.roster, Key(0).at(0))
        clients = {client: federation.client(client)("train") for client in cohort}
        return cls(clients, workload.layout(federation), workload.solver, federation.classes)

    @property
    def steps(self) -> int:
        """Local steps of a round."""
        how, sizes = self.solver, [len(y) for _, y in self.clients.values()]
        return sum(how.steps_for(n) for n in sizes)

    @property
    def epochs(self) -> list[int]:
        """Passes over the data of each client, for peers that count no steps: as many as have those steps."""
        how, sizes = self.solver, [len(y) for _, y in self.clients.values()]
        return [how.epochs if how.steps is None else -(-how.steps // -(-n // how.batch)) for n in sizes]

    @property
    def whole_epochs(self) -> int:
        """Local steps of a round in which everybody makes as many epochs as the one who needs most."""
        return sum(max(self.epochs) * -(-len(y) // self.solver.batch) for _, y in self.clients.values())

    def module(self) -> nn.Module:
        return self.layout.module(self.layout.init(Key(0)))


def time_peers(workload: Workload, quick: bool, notify: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """Milliseconds per step of every peer that can be imported; of the others, that they cannot."""
    for peer in PEERS[workload.name]:
        line: dict[str, Any] = {"workload": workload.name, "peer": peer, "ms_per_step": None, "note": "not installed"}
        if importlib.util.find_spec(MODULES.get(peer, peer)) is not None:
            notify(f"{workload.name}: {peer}")
            line |= alone(peer, workload.name, quick)
        yield line


def alone(peer: str, workload: str, quick: bool) -> dict[str, Any]:
    """A peer in a process of its own."""
    found = last_json("-m", "shoal.bench.peers", peer, workload, *(["quick"] if quick else []))
    if "seconds" not in found:
        return found
    return {"ms_per_step": 1e3 * median(found["seconds"]) / found["steps"], "note": found["version"]}


def clocked(rounds: Sequence[Callable[[], object]]) -> list[float]:
    """Seconds of every round but the first."""
    took = []
    for play in rounds:
        began = time.perf_counter()
        play()
        took.append(time.perf_counter() - began)
    return took[1:]
