"""`shoal.run` and `shoal.resume`: one experiment, from Python."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.backends import Backend
from shoal.data.federation import Source
from shoal.data.signature import Remembered
from shoal.engine import Engine
from shoal.errors import BadInput, RunFolderError
from shoal.experiment.automatic import decide
from shoal.experiment.loading import asked_again, known_again
from shoal.experiment.result import Run
from shoal.experiment.trials import evidence_of, named
from shoal.layout import ModelFactory
from shoal.loop.cost_estimate import estimate
from shoal.loop.history import History, summarise
from shoal.loop.plan import RoundResult
from shoal.loop.record import share_lists
from shoal.loop.rounds import run_rounds
from shoal.loop.row import Row, to_json
from shoal.loop.stopping import Seen, stopped_event
from shoal.metrics import Metric
from shoal.objectives import Objective
from shoal.observers import Files, Observer, PeakMemory, Stopping, make_trackers, progress_line
from shoal.registry import near
from shoal.setup.prepare import Prepared, build_plan, engine_key, open_backend
from shoal.setup.resolve import Resolved, resolve
from shoal.setup.settings import AUTO
from shoal.store import checkpoint
from shoal.store.data_file import write_data
from shoal.store.folder import Folder
from shoal.store.models import about_of, save_models
from shoal.types import Algorithm
from shoal.version import __version__

log = logging.getLogger("shoal")


def run(
    algorithm: str | Algorithm = "fedavg",
    federation: str | Source | None = None,
    model: str | ModelFactory | None = None,
    *,
    out: str | Path | None = None,
    engine: str | Backend = "local",
    observers: Sequence[Observer] = (),
    progress: bool | None = None,
    **settings: Any,
) -> Run:
    """Run one experiment.

    Args:
        algorithm: A name of `shoal list algorithms`, `auto` to have one chosen by short trials, or an algorithm object.
        federation: The name of a data set, or a `Federation`; digits if left out.
        model: A name, or a function that makes an `nn.Module`; mclr if left out.
        out: A folder that the run is written to, and can be resumed from.
        engine: `local` (all cores), `serial` (one thread), `ray` (a cluster), or a back end object; the result is the
            same.
        observers: Objects that are told of every round.
        progress: Whether a line shows how far it is; None: on a terminal and in a notebook.
        settings: Keys of `shoal list keys`, and the algorithm's own.

    Returns:
        The run: records, summary, models, groups.

    >>> import shoal
    >>> run = shoal.run("fedprox", "digits", rounds=3, mu=0.1, lr=0.1, engine="serial")
    >>> run.summary["rounds"]
    3
    """
    asked = resolve(algorithm, federation, model, {**settings, **engine_key(engine)})
    return start(asked, None if isinstance(engine, str) else engine, out, with_line(observers, progress))


def start(asked: Resolved, backend: Backend | None, out: str | Path | None, observers: Sequence[Observer]) -> Run:
    """Run what was asked for, on a back end that is given or on the one that the settings name."""
    settings = asked.settings
    with open_backend(backend or settings.engine, settings.workers, settings.address) as at_work:
        prepared = decided(asked, at_work, out, observers) if asked.algorithm == AUTO else build_plan(asked)
        if prepared.note:
            log.warning(prepared.note)
        if out is None:
            if prepared.settings.track:
                raise BadInput(f"track={prepared.settings.track} needs a run folder; give out=DIR as well")
            return execute(prepared, at_work, None, observers)
        with Folder(out).begin(prepared.config, __version__, prepared.plan.notes) as folder:
            return execute(prepared, at_work, folder, observers)


def decided(asked: Resolved, backend: Backend, out: str | Path | None, observers: Sequence[Observer]) -> Prepared:
    """The plan of the algorithm that trials decide for; why is in its notes."""

    def tell(text: str) -> None:
        for o in observers:
            o.note(text)

    if out is not None:
        Folder(out).refuse_if_taken()
    decision = decide(evidence_of(asked, backend, tell))
    for sentence in decision.sentences:
        tell(sentence)
    prepared = build_plan(named(asked, decision.algorithm, decision.own))
    plan = replace(prepared.plan, notes=tuple(to_json(note) for note in decision.notes))
    return replace(prepared, plan=plan, config={**prepared.config, "chosen_by": AUTO})


def resume(
    path: str | Path,
    *,
    algorithm: Algorithm | None = None,
    federation: Source | None = None,
    model: ModelFactory | None = None,
    task: Objective | None = None,
    metrics: Sequence[str | Metric] = (),
    engine: str | Backend | None = None,
    workers: int | None = None,
    address: str | None = None,
    rounds: int | None = None,
    stop: str | None = None,
    observers: Sequence[Observer] = (),
    progress: bool | None = None,
) -> Run:
    """Go on with a run from its newest good checkpoint, to the bits an undisturbed run would have ended with.

    What the run was given as an object must be given again.

    Args:
        path: The folder of the run.
        algorithm: The object, if the run had one.
        federation: The object, if the run had one.
        model: The function, if the run had one.
        task: The task, if the run had one as an object.
        metrics: Those of the run, if some were given as objects.
        engine: Another back end than the run had.
        workers: Another number of threads or worker processes.
        address: Another Ray cluster.
        rounds: Rounds in all, to make the run longer.
        stop: Another rule to stop by; `never` takes it away.
        observers: Objects that are told of every round.
        progress: Whether a line shows how far it is; None: on a terminal and in a notebook.

    Returns:
        The run, complete.

    >>> import shoal, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> _ = shoal.run("fedavg", rounds=1, engine="serial", out=folder)
    >>> shoal.resume(folder, rounds=2).summary["rounds"]
    2
    """
    folder = Folder(path)
    config = folder.config()
    if config.get("engine") == "flower" and engine is None:
        raise RunFolderError(
            f"{folder.path} is a federation of real sites; go on with its app: flwr run APP --run-config 'resume=true'"
        )
    changed: dict[str, Any] = {k: v for k, v in (("rounds", rounds), ("stop", stop)) if v is not None}
    again = {k: v for k, v in (("task", task), ("metrics", metrics)) if v}
    asked = asked_again(folder, config, "resume", algorithm, federation, model, changed={**changed, **again})
    address = address or (asked.settings.address if engine in (None, "ray") else None)
    with open_backend(engine or config["engine"], workers or asked.settings.workers, address) as backend:
        prepared = known_again(folder, config, build_plan(asked, config.get("fingerprint")))
        with folder.lock():
            begin, complaints = checkpoint.newest(folder, prepared.plan)
            for complaint in complaints:
                log.warning(complaint)
            if begin is not None and begin.round > prepared.plan.rounds:
                raise BadInput(
                    f"{folder.path} has already played {begin.round} rounds; rounds={prepared.plan.rounds} is fewer"
                )
            if near(prepared.config.get("origins", ()), folder.path) != config.get("origins", []):
                folder.change_origins(prepared.config["origins"])
            if changed:
                folder.change(**changed)
            if begin is None:
                log.warning("no usable checkpoint; the run begins again from the start")
            elif not changed:  # one that an observer ended stays ended, though that observer may not be here
                begin = replace(begin, stopped=folder.stopped(begin.round))
            folder.truncate_after(begin.round if begin else -1)
            return execute(prepared, backend, folder, with_line(observers, progress), begin)


def with_line(observers: Sequence[Observer], progress: bool | None) -> Sequence[Observer]:
    """The observers, and one that shows how far the run is, if anything is to be shown."""
    shown = progress_line(progress)
    return observers if shown is None else (*observers, shown)


def execute(
    prepared: Prepared,
    backend: Backend,
    folder: Folder | None,
    observers: Sequence[Observer],
    begin: RoundResult | None = None,
) -> Run:
    """Play a plan, let observers look, write what is to be written."""
    plan, settings = prepared.plan, prepared.settings
    engine = Engine(
        backend, plan.layout, min_answers=settings.min_answers, timeout=settings.timeout, arithmetic=plan.arithmetic
    )
    seen = Seen(plan.score, "val" in plan.splits)
    stopping = Stopping(plan.stop, seen, folder.rows() if folder is not None and begin is not None else ())
    last, played = begin, plan
    if begin is not None and folder is not None:
        last = stopped(begin, begin.stopped or stopping.reason, plan.rounds)
        folder.append_events(last.events)
        played = plan if last.stopped is None else replace(plan, rounds=last.round)  # nothing is left to be played
    memory = PeakMemory()
    files = [Files(folder, settings.checkpoint_every)] if folder is not None else []
    trackers = make_trackers(settings.track, folder) if folder is not None else []
    everybody: list[Observer] = [stopping, memory, *files, *trackers, *observers]
    rows: list[Row] = []  # of a run without a folder; with one they are on disk
    if folder is not None:
        write_data(folder.path, Remembered.of(plan.federation, prepared.config["fingerprint"]))
    try:
        for o in everybody:
            o.start(played, prepared.label, begin.round if begin else 0)
        for last in run_rounds(played, engine, begin):
            why = [reason for o in everybody if (reason := o.why_stop(last))]
            last = stopped(last, why[0] if why else None, plan.rounds)
            if folder is None:
                share_lists(last.row, rows[-1] if rows else {})
                rows.append(last.row)
            for o in everybody:
                o.after_round(last)
            if last.stopped is not None:
                break
    finally:
        with ExitStack() as stack:  # whatever one of them raises, all are stopped
            for o in reversed(everybody):
                stack.callback(o.stop)
    assert last is not None
    records = History(rows, plan.score) if folder is None else folder.history()
    summary = {**summarise(records), **estimate(plan, last.round), "peak_memory": memory.peak}
    if last.stopped is not None:
        summary["stopped"] = last.stopped
    result = Run(plan, last.state, records, summary, folder.path if folder is not None else None, prepared.config)
    if folder is not None:
        write_data(folder.path, Remembered.of(plan.federation, prepared.config["fingerprint"]))
        about = about_of(plan.layout, result.signature.to_json(), prepared.label)
        save_models(folder.path / "models", result.serving, plan.layout, about)
        folder.finish(summary, result.groups)
    for o in everybody:
        o.done(result)
    return result


def stopped(result: RoundResult, reason: str | None, rounds: int) -> RoundResult:
    """The result of a round with which a run ends, if there is a reason; at its last round it ends anyway."""
    if reason is None or result.round >= rounds:
        return result
    return replace(result, stopped=reason, events=(*result.events, stopped_event(result.round, reason)))
