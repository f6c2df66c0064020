"""FedProx: FedAvg with a proximal local objective. Li et al., MLSys 2020, Algorithm 2. https://arxiv.org/abs/1812.06127"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from shoal.aggregators import Aggregator, weighted_mean
from shoal.algorithms.fedavg import FedAvg, State
from shoal.seeds import Key
from shoal.selection import Random
from shoal.solvers import SGD, Proximal
from shoal.table import Serving
from shoal.types import Answers, Cohort, Engine, Record, Select, option


@dataclass(frozen=True, kw_only=True)
class FedProx:
    """FedAvg whose clients minimise `F_i(w) + (mu/2) |w - w_t|^2`; mu = 0 is FedAvg bit for bit.

    >>> import shoal
    >>> run = shoal.run(shoal.FedProx(mu=0.1), "digits", rounds=1, engine="serial")
    >>> len(run.models)
    1
    """

    mu: float = option(1.0, "strength of the proximal term", low=0)
    select: Select = Random()
    solver: SGD = SGD()
    aggregate: Aggregator = field(default_factory=weighted_mean)

    state: ClassVar[type[State]] = State

    @property
    def averaging(self) -> FedAvg:
        """FedAvg with the proximal term in its solver: all that FedProx is."""
        return FedAvg(select=self.select, solver=self.solver.plus(Proximal(self.mu)), aggregate=self.aggregate)

    def init(self, engine: Engine, key: Key) -> tuple[State, Record]:
        return self.averaging.init(engine, key)

    def step(self, state: State, engine: Engine, key: Key) -> tuple[State, Record]:
        return self.averaging.step(state, engine, key)

    def serve(self, state: State) -> Serving:
        return self.averaging.serve(state)

    def assign(self, state: State, cohort: Cohort, engine: Engine, key: Key) -> Answers:
        return self.averaging.assign(state, cohort, engine, key)
