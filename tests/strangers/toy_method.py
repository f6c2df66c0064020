"""A method of a stranger's own, in one file: FedAvg that goes only part of the way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import shoal
from shoal import SGD, FedAvg, Random
from shoal.algorithms.fedavg import State
from shoal.seeds import Key
from shoal.table import Serving
from shoal.types import Algorithm, Answers, Cohort, Engine, Record, Select, Solver, option


@shoal.algorithm("toy", single_model=True)
@dataclass(frozen=True, kw_only=True)
class Toy(Algorithm):
    """FedAvg that goes only part of the way."""

    share: float = option(0.5, "how much of the way the server goes", low=0)
    select: Select = Random()
    solver: Solver = SGD()

    state: ClassVar[type[State]] = State

    @property
    def averaging(self) -> FedAvg:
        return FedAvg(select=self.select, solver=self.solver)

    def init(self, engine: Engine, key: Key) -> tuple[State, Record]:
        return self.averaging.init(engine, key)

    def step(self, state: State, engine: Engine, key: Key) -> tuple[State, Record]:
        new, record = self.averaging.step(state, engine, key)
        return replace(new, w_KP=state.w_KP + (new.w_KP - state.w_KP) * self.share), record

    def serve(self, state: State) -> Serving:
        return self.averaging.serve(state)

    def assign(self, state: State, cohort: Cohort, engine: Engine, key: Key) -> Answers:
        return self.averaging.assign(state, cohort, engine, key)
