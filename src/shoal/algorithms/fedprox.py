"""FedProx: FedAvg with a proximal local objective. Li et al., MLSys 2020, Algorithm 2. https://arxiv.org/abs/1812.06127"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from shoal.aggregators import Aggregator, weighted_mean
from shoal.algorithms.fedavg import FedAvg
from shoal.algorithms.parts.proximal_strength import Search, State, Strength, proximal_step
from shoal.algorithms.registry import algorithm
from shoal.costs import Parallel
from shoal.seeds import Key
from shoal.selection import Random
from shoal.solvers import SGD
from shoal.table import Serving
from shoal.types import Algorithm, Answers, Cohort, Engine, Record, Select, Solver, option


@algorithm("fedprox", single_model=True)
@dataclass(frozen=True, kw_only=True)
class FedProx(Algorithm):
    """FedAvg whose clients minimise `F_i(w) + (mu/2) |w - w_t|^2`; mu = 0 is FedAvg bit for bit.

    >>> import shoal
    >>> run = shoal.run(shoal.FedProx(), "digits", rounds=2, engine="serial")
    >>> [row["measures"]["mu"] for row in run.history[1:]]
    [0.0, 0.0]
    """

    mu: Strength = option("auto", "strength of the proximal term; auto: from 0 up whenever the loss rises", low=0)
    select: Select = Random()
    solver: Solver = SGD()
    aggregate: Aggregator = field(default_factory=weighted_mean)

    state: ClassVar[type[State]] = State

    @property
    def averaging(self) -> FedAvg:
        """All that FedProx is but for the proximal term."""
        return FedAvg(select=self.select, solver=self.solver, aggregate=self.aggregate)

    def init(self, engine: Engine, key: Key) -> tuple[State, Record]:
        begun, record = self.averaging.init(engine, key)
        return State(begun.w_KP, begun.server, (Search(),)), record

    def step(self, state: State, engine: Engine, key: Key) -> tuple[State, Record]:
        return proximal_step(self.averaging, self.mu, state, engine, key)

    def serve(self, state: State) -> Serving:
        return Serving(state.w_KP, kind="one")

    def assign(self, state: State, cohort: Cohort, engine: Engine, key: Key) -> Answers:
        return Answers(cohort, np.zeros(len(cohort), int))

    def parallel(self, rounds: int, clients: int) -> Parallel:
        return self.averaging.parallel(rounds, clients)
