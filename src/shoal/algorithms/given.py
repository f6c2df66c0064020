"""Given: groups that are known beforehand, from what clients' owners publish or, as an oracle, the planted truth."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from shoal.aggregators import Aggregator, ServerState, per_group, weighted_mean
from shoal.algorithms.registry import algorithm
from shoal.errors import BadInput
from shoal.seeds import Key
from shoal.selection import Random
from shoal.solvers import SGD
from shoal.table import Serving, Table
from shoal.tasks import Train
from shoal.types import Algorithm, Answers, Array, Cohort, Engine, Record, Select, Solver, option


@dataclass(frozen=True)
class State:
    """A model per value of the tag, the values, and the group of each client."""

    w_KP: Array
    values: tuple[str, ...]
    group: Table
    server: ServerState = field(default_factory=dict)


@algorithm("given")
@dataclass(frozen=True, kw_only=True)
class Given(Algorithm):
    """FedAvg inside groups that are given: one per value of a tag.

    >>> import shoal
    >>> run = shoal.run(shoal.Given(by="truth"), "digits", rounds=1, engine="serial")
    >>> len(run.models)
    4
    """

    by: str = option("truth", "the tag that tells groups apart; truth: the planted groups")
    select: Select = Random()
    solver: Solver = SGD()
    aggregate: Aggregator = field(default_factory=weighted_mean)

    state: ClassVar[type[State]] = State

    def init(self, engine: Engine, key: Key) -> tuple[State, Record]:
        values = tuple(sorted({self._tag(c, engine) for c in engine.clients.ids}))
        w_KP = np.repeat(engine.layout.init(key("init"))[None], len(values), 0)
        state = State(w_KP, values, Table(), per_group(self.aggregate, engine.layout).init(w_KP))
        return self._read(state, engine.clients.ids, engine), Record(measures={"values": list(values)})

    def step(self, state: State, engine: Engine, key: Key) -> tuple[State, Record]:
        cohort = self.select(engine.clients, key("select"))
        state = self._read(state, engine.clients.ids, engine)
        got = engine.map(Train(self.solver), cohort, state.w_KP, state.group.get(cohort, 0), key("train"))
        w_KP, server = per_group(self.aggregate, engine.layout).apply(state.w_KP, got, state.server, key("aggregate"))
        return replace(state, w_KP=w_KP, server=server), Record(trained=got)

    def serve(self, state: State) -> Serving:
        return Serving(state.w_KP, state.group)

    def assign(self, state: State, cohort: Cohort, engine: Engine, key: Key) -> Answers:
        read = self._read(state, cohort, engine)
        return Answers(cohort, read.group.get(cohort, 0))

    def _tag(self, client: str, engine: Engine) -> str:
        tags = engine.clients.tags.get(client, {})
        if self.by not in tags:
            known = ", ".join(sorted({name for t in engine.clients.tags.values() for name in t})) or "none"
            raise BadInput(f"client {client!r} has no tag {self.by!r}; the federation's tags are: {known}")
        return tags[self.by]

    def _read(self, state: State, cohort: Cohort, engine: Engine) -> State:
        """Groups by what tags say now; a value that was not there at the start is an error."""
        found = [self._tag(c, engine) for c in cohort]
        unknown = [v for v in found if v not in state.values]
        if unknown:
            raise BadInput(f"there is no group for {self.by}={unknown[0]!r}; the groups are {', '.join(state.values)}")
        labels = np.array([state.values.index(v) for v in found], int)
        return replace(state, group=state.group.put(cohort, labels))
