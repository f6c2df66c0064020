"""FedAvg+ and FedProx+: K independent runs at once, whose models vote. The ensembles of WeCFL's tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from shoal.algorithms.fedavg import FedAvg
from shoal.algorithms.parts.proximal_strength import Search, State, Strength, proximal_step
from shoal.algorithms.registry import algorithm
from shoal.seeds import Key
from shoal.selection import Random
from shoal.solvers import SGD
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
    mu: Strength = option(0.0, "proximal coefficient, or auto", low=0)
    select: Select = Random()
    solver: Solver = SGD()

    state: ClassVar[type[State]] = State  # a row per member

    @property
    def each(self) -> list[Member]:
        """The members, but for the proximal term."""
        return [Member(select=self.select, solver=self.solver, number=k) for k in range(self.members)]

    def init(self, engine: Engine, key: Key) -> tuple[State, Record]:
        begun = [one.init(engine, key.member(k))[0] for k, one in enumerate(self.each)]
        return stacked([State(one.w_KP, one.server, (Search(),)) for one in begun]), Record()

    def step(self, state: State, engine: Engine, key: Key) -> tuple[State, Record]:
        steps = [proximal_step(one, self.mu, row(state, k), engine, key.member(k)) for k, one in enumerate(self.each)]
        trained = [record.trained for _, record in steps if record.trained is not None]
        measures = {"mu": [record.measures["mu"] for _, record in steps]} if self.mu == "auto" else {}
        return stacked([member for member, _ in steps]), Record(trained=stack_answers(trained), measures=measures)

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

    mu: Strength = option("auto", "proximal coefficient; auto: each member's from 0 up whenever its loss rises", low=0)


def row(state: State, k: int) -> State:
    """The state of one member."""
    server = {name: rows[k : k + 1] for name, rows in state.server.items()}
    return State(state.w_KP[k : k + 1], server, state.search_K[k : k + 1])


def stacked(members: list[State]) -> State:
    """The states of all members as one."""
    server = {name: np.concatenate([m.server[name] for m in members]) for name in members[0].server}
    return State(np.concatenate([m.w_KP for m in members]), server, tuple(s for m in members for s in m.search_K))


def stack_answers(answers: list[Answers]) -> Answers:
    """The answers of all members as one; a client may stand in it more than once."""
    fields = {name: np.concatenate([got[name] for got in answers]) for name in answers[0].fields}
    which_N = np.concatenate([np.full(len(got), k) for k, got in enumerate(answers)])
    models_KP: Array = np.concatenate([got.models_KP for got in answers if got.models_KP is not None])
    failed = tuple(f for got in answers for f in got.failed)
    cohort = tuple(c for got in answers for c in got.cohort)
    return replace(answers[0], cohort=cohort, which_N=which_N, fields=fields, failed=failed, models_KP=models_KP)
