"""The trials of `auto`: short runs of the candidates on the user's own federation, and what they showed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shoal.backends import Backend
from shoal.data.drift import parse_drift
from shoal.data.federation import Federation
from shoal.engine import Engine
from shoal.errors import BadInput, ShoalError
from shoal.experiment.automatic import ONE, OWN
from shoal.experiment.evidence import Evidence, Trial, label_distance
from shoal.loop.plan import Plan
from shoal.loop.record import joined, sample_places, sums_by_client
from shoal.loop.rounds import run_rounds
from shoal.loop.row import Row
from shoal.scores import ACCURACY
from shoal.seeds import Key
from shoal.setup.prepare import build_plan, cohort_size, load_federation
from shoal.setup.resolve import Resolved
from shoal.setup.settings import AUTO
from shoal.table import Serving
from shoal.tasks import Evaluate, LabelHistogram
from shoal.types import Array

__all__ = ["evidence_of", "named"]

SHARE = 0.2  # of the training samples that are set aside while candidates are tried
FEWEST, LONGEST = 10, 50  # rounds of a trial, which is half as long as the run, or as long where data drift
TESTED = 10_000  # clients that are validated
MOST = 0.9  # share of them that a method must serve
EAGER = {"cold_start": "eager"}  # everybody has a model before the first round

Tell = Callable[[str], None]


def named(asked: Resolved, name: str, own: Mapping[str, Any] | None = None) -> Resolved:
    """The same run with an algorithm instead of `auto`; a run that has one already as it is.

    Args:
        asked: A run.
        name: The algorithm.
        own: Its own keys.

    Returns:
        A run that can be built.

    >>> from shoal.setup.resolve import resolve
    >>> named(resolve("auto", None, None, {}), "fedavg").name
    'fedavg'
    """
    return replace(asked, name=name, algorithm=name, own=own or {}) if asked.algorithm == AUTO else asked


def evidence_of(asked: Resolved, backend: Backend, tell: Tell) -> Evidence:
    """Try the candidates one after the other; nothing is written, and test samples play no part.

    Args:
        asked: The run as the user asks for it, its algorithm `auto`.
        backend: Where clients work.
        tell: Is told what is tried.

    Returns:
        What `decide` takes.

    >>> from shoal.backends import Serial
    >>> from shoal.setup.resolve import resolve
    >>> found = evidence_of(resolve("auto", "digits", None, {"rounds": 2, "lr": 0.1}), Serial(), lambda text: None)
    >>> found.clients, found.groups, [trial.algorithm for trial in found.trials]
    (20, 4, ['fedavg', 'flexcfl', 'wecfl', 'local'])
    """
    short = shortened(asked)
    plan = build_plan(named(short, ONE)).plan
    clients, drifts = len(plan.federation.ids), bool(plan.drift.scenarios)
    asked_for = cohort_size(short.settings, clients)
    candidates: list[tuple[str, Mapping[str, Any]]] = [(ONE, {})]
    trials, start = [], {}
    if clients > 2:
        labelled = plan.layout.objective.targets != "floats"  # migration compares label histograms
        candidates.append(("flexcfl", {"groups": "auto", **EAGER, **({} if labelled else {"migration": "off"})}))
    if clients > 1:
        candidates.append((OWN, {}))
    while candidates:
        name, own = candidates.pop(0)
        tell(f"auto tries {name}, {short.settings.rounds} rounds")
        found, first = trial(short, name, own, backend)
        if name == "flexcfl" and not found.problem:
            start, groups = first, int(first["groups"])
            if groups == 1:
                continue
            found = replace(found, own={**own, "groups": groups})
            if drifts:  # who chooses its group again in every round goes along
                candidates.insert(0, ("ifca", {"groups": groups}))
            elif asked_for == clients:
                candidates.insert(0, ("wecfl", {"groups": groups}))
        trials.append(found)
    values = start.get("measures", {}).get("silhouette", {})
    return Evidence(
        clients=clients,
        samples=int(load_federation(asked.settings, asked.federation).roster.sizes_N.sum()),
        asked=asked_for,
        drift=(asked.settings.drift or "") if drifts else "",
        groups=int(start.get("groups", 0)),
        silhouette={int(k): float(v) for k, v in values.items() if v is not None},
        labels=labels_of(plan, backend),
        rounds=short.settings.rounds,
        trials=on_the_same_clients(trials),
    )


def shortened(asked: Resolved) -> Resolved:
    """The run as it is tried: fewer rounds, and validation samples that nobody trains on."""
    settings = asked.settings
    if settings.rounds == 0:
        raise BadInput("auto decides by trials, which rounds=0 leaves no room for; give rounds=1 or more")
    source = load_federation(settings, asked.federation)
    if not isinstance(source, Federation):
        raise BadInput(
            f"auto sets training samples aside to decide by, and the clients of {source.name} are produced on demand; "
            "compare by hand: shoal run fedavg flexcfl:groups=auto local"
        )
    share = settings.val or (0.0 if source.has("val") else SHARE)
    held = source if source.has("val") else source.with_validation(share, Key(settings.seed))
    if not held.rows("val").sizes.sum():
        raise BadInput(
            "auto sets a fifth of every client's training samples aside to decide by, and no client has five; "
            "choose a method: shoal run fedavg"
        )
    part = settings.rounds if parse_drift(settings.drift or "none").scenarios else settings.rounds // 2  # drift adds up
    rounds = min(settings.rounds, max(FEWEST, min(part, LONGEST)))
    return replace(
        asked,
        settings=settings.model_copy(update={"rounds": rounds, "eval_every": rounds, "val": share, "track": None}),
    )


def trial(short: Resolved, name: str, own: Mapping[str, Any], backend: Backend) -> tuple[Trial, Row]:
    """One candidate, and the record of its start; if all clients are in one group, nothing more is played."""
    try:
        plan = build_plan(named(short, name, own)).plan
        engine = engine_of(plan, short, backend)
        rounds = run_rounds(plan, engine)
        last = start = next(rounds)
        if own.get("groups") == "auto" and start.row["groups"] == 1:
            return Trial(name, own), start.row
        for result in rounds:
            last = result
        return validated(Trial(name, own), plan.algorithm.serve(last.state), engine, short), start.row
    except ShoalError as e:
        if name == ONE:
            raise
        return Trial(name, own, problem=str(e).partition(";")[0]), {}


def validated(trial: Trial, serving: Serving, engine: Engine, short: Resolved) -> Trial:
    """The trial with what its models got right of the samples set aside, or with the sums of another score."""
    ids, settings = engine.clients.ids, short.settings
    who = tuple(ids[i] for i in sample_places(ids, TESTED, settings.seed))
    served = serving.served(who)
    if len(served) < MOST * len(who):
        return replace(trial, problem=f"it had a model for {len(served):,} of {len(who):,} clients only")
    headline, layout = engine.layout.objective.headline_metric, engine.layout
    task, key = Evaluate.of(layout, "val", serving.votes, False), Key(settings.seed)("evaluate")
    got = joined([engine.ask(task, *portion, key) for portion in serving.portions(served, engine.layout)])
    if len(got) < MOST * len(who):
        return replace(trial, problem=f"{len(who) - len(got):,} of {len(who):,} clients could not be tested")
    place = {client: i for i, client in enumerate(who)}
    at = [place[client] for client in got.cohort]

    def spread(rows: Array) -> Array:
        """A row for everybody: 0 for those who were not tested."""
        out: Array = np.zeros((len(who), *rows.shape[1:]), rows.dtype)
        out[at] = rows
        return out

    trial = replace(trial, total_N=spread(got["total"]).tolist())
    if headline.name == ACCURACY.name and layout.objective.decides:
        return replace(trial, right_N=spread(got["right"]).tolist())
    sums_N = {name: spread(rows) for name, rows in sums_by_client(got, layout).items()}
    return replace(trial, metric=headline, sums_N=sums_N)


def on_the_same_clients(trials: Sequence[Trial]) -> list[Trial]:
    """The trials, counted on the clients that all of those without a problem could test.

    Args:
        trials: Their counts are in the same order of clients, 0 of 0 for one that was not tested.

    Returns:
        The trials; with a problem where nothing is left to count.

    >>> two = [Trial("fedavg", {}, (1, 2), (3, 3)), Trial("local", {}, (0, 3), (0, 3))]
    >>> [(t.right_N, t.total_N) for t in on_the_same_clients(two)]
    [([2], [3]), ([3], [3])]
    """
    able = [t for t in trials if not t.problem]
    if not able:
        return list(trials)
    kept = np.flatnonzero(np.min([t.total_N for t in able], axis=0) > 0).tolist()
    if not len(kept):
        return [t if t.problem else replace(t, problem="no client has a sample set aside") for t in trials]
    found = [t if t.problem else t.of_clients(kept) for t in trials]
    unknown = f"the samples set aside do not tell the {able[0].score.title}"
    return [t if t.problem or np.isfinite(t.value) else replace(t, problem=unknown) for t in found]


def engine_of(plan: Plan, short: Resolved, backend: Backend) -> Engine:
    settings = short.settings
    return Engine(
        backend, plan.layout, min_answers=settings.min_answers, timeout=settings.timeout, arithmetic=plan.arithmetic
    )


def labels_of(plan: Plan, backend: Backend) -> tuple[float, float] | None:
    """How different the classes are that clients hold at the start, and what chance alone would give; None: none."""
    if plan.layout.objective.targets == "floats":
        return None
    engine = Engine(backend, plan.layout, arithmetic=plan.arithmetic)
    engine.set_federation(plan.federation)
    return label_distance(engine.ask(LabelHistogram(), plan.federation.ids, None, None, Key(plan.seed))["histogram"])
