"""What many methods share: they are FedAvg with one part of their own, a solver or an aggregator."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from shoal.algorithms.fedavg import FedAvg, State
from shoal.costs import Parallel
from shoal.seeds import Key
from shoal.table import Serving
from shoal.types import Algorithm, Answers, Cohort, Engine, Record


class Averaging(Algorithm):
    """A method that is FedAvg with a part of its own; `averaging` is that FedAvg, and does all the work."""

    state: ClassVar[type[State]] = State

    @property
    @abstractmethod
    def averaging(self) -> FedAvg: ...

    def init(self, engine: Engine, key: Key) -> tuple[State, Record]:
        return self.averaging.init(engine, key)

    def step(self, state: State, engine: Engine, key: Key) -> tuple[State, Record]:
        return self.averaging.step(state, engine, key)

    def serve(self, state: State) -> Serving:
        return self.averaging.serve(state)

    def assign(self, state: State, cohort: Cohort, engine: Engine, key: Key) -> Answers:
        return self.averaging.assign(state, cohort, engine, key)

    def parallel(self, rounds: int, clients: int) -> Parallel:
        return self.averaging.parallel(rounds, clients)
