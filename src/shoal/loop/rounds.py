"""The loop of a run: rounds as a stream of results. Observers look at them; the algorithm sees none of this."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from shoal.engine import Engine
from shoal.errors import ShoalError, TooFewAnswers
from shoal.loop.cost_estimate import cost_model
from shoal.loop.current import CurrentFederation
from shoal.loop.plan import Plan, RoundResult
from shoal.loop.record import evaluation_part, group_part, ledger_part, training_part
from shoal.loop.row import Row
from shoal.loop.similarity import needs_picture, similarity_part
from shoal.seeds import Key
from shoal.table import Serving
from shoal.types import Record

__all__ = ["run_rounds"]


def run_rounds(plan: Plan, engine: Engine, begin: RoundResult | None = None) -> Iterator[RoundResult]:
    """Play the rounds of a plan, from the start or from the result of a round that was saved.

    Args:
        plan: What to run.
        engine: On what.
        begin: The round to go on from; None: from the start.

    Yields:
        The result of every round, that of the start (0) first.

    >>> import shoal
    >>> from shoal.backends import Serial
    >>> from shoal.setup.prepare import prepare
    >>> plan = prepare("fedavg", "digits", None, {"rounds": 2}).plan
    >>> [result.round for result in run_rounds(plan, Engine(Serial(), plan.layout))]
    [0, 1, 2]
    """
    key, algorithm = Key(plan.seed), plan.algorithm
    current = CurrentFederation(plan, key("drift"), begin)
    if begin is None:
        clock = time.perf_counter()
        drift_events = current.advance(0, engine, None)
        try:
            state, record = algorithm.init(engine, key.at(0))
        except TooFewAnswers as e:
            raise ShoalError(f"the run cannot begin: {e}") from e
        engine.commit()
        serving = algorithm.serve(state)
        begin = round_result(current, engine, 0, state, (None, serving), record, {}, clock, drift_events)
        yield begin
    else:
        engine.set_federation(current.now)
        engine.restore(begin.memories, begin.library_VP)
        serving = algorithm.serve(begin.state)
    state, costs = begin.state, cost_model(plan, plan.rounds)
    for t in range(begin.round + 1, plan.rounds + 1):
        clock = time.perf_counter()
        extra: Row = costs.of(t, t) if costs else {}
        drift_events = current.advance(t, engine, serving)
        try:
            state, record = algorithm.step(state, engine, key.at(t))
            engine.commit()
        except TooFewAnswers as e:
            engine.rollback()
            if t == 1 and not e.came:
                raise ShoalError(f"no client could do the first round: {e}") from e
            record = Record(events=({"kind": "round skipped", "reason": str(e)},))
            extra["skipped"] = True
        before, serving = serving, algorithm.serve(state)
        check_finite(serving, t)
        if t % plan.eval_every == 0 or t == plan.rounds:
            trained = time.perf_counter()
            extra |= evaluation_part(serving, engine, current.tested(), key.at(t), plan.splits, plan.per_class)
            extra["time"] = {"evaluation": time.perf_counter() - trained}
        yield round_result(current, engine, t, state, (before, serving), record, extra, clock, drift_events)


def round_result(
    current: CurrentFederation,
    engine: Engine,
    t: int,
    state: Any,
    servings: tuple[Serving | None, Serving],
    record: Record,
    extra: Row,
    clock: float,
    drift_events: tuple[Mapping[str, Any], ...],
) -> RoundResult:
    """Put the record of a round together, from who was served how before it and after it."""
    plan, ledger, (before, serving) = current.plan, engine.drain(), servings
    row: Row = {
        "round": t,
        **training_part(record, serving, plan.layout),
        **group_part(serving, current.now, plan.seed),
    }
    row |= ledger_part(ledger, record, plan.layout) | extra
    if needs_picture(t, before, serving, current.now.ids):
        row |= similarity_part(record, serving, current.now, plan.layout, plan.seed)
    drifted = {c for e in drift_events for c in e.get("clients", ()) if e["kind"].startswith("swapped")}
    if plan.drift.scenarios:
        row["drifted"] = len(drifted)
    row["time"] = {"round": time.perf_counter() - clock, **extra.get("time", {})}
    notes = plan.notes if t == 0 else ()
    seen = (*notes, *drift_events, *ledger.events, *record.events, *collapse_event(serving, row))
    events = tuple({"round": t, **e} for e in seen)
    return RoundResult(t, state, *engine.snapshot(), row, events, current.data_indices)


def check_finite(serving: Serving, t: int) -> None:
    """What clients answer is finite, or it is left out; what the server makes of it must be, too."""
    if serving.is_own:  # a client's own model and its update, which was checked
        return
    for k, model_P in enumerate(serving.models_KP):
        if not np.isfinite(model_P).all():
            raise ShoalError(
                f"round {t} made model {k} infinite or not a number, although all answers were finite: the server's "
                "step is too large; use a smaller server_lr, eta_g or lr"
            )


def collapse_event(serving: Serving, row: Row) -> tuple[Mapping[str, Any], ...]:
    """An event if there are several models and all clients are served by one of them."""
    if not serving.is_grouped or len(serving.models_KP) < 2 or row["groups"] != 1:
        return ()
    return ({"kind": "collapsed", "reason": f"all clients are in one of {len(serving.models_KP)} groups"},)
