"""FedAvg+ and FedProx+: K independent runs at once, whose models vote. The ensembles of WeCFL's tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from shoal.algorithms.fedavg import FedAvg, State
from shoal.algorithms.registry import algorithm
from shoal.seeds import Key
from shoal.selection import Random
from shoal.solvers import SGD, Proximal
from shoal.table import Serving
from shoal.tasks import Train
from shoal.types import Algorithm, Answers, Array, Cohort, Engine, Record, Select, Solver, option


@dataclass(frozen=True, kw_only=True)
class Member(FedAvg):
    """FedAvg as one of several: its clients keep a momentum of its own, the first one under the plain name."""

    number: int

    @property
    def task(self) -> Train:
        return Train(self.solver) if not self.number else Train(self.solver, f"velocity {self.number}")


@algorithm("fedavg+", ensemble=True)
@dataclass(frozen=True, kw_only=True)
class FedAvgPlus(Algorithm):
    """FedAvg several times over, each with its own start and its own clients; soft voting of the models.

    >>> import shoal
    >>> run = shoal.run(shoal.FedAvgPlus(members=2), "digits", rounds=1, engine="serial")
    >>> len(run.models)
    2
    """

    members: int = option(5, "models that vote", low=1)
    mu: float = option(0.0, "proximal coefficient", low=0)
    select: Select = Random()
    solver: Solver = SGD()

    state: ClassVar[type[State]] = State  # a row per member

    @property
    def each(self) -> list[Member]:
        """The members."""
        solver = self.solver.plus(Proximal(self.mu)) if self.mu else self.solver
        return [Member(select=self.select, solver=solver, number=k) for k in range(self.members)]

    def init(self, engine: Engine, key: Key) -> tuple[State, Record]:
        return stacked([one.init(engine, key.member(k))[0] for k, one in enumerate(self.each)]), Record()

    def step(self, state: State, engine: Engine, key: Key) -> tuple[State, Record]:
        steps = [one.step(row(state, k), engine, key.member(k)) for k, one in enumerate(self.each)]
        trained = [record.trained for _, record in steps if record.trained is not None]
        return stacked([member for member, _ in steps]), Record(trained=stack_answers(trained))

    def serve(self, state: State) -> Serving:
        return Serving(state.w_KP, kind="vote")

    def assign(self, state: State, cohort: Cohort, engine: Engine, key: Key) -> Answers:
        return Answers(cohort, np.zeros(len(cohort), int))


@algorithm("fedprox+", ensemble=True)
@dataclass(frozen=True, kw_only=True)
class FedProxPlus(FedAvgPlus):
    """The same of FedProx. Nothing but the default of mu differs.

    >>> import shoal
    >>> run = shoal.run(shoal.FedProxPlus(members=2), "digits", rounds=1, engine="serial")
    >>> len(run.models)
    2
    """

    mu: float = option(1.0, "proximal coefficient", low=0)


def row(state: State, k: int) -> State:
    """The state of one member."""
    return State(state.w_KP[k : k + 1], {name: rows[k : k + 1] for name, rows in state.server.items()})


def stacked(members: list[State]) -> State:
    """The states of all members as one."""
    server = {name: np.concatenate([m.server[name] for m in members]) for name in members[0].server}
    return State(np.concatenate([m.w_KP for m in members]), server)


def stack_answers(answers: list[Answers]) -> Answers:
    """The answers of all members as one; a client may stand in it more than once."""
    fields = {name: np.concatenate([got[name] for got in answers]) for name in answers[0].fields}
    which_N = np.concatenate([np.full(len(got), k) for k, got in enumerate(answers)])
    models_KP: Array = np.concatenate([got.models_KP for got in answers if got.models_KP is not None])
    failed = tuple(f for got in answers for f in got.failed)
    cohort = tuple(c for got in answers for c in got.cohort)
    return replace(answers[0], cohort=cohort, which_N=which_N, fields=fields, failed=failed, models_KP=models_KP)
