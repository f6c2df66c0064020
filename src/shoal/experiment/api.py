"""`shoal.run` and `shoal.resume`: one experiment, from Python."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shoal.data.federation import Source
from shoal.engines import Backend, Front
from shoal.errors import BadInput, RunFolderError
from shoal.experiment import checkpoint
from shoal.experiment.callbacks import Files, Observer, PeakMemory, make_trackers
from shoal.experiment.estimate import estimate
from shoal.experiment.folder import Folder
from shoal.experiment.history import History, summarise
from shoal.experiment.loop import Moment, play
from shoal.experiment.prepare import OWN, Prepared, make_backend, prepare, settings_of
from shoal.experiment.result import Run
from shoal.experiment.row import share_lists
from shoal.layout import ModelFactory
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
    **settings: Any,
) -> Run:
    """Run one experiment.

    `algorithm` is a name or an algorithm object, `federation` the name of a data set or a `Federation` (default:
    digits), `model` a name or a function that makes an `nn.Module` (default: mclr). All keys of `shoal list keys` and
    the algorithm's own may follow. With `out` the run is written to that folder and can be resumed.

    >>> import shoal
    >>> run = shoal.run("fedprox", "digits", rounds=3, mu=0.1, lr=0.1, engine="serial")
    >>> run.summary["rounds"]
    3
    """
    pairs = {**settings, "engine": engine} if isinstance(engine, str) else settings
    backend, ours = make_backend(engine, settings_of(algorithm, pairs)[0].workers)  # starts up while data is loaded
    try:
        prepared = prepare(algorithm, federation, model, pairs)
        if out is None:
            if prepared.settings.track:
                raise BadInput(f"track={prepared.settings.track} needs a run folder; give out=DIR as well")
            return execute(prepared, backend, None, observers)
        with Folder(out).begun(prepared.config, __version__) as folder:
            return execute(prepared, backend, folder, observers)
    finally:
        if ours:
            backend.close()


def resume(
    path: str | Path,
    *,
    algorithm: Algorithm | None = None,
    federation: Source | None = None,
    model: ModelFactory | None = None,
    engine: str | Backend | None = None,
    workers: int | None = None,
    rounds: int | None = None,
    observers: Sequence[Observer] = (),
) -> Run:
    """Go on with a run from its newest good checkpoint, to the bits an undisturbed run would have ended with.

    What the run was given as an object must be given again. `rounds` makes it longer.

    >>> import shoal, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> _ = shoal.run("fedavg", rounds=1, engine="serial", out=folder)
    >>> shoal.resume(folder, rounds=2).summary["rounds"]
    2
    """
    folder = Folder(path)
    config = folder.config()
    fingerprint = config.pop("fingerprint", None)
    object_, digest = config.pop("object", None), config.pop("model_digest", None)
    config = {"kernel": "torch", "compile": "off", **config}  # what runs had before there was a choice
    name = config.pop("algorithm")
    if algorithm is not None and object_ is not None and repr(algorithm) != object_:
        raise RunFolderError(f"{folder.path} was begun with another algorithm: {object_}")
    for key, given, value in (
        ("algorithm", algorithm, name),
        ("data", federation, config.get("data")),
        ("model", model, config.get("model")),
    ):
        if value == OWN and given is None:
            argument = {"data": "federation"}.get(key, key)
            raise RunFolderError(
                f"{folder.path} was begun with an own {argument}; go on in Python: shoal.resume(path, {argument}=...)"
            )
    own = config.pop(name, {})
    config = {k: v for k, v in config.items() if v != OWN}
    if rounds is not None:
        config["rounds"] = rounds
    engine = engine or config["engine"]
    backend, ours = make_backend(engine, workers or config.get("workers"))
    try:
        prepared = prepare(algorithm or name, federation, model, {**config, **own}, fingerprint)
        if digest is not None and prepared.config["model_digest"] != digest:
            raise RunFolderError(f"the model is not the one that {folder.path} began with; give the same one to go on")
        with folder.held():
            begin, complaints = checkpoint.newest(folder.checkpoints, prepared.plan.algorithm)
            for complaint in complaints:
                log.warning(complaint)
            if begin is not None and begin.round > prepared.plan.rounds:
                raise BadInput(
                    f"{folder.path} has already played {begin.round} rounds; rounds={prepared.plan.rounds} is fewer"
                )
            if rounds is not None:
                folder.change_rounds(prepared.plan.rounds)
            if begin is None:
                log.warning("no usable checkpoint; the run begins again from the start")
            folder.cut_back(begin.round if begin else -1)
            return execute(prepared, backend, folder, observers, begin)
    finally:
        if ours:
            backend.close()


def execute(
    prepared: Prepared,
    backend: Backend,
    folder: Folder | None,
    observers: Sequence[Observer],
    begin: Moment | None = None,
) -> Run:
    """Play a plan, let observers look, write what is to be written."""
    plan, settings = prepared.plan, prepared.settings
    engine = Front(backend, plan.layout, min_answers=settings.min_answers, timeout=settings.timeout, how=plan.how)
    memory = PeakMemory()
    files = [Files(folder, settings.checkpoint_every)] if folder is not None else []
    trackers = make_trackers(settings.track, folder) if folder is not None else []
    everybody: list[Observer] = [memory, *files, *trackers, *observers]
    history = list(folder.rows()) if folder is not None and begin is not None else []
    last = begin
    try:
        for o in everybody:
            o.start(plan, prepared.label, begin.round if begin else 0)
        for last in play(plan, engine, begin):
            share_lists(last.row, history[-1] if history else {})
            history.append(last.row)
            for o in everybody:
                o.moment(last)
    finally:
        for o in everybody:
            o.stop()
    assert last is not None
    records = History(history)
    summary = {**summarise(records), **estimate(plan, last.round), "peak_memory": memory.peak}
    result = Run(plan, last.state, records, summary, folder.path if folder is not None else None)
    if folder is not None:
        folder.finish(summary, result.serving, plan.layout, result.clients)
    for o in everybody:
        o.done(result)
    return result
