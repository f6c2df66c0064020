"""FedAvg: federated averaging. McMahan et al., AISTATS 2017, Algorithm 1. https://arxiv.org/abs/1602.05629"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from shoal.aggregators import Aggregator, ServerState, per_group, weighted_mean
from shoal.algorithms.registry import algorithm
from shoal.costs import Parallel
from shoal.seeds import Key
from shoal.selection import Random, most
from shoal.solvers import SGD
from shoal.table import Serving
from shoal.tasks import Train
from shoal.types import Algorithm, Answers, Array, Cohort, Engine, Record, Select, Solver


@dataclass(frozen=True)
class State:
    """One model, and what the server's aggregator carries on."""

    w_KP: Array  # K = 1
    server: ServerState = field(default_factory=dict)


@algorithm("fedavg", single_model=True, baseline="one model for all (FedAvg)")
@dataclass(frozen=True, kw_only=True)
class FedAvg(Algorithm):
    """One global model, the sample-weighted mean of what the selected clients learn.

    >>> import shoal
    >>> run = shoal.run(shoal.FedAvg(), "digits", rounds=1, engine="serial")
    >>> run.groups[run.clients[0]]
    0
    """

    select: Select = Random()
    solver: Solver = SGD()
    aggregate: Aggregator = field(default_factory=weighted_mean)

    state: ClassVar[type[State]] = State

    @property
    def task(self) -> Train:
        """What a selected client does."""
        return Train(self.solver)

    def init(self, engine: Engine, key: Key) -> tuple[State, Record]:
        w_KP = engine.layout.init_many(1, key("init"))
        return State(w_KP, per_group(self.aggregate, engine.layout).init(w_KP)), Record()

    def step(self, state: State, engine: Engine, key: Key) -> tuple[State, Record]:
        cohort = self.select(engine.clients, key("select"))
        got = engine.map(self.task, cohort, state.w_KP, np.zeros(len(cohort), int), key("train"))
        w_KP, server = per_group(self.aggregate, engine.layout).apply(state.w_KP, got, state.server, key("aggregate"))
        return State(w_KP, server), Record(trained=got)

    def serve(self, state: State) -> Serving:
        return Serving(state.w_KP, kind="one")

    def assign(self, state: State, cohort: Cohort, engine: Engine, key: Key) -> Answers:
        return Answers(cohort, np.zeros(len(cohort), int))

    def parallel(self, rounds: int, clients: int) -> Parallel:
        """For the cost models: every client is a group, the selected ones train."""
        return Parallel([clients] * rounds, most(self.select, clients) / clients)
