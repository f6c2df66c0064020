"""Central: one model on all data pooled, as if data could travel. The upper bound where clients agree."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from shoal.algorithms.fedavg import FedAvg, State
from shoal.algorithms.registry import algorithm
from shoal.seeds import Key
from shoal.selection import All
from shoal.solvers import SGD
from shoal.table import Serving
from shoal.types import EVERYBODY, Algorithm, Answers, Cohort, Engine, Record, Roster, Solver


@dataclass(frozen=True)
class Pool:
    """Selects the union of all data; the union of one client is that client."""

    def __call__(self, clients: Roster, key: Key) -> Cohort:
        return (EVERYBODY,) if len(clients) > 1 else All()(clients, key)


@algorithm("central", single_model=True, baseline="all data pooled", simulation_only=True)
@dataclass(frozen=True, kw_only=True)
class Central(Algorithm):
    """FedAvg with a single client that holds everything. Only in simulation.

    >>> import shoal
    >>> run = shoal.run(shoal.Central(), "digits", rounds=1, engine="serial")
    >>> run.history[1]["trained"]
    1
    """

    solver: Solver = SGD()

    state: ClassVar[type[State]] = State

    @property
    def averaging(self) -> FedAvg:
        return FedAvg(select=Pool(), solver=self.solver)

    def init(self, engine: Engine, key: Key) -> tuple[State, Record]:
        return self.averaging.init(engine, key)

    def step(self, state: State, engine: Engine, key: Key) -> tuple[State, Record]:
        state, record = self.averaging.step(state, engine, key)
        return state, replace(record, not_transmitted=True)  # it is the data that travelled, not the model

    def serve(self, state: State) -> Serving:
        return self.averaging.serve(state)

    def assign(self, state: State, cohort: Cohort, engine: Engine, key: Key) -> Answers:
        return self.averaging.assign(state, cohort, engine, key)
