"""FedAvg+ and FedProx+: K independent runs at once, whose models vote. The ensembles of WeCFL's tables (spec 2.10)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from shoal.algorithms.fedavg import FedAvg
from shoal.algorithms.fedavg import State as Member
from shoal.seeds import Key
from shoal.selection import Random
from shoal.solvers import SGD, Proximal
from shoal.table import Serving
from shoal.types import Answers, Array, Cohort, Engine, Record, Select, option


@dataclass(frozen=True)
class State:
    """The states of the members."""

    members: tuple[Member, ...]


@dataclass(frozen=True, kw_only=True)
class FedAvgPlus:
    """FedAvg several times over, each with its own start and its own clients; soft voting of the models."""

    members: int = option(5, "models that vote", low=1)
    mu: float = option(0.0, "proximal coefficient", low=0)
    select: Select = Random()
    solver: SGD = SGD()

    state: ClassVar[type[State]] = State

    @property
    def one(self) -> FedAvg:
        return FedAvg(select=self.select, solver=self.solver.plus(Proximal(self.mu)) if self.mu else self.solver)

    def init(self, engine: Engine, key: Key) -> tuple[State, Record]:
        return State(tuple(self.one.init(engine, key.member(k))[0] for k in range(self.members))), Record()

    def step(self, state: State, engine: Engine, key: Key) -> tuple[State, Record]:
        steps = [self.one.step(member, engine, key.member(k)) for k, member in enumerate(state.members)]
        trained = [record.trained for _, record in steps if record.trained is not None]
        return State(tuple(member for member, _ in steps)), Record(trained=together(trained))

    def serve(self, state: State) -> Serving:
        return Serving(np.concatenate([member.w_KP for member in state.members]), kind="vote")

    def assign(self, state: State, cohort: Cohort, engine: Engine, key: Key) -> Answers:
        return Answers(cohort, np.zeros(len(cohort), int))


@dataclass(frozen=True, kw_only=True)
class FedProxPlus(FedAvgPlus):
    """The same of FedProx. Nothing but the default of mu differs."""

    mu: float = option(1.0, "proximal coefficient", low=0)


def together(answers: list[Answers]) -> Answers:
    """The answers of all members as one; a client may stand in it more than once."""
    fields = {name: np.concatenate([got[name] for got in answers]) for name in answers[0].fields}
    which_N = np.concatenate([np.full(len(got), k) for k, got in enumerate(answers)])
    models_KP: Array = np.concatenate([got.models_KP for got in answers if got.models_KP is not None])
    failed = tuple(f for got in answers for f in got.failed)
    return replace(answers[0], cohort=tuple(c for got in answers for c in got.cohort), which_N=which_N, fields=fields,
                   failed=failed, models_KP=models_KP)  # fmt: skip
