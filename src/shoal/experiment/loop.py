"""The loop of a run: rounds as a stream of moments. Observers look at moments; the algorithm sees none of this."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from shoal.data.federation import Source
from shoal.engines import Front
from shoal.errors import ShoalError, TooFewAnswers
from shoal.experiment.row import Row, evaluation_part, group_part, ledger_part, sample_of, training_part
from shoal.layout import Layout
from shoal.seeds import Key
from shoal.types import Algorithm, Array, Memory, Record


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


def play(plan: Plan, engine: Front, begin: Moment | None = None) -> Iterator[Moment]:
    """Play the rounds of a plan, from the start or from a moment that was saved."""
    key, algorithm = Key(plan.seed), plan.algorithm
    engine.use(plan.federation)
    who = sample_of(plan.federation, plan.eval_clients, plan.seed)
    if begin is None:
        clock = time.perf_counter()
        try:
            state, record = algorithm.init(engine, key.at(0))
        except TooFewAnswers as e:
            raise ShoalError(f"the run cannot begin: {e}") from e
        engine.commit()
        begin = moment(plan, engine, 0, state, record, {}, clock)
        yield begin
    else:
        engine.restore(begin.memories, begin.library_VP)
    state = begin.state
    for t in range(begin.round + 1, plan.rounds + 1):
        clock = time.perf_counter()
        extra: Row = {}
        try:
            state, record = algorithm.step(state, engine, key.at(t))
            engine.commit()
        except TooFewAnswers as e:
            engine.rollback()
            if t == 1 and not e.came:
                raise ShoalError(f"no client could do the first round: {e}") from e
            record = Record(events=({"kind": "round skipped", "reason": str(e)},))
            extra = {"skipped": True}
        if t % plan.eval_every == 0 or t == plan.rounds:
            trained = time.perf_counter()
            extra |= evaluation_part(algorithm.serve(state), engine, who, key.at(t), plan.splits)
            extra["time"] = {"evaluation": time.perf_counter() - trained}
        yield moment(plan, engine, t, state, record, extra, clock)


def moment(plan: Plan, engine: Front, t: int, state: Any, record: Record, extra: Row, clock: float) -> Moment:
    """Put the record of a round together."""
    serving, ledger = plan.algorithm.serve(state), engine.take()
    row: Row = {"round": t, **training_part(record, serving, plan.layout), **group_part(serving, plan.federation)}
    row |= ledger_part(ledger, record) | extra
    row["time"] = {"round": time.perf_counter() - clock, **extra.get("time", {})}
    events = tuple({"round": t, **e} for e in (*ledger.events, *record.events))
    return Moment(t, state, engine.memories, engine.library.rows_VP, row, events)
