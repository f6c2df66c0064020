"""A small method with a personal part: the body is FedAvg's, every client has a head of its own (FedPer's idea)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from shoal import SGD, Random
from shoal.aggregators import per_group, weighted_mean
from shoal.seeds import Key
from shoal.table import Personal, Serving, Table
from shoal.tasks import Train
from shoal.types import Algorithm, Answers, Array, Cohort, Engine, Record, Select, Solver

HEAD = ("head.1.weight", "head.1.bias")


@dataclass(frozen=True)
class State:
    """The shared model, and the head of every client that has trained."""

    w_KP: Array  # K = 1; its head is where heads begin
    heads: Table


@dataclass(frozen=True, kw_only=True)
class PersonalHead(Algorithm):
    """FedAvg on the body; heads stay with the clients."""

    select: Select = Random()
    solver: Solver = SGD()

    state: ClassVar[type[State]] = State

    def init(self, engine: Engine, key: Key) -> tuple[State, Record]:
        return State(engine.layout.init_many(1, key("init")), Table()), Record()

    def step(self, state: State, engine: Engine, key: Key) -> tuple[State, Record]:
        cohort = self.select(engine.clients, key("select"))
        w_NP = np.stack([*self.serve(state).each(cohort, engine.layout)])
        got = engine.map(Train(self.solver), cohort, w_NP, np.arange(len(cohort)), key("train"))
        trained_NP = w_NP[got.which_N] + got["update"]
        heads_ND = np.concatenate([engine.layout.take(trained_NP, part) for part in HEAD], 1)
        body = replace(got, which_N=np.zeros(len(got), int))
        w_KP, _ = per_group(weighted_mean(), engine.layout).apply(state.w_KP, body, {}, key("aggregate"))
        for place in self.serve(state).personal.places(engine.layout):  # type: ignore[union-attr]
            w_KP[:, place] = state.w_KP[:, place]
        return State(w_KP, state.heads.put(got.cohort, heads_ND)), Record(trained=got)

    def serve(self, state: State) -> Serving:
        return Serving(state.w_KP, kind="one", personal=Personal(HEAD, state.heads))

    def assign(self, state: State, cohort: Cohort, engine: Engine, key: Key) -> Answers:
        return Answers(cohort, np.zeros(len(cohort), int))
