"""`shoal.load`: a finished run back from its folder, without the data; and what a folder asks to be played again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.algorithms import ALGORITHMS
from shoal.data.federation import Source
from shoal.errors import BadInput, RunFolderError, command
from shoal.experiment.result import Run
from shoal.layout import ModelFactory
from shoal.metrics import METRICS, Metric
from shoal.objectives import Objective
from shoal.setup.own import recover_origins
from shoal.setup.prepare import Prepared, build_plan
from shoal.setup.resolve import Resolved, resolve
from shoal.store import checkpoint
from shoal.store.data_file import read_data
from shoal.store.folder import OWN, Folder
from shoal.types import Algorithm

MARKS = ("fingerprint", "object", "model_digest", "chosen_by", "score_better", "score_percent", "origins")
UNUSED = ("data", "partition", "val", "drift", "track", "stop", "device")  # settings of which a loaded run has no use
HERE = {"kernel": "auto", "compile": "off"}  # what this machine has; it may not be the one that trained


def load(
    path: str | Path,
    *,
    algorithm: Algorithm | None = None,
    model: ModelFactory | None = None,
    task: Objective | None = None,
    metrics: Sequence[str | Metric] = (),
) -> Run:
    """A finished run from its folder: models, groups, history, summary, predictions, newcomers; no data are needed.

    What the run was given as an object must be given again. Whatever needs the data says so in one sentence.

    Args:
        path: The folder of the run.
        algorithm: The object, if the run had one.
        model: The function, if the run had one.
        task: The task, if the run had one as an object.
        metrics: Those of the run, if some were given as objects.

    Returns:
        The run.

    >>> import shoal, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> run = shoal.run("fedavg", rounds=1, engine="serial", out=folder)
    >>> again = shoal.load(folder)
    >>> again.groups == run.groups, again.summary["rounds"]
    (True, 1)
    """
    folder = Folder(path)
    config = folder.config()
    summary = folder.summary()
    if summary is None:
        raise RunFolderError(f"{folder.path} is not complete; go on with: {command('resume', folder.path)}")
    remembered = read_data(folder.path)
    again = {k: v for k, v in (("task", task), ("metrics", metrics)) if v}
    unknown = ("class_weights",) if config.get("class_weights") == "balanced" else ()  # they were made of the data
    asked = asked_again(folder, config, "load", algorithm, remembered, model, (*UNUSED, *unknown), {**HERE, **again})
    prepared = known_again(folder, config, build_plan(asked))
    last, _ = checkpoint.newest(folder, prepared.plan)
    if last is None:
        raise RunFolderError(f"{folder.path} has no checkpoint that can be read, so its models are not known")
    return Run(prepared.plan, last.state, folder.history(), summary, folder.path, config)


def asked_again(
    folder: Folder,
    config: dict[str, Any],
    verb: str,
    algorithm: Algorithm | None,
    federation: Source | None,
    model: ModelFactory | None,
    without: tuple[str, ...] = (),
    changed: Mapping[str, Any] | None = None,
) -> Resolved:
    """What a folder's run asked for; what it was given as an object must be given again.

    Args:
        folder: Of the run.
        config: What it says.
        verb: The function of `shoal` that is called, for messages.
        algorithm: The object, if the run had one.
        federation: The object, if the run had one.
        model: The function, if the run had one.
        without: Settings that are left out.
        changed: Settings that are to be others.

    Returns:
        The run, ready to be built.
    """
    settings = {"kernel": "torch", "compile": "off", **config}  # what runs had before there was a choice
    settings = {k: v for k, v in settings.items() if k not in (*MARKS, *without)}
    name, object_ = settings.pop("algorithm"), config.get("object")
    if algorithm is not None and object_ is not None and repr(algorithm) != object_:
        raise RunFolderError(f"{folder.path} was begun with another algorithm: {object_}")
    given: dict[str, tuple[Any, Any]] = {"algorithm": (algorithm, name), "federation": (federation, config.get("data"))}
    given |= {"model": (model, config.get("model")), "task": ((changed or {}).get("task"), config.get("task"))}
    for argument, (object_given, value) in given.items():
        if value == OWN and object_given is None:
            raise RunFolderError(
                f"{folder.path} was begun with an own {argument}; go on in Python: shoal.{verb}(path, {argument}=...)"
            )
    recover_origins(config.get("origins", ()), folder.path, verb, folder.path)
    if algorithm is None and name not in ALGORITHMS:
        raise RunFolderError(
            f"{folder.path} was begun with {name!r}, an algorithm that is not declared here; import the file that "
            f"declares it first, on the command line by its name: {command(verb, folder.path, 'FILE.py')}"
        )
    own = settings.pop(name, {})
    settings = {k: v for k, v in settings.items() if v != OWN}
    try:
        return resolve(algorithm or name, federation, model, {**settings, **(changed or {}), **own})
    except BadInput as e:
        named = [*str(config.get("metrics") or "").split(","), str(config.get("score") or "")]
        strange = [metric for metric in named if metric and ".py:" not in metric and metric not in METRICS]
        if not strange or "metrics" in (changed or ()):
            raise
        raise RunFolderError(
            f"{folder.path} was begun with the metric {strange[0]!r}, which is not declared here; go on in Python: "
            f"shoal.{verb}(path, metrics=[...])"
        ) from e


def known_again(folder: Folder, config: dict[str, Any], prepared: Prepared) -> Prepared:
    """The plan with the run's notes, if its model is the one that the run began with."""
    digest = config.get("model_digest")
    if digest is not None and prepared.config["model_digest"] != digest:
        raise RunFolderError(f"the model is not the one that {folder.path} began with; give the same one to go on")
    return replace(prepared, plan=replace(prepared.plan, notes=folder.notes()))
