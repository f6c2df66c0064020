"""Local: every client alone, the lower end of the scale. Nothing is averaged, nothing is shared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.algorithms.parts.room import check_room
from shoal.algorithms.registry import algorithm
from shoal.seeds import Key
from shoal.selection import Random
from shoal.solvers import SGD
from shoal.table import Serving, Table
from shoal.tasks import Train
from shoal.types import Algorithm, Answers, Array, Cohort, Engine, Record, Select, Solver, option


@dataclass(frozen=True)
class State:
    """The common start, and the own model of every client that has trained."""

    w0_P: Array
    own: Table


@algorithm("local", own_models=True, baseline="every client alone", serves_when_selected=True)
@dataclass(frozen=True, kw_only=True)
class Local(Algorithm):
    """Each selected client goes on training its own model, from one common random start.

    >>> import shoal
    >>> run = shoal.run(shoal.Local(), "digits", rounds=1, engine="serial")
    >>> len(run.models)
    20
    """

    select: Select = Random()
    solver: Solver = SGD()
    table_limit: float = option(2e9, "bytes of own models the server may hold", low=0)

    state: ClassVar[type[State]] = State

    def init(self, engine: Engine, key: Key) -> tuple[State, Record]:
        check_room("local", "models", engine, self.table_limit)
        return State(engine.layout.init(key("init")), Table()), Record()

    def step(self, state: State, engine: Engine, key: Key) -> tuple[State, Record]:
        cohort = self.select(engine.clients, key("select"))
        w_NP = state.own.get(cohort, state.w0_P)
        got = engine.map(Train(self.solver), cohort, w_NP, np.arange(len(cohort)), key("train"))
        own = state.own.put(got.cohort, w_NP[got.which_N] + got["update"])
        return State(state.w0_P, own), Record(trained=got, not_transmitted=True)

    def serve(self, state: State) -> Serving:
        own = state.own if len(state.own) else Table((), state.w0_P[None][:0])
        return Serving(own.rows, Table(own.ids, np.arange(len(own))), kind="own")

    def assign(self, state: State, cohort: Cohort, engine: Engine, key: Key) -> Answers:
        got = engine.map(Train(self.solver), cohort, state.w0_P[None], np.zeros(len(cohort), int), key("train"), 0)
        return Answers(got.cohort, got.which_N, {"model": state.w0_P + got["update"]}, got.failed)
