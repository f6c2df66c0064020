"""The loop of a run: rounds as a stream of moments. Observers look at moments; the algorithm sees none of this."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from shoal.data.drift import Drift, Scene, indices_of
from shoal.data.federation import Source
from shoal.engines import Front
from shoal.errors import ShoalError, TooFewAnswers
from shoal.experiment.likeness import due, likeness_part
from shoal.experiment.row import Row, evaluation_part, group_part, ledger_part, sample_of, training_part
from shoal.layout import Layout
from shoal.net import Arithmetic
from shoal.seeds import Key
from shoal.table import Serving
from shoal.types import Algorithm, Array, Cohort, Memory, Record


@dataclass(frozen=True)
class Plan:
    """All that decides a result: the algorithm, the data, the model, the rounds and the seed."""

    algorithm: Algorithm
    federation: Source
    layout: Layout
    rounds: int
    seed: int
    eval_every: int = 1
    eval_clients: int | None = None
    drift: Drift = Drift()
    how: Arithmetic = Arithmetic()

    @property
    def splits(self) -> tuple[str, ...]:
        return ("test", "val") if self.federation.has("val") else ("test",)


@dataclass(frozen=True)
class Moment:
    """A run right after a round: what it carries on, the record of the round and its events."""

    round: int
    state: Any
    memories: Mapping[str, Memory]
    library_VP: Array
    row: Row = field(default_factory=dict)
    events: tuple[Mapping[str, Any], ...] = ()
    world: Mapping[str, Array] = field(default_factory=dict)  # who has which samples, if that drifts


def play(plan: Plan, engine: Front, begin: Moment | None = None) -> Iterator[Moment]:
    """Play the rounds of a plan, from the start or from a moment that was saved."""
    key, algorithm = Key(plan.seed), plan.algorithm
    stage = Stage(plan, key("drift"), begin)
    if begin is None:
        clock = time.perf_counter()
        happened = stage.move(0, engine, None)
        try:
            state, record = algorithm.init(engine, key.at(0))
        except TooFewAnswers as e:
            raise ShoalError(f"the run cannot begin: {e}") from e
        engine.commit()
        serving = algorithm.serve(state)
        begin = moment(stage, engine, 0, state, (None, serving), record, {}, clock, happened)
        yield begin
    else:
        engine.use(stage.now)
        engine.restore(begin.memories, begin.library_VP)
        serving = algorithm.serve(begin.state)
    state = begin.state
    for t in range(begin.round + 1, plan.rounds + 1):
        clock = time.perf_counter()
        extra: Row = {}
        happened = stage.move(t, engine, serving)
        try:
            state, record = algorithm.step(state, engine, key.at(t))
            engine.commit()
        except TooFewAnswers as e:
            engine.rollback()
            if t == 1 and not e.came:
                raise ShoalError(f"no client could do the first round: {e}") from e
            record = Record(events=({"kind": "round skipped", "reason": str(e)},))
            extra = {"skipped": True}
        before, serving = serving, algorithm.serve(state)
        if t % plan.eval_every == 0 or t == plan.rounds:
            trained = time.perf_counter()
            extra |= evaluation_part(serving, engine, stage.tested(), key.at(t), plan.splits)
            extra["time"] = {"evaluation": time.perf_counter() - trained}
        yield moment(stage, engine, t, state, (before, serving), record, extra, clock, happened)


class Stage:
    """The federation of the present round: what drift has made of the one the plan began with."""

    def __init__(self, plan: Plan, key: Key, begin: Moment | None) -> None:
        self.plan, self.now = plan, plan.federation
        self._key = key
        self._scene: Scene | None = None
        self._tested: tuple[Source, Cohort] | None = None  # a federation and who of it is tested
        if plan.drift.scenarios:
            self._scene = plan.drift.begin(plan.federation)
            if begin is not None:
                self._scene = plan.drift.resume(begin.round, plan.federation, begin.world, key.at(begin.round))
            self.now = self._scene.seen

    @property
    def world(self) -> Mapping[str, Array]:
        """What a checkpoint needs to know of the data: nothing, unless they drift."""
        return indices_of(self._scene.world) if self._scene is not None else {}

    def tested(self) -> Cohort:
        """The clients that are tested, drawn anew when the federation is another one."""
        if self._tested is None or self._tested[0] is not self.now:
            self._tested = self.now, sample_of(self.now, self.plan.eval_clients, self.plan.seed)
        return self._tested[1]

    def move(self, t: int, engine: Front, serving: Serving | None) -> tuple[Mapping[str, Any], ...]:
        """The data of round t, put before the engine; what happened to them."""
        events: tuple[Mapping[str, Any], ...] = ()
        if self._scene is not None:
            warm = None
            if serving is not None and serving.kind == "group":
                warm = tuple(serving.groups(self.now.ids))
            self._scene, events = self.plan.drift(t, self._scene, warm, self._key.at(t))
            self.now = self._scene.seen
        engine.use(self.now)
        return events


def moment(
    stage: Stage,
    engine: Front,
    t: int,
    state: Any,
    servings: tuple[Serving | None, Serving],
    record: Record,
    extra: Row,
    clock: float,
    happened: tuple[Mapping[str, Any], ...],
) -> Moment:
    """Put the record of a round together, from who was served how before it and after it."""
    plan, ledger, (before, serving) = stage.plan, engine.take(), servings
    row: Row = {"round": t, **training_part(record, serving, plan.layout), **group_part(serving, stage.now, plan.seed)}
    row |= ledger_part(ledger, record, plan.layout) | extra
    if due(t, before, serving, stage.now.ids):
        row |= likeness_part(record, serving, stage.now, plan.layout, plan.seed)
    drifted = {c for e in happened for c in e.get("clients", ()) if e["kind"].startswith("swapped")}
    if plan.drift.scenarios:
        row["drifted"] = len(drifted)
    row["time"] = {"round": time.perf_counter() - clock, **extra.get("time", {})}
    seen = (*happened, *ledger.events, *record.events, *collapse(serving, row))
    events = tuple({"round": t, **e} for e in seen)
    return Moment(t, state, engine.memories, engine.library.rows_VP, row, events, stage.world)


def collapse(serving: Serving, row: Row) -> tuple[Mapping[str, Any], ...]:
    """An event if there are several models and all clients are served by one of them."""
    if serving.kind != "group" or len(serving.models_KP) < 2 or row["groups"] != 1:
        return ()
    return ({"kind": "collapsed", "reason": f"all clients are in one of {len(serving.models_KP)} groups"},)
