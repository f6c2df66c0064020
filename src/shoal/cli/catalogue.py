"""What there is to choose from, as plain records; `shoal list` prints them."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

from shoal.cli.console import first_line

Entry = dict[str, Any]
OWN_DATA = dict.fromkeys(("folder", "table", "csv", "images"), "your own")
TARGETS = {
    "classes": "whole numbers from 0 on",
    "labels": "vectors of 0 and 1",
    "tokens": "a class for every place of a sequence, -100 for none",
    "floats": "floats, one or several per sample",
}
DEFAULT_LOSS = {
    "classes": "cross entropy",
    "labels": "binary cross entropy",
    "tokens": "cross entropy of tokens",
    "floats": "squared error",
}
WITH_PACKAGE = {"digits": "comes with scikit-learn", "synthetic": "generated", **OWN_DATA}


def algorithms(only: str | None = None) -> list[Entry]:
    """Algorithms with their own keys; or one of them."""
    from shoal.algorithms import ALGORITHMS
    from shoal.setup.options import own_keys

    return [
        {
            "name": name,
            "about": first_line(cls),
            "traits": dict(ALGORITHMS.traits(name)),
            "keys": [
                {
                    "name": key,
                    "default": None if field.default is dataclasses.MISSING else field.default,
                    "about": field.metadata.get("help", ""),
                }
                for key, field in own_keys(name).items()
            ],
        }
        for name, cls in ALGORITHMS.items()
        if only in (None, name)
    ]


def broken() -> list[str]:
    """What installed packages should have added and did not, a sentence each."""
    from shoal.setup.own import REGISTRIES

    return [plugin.sentence for registry in REGISTRIES.values() for plugin in registry.broken]


def keys() -> list[Entry]:
    """The keys every run has."""
    from shoal.setup.settings import Settings

    found = [
        {"name": name, "default": field.default, "about": field.description or ""}
        for name, field in Settings.model_fields.items()
    ]
    return [*found, {"name": "out", "default": None, "about": "the run folder; default: runs/<date>-<algorithm>-..."}]


def data() -> list[Entry]:
    """Data sets, and whether they are on this machine."""
    from shoal.data.datasets import DATASETS, default_partition

    entries = []
    for name, load in DATASETS.items():
        traits = DATASETS.traits(name)
        alone = outside(load) or traits.get("has_clients") or traits.get("own_files")
        about = first_line(load if alone else module_of(load))
        found, where = whereabouts(name)
        entry = {"name": name, "about": about, "arguments": arguments(load), "found": found, "where": where}
        entries.append({**entry, "partition": default_partition(name)})
    return entries


def outside(thing: Callable[..., Any]) -> bool:
    """Whether something is none of Shoal's own."""
    return not thing.__module__.startswith("shoal.")


def module_of(thing: Callable[..., Any]) -> ModuleType:
    """Where it is defined."""
    return import_module(thing.__module__)


def whereabouts(name: str) -> tuple[bool, str]:
    """Whether a data set is on this machine, and where or how to get it."""
    from shoal.data.datasets import DATASETS
    from shoal.data.find import NOT_FETCHED, find
    from shoal.errors import DataMissing

    if name in WITH_PACKAGE:
        return True, WITH_PACKAGE[name]
    if outside(DATASETS[name]):
        return True, f"comes with {DATASETS.package(name) or module_of(DATASETS[name]).__file__}"
    try:
        return True, str(find(name))
    except DataMissing:
        return False, f"needs $SHOAL_DATA/{name}.npz" if name in NOT_FETCHED else f"get it with: shoal fetch {name}"


def partitions() -> list[Entry]:
    """Ways to deal samples to clients."""
    from shoal.data.partition import PARTITIONS

    return [
        {"name": name, "about": first_line(make), "arguments": arguments(make)} for name, make in PARTITIONS.items()
    ]


def models() -> list[Entry]:
    """Models; a published one has a fixed number of parameters."""
    import torch

    from shoal.models import MODELS, Published, factory
    from shoal.models.registry import keywords
    from shoal.tree import told

    found: list[Entry] = []
    for name, model in MODELS.items():
        if not isinstance(model, Published):
            known = inspect.signature(model).parameters
            given = {key: known[key].default for key in keywords(name)}
            about = first_line(model) or "takes its shape from the data"
            found.append({"name": name, "about": about, "arguments": given, "parameters": None, "input": None})
            continue
        with torch.device("meta"):
            count = sum(p.numel() for p in factory(name, model.shape, model.outputs)().parameters())
        about = f"{told(model.shape)} -> {model.outputs}"
        found.append({"name": name, "about": about, "arguments": {}, "parameters": count, "input": list(model.shape)})
    return found


def tasks() -> list[Entry]:
    """What a run can learn, by which figures it is then judged, and which of them is the score."""
    from shoal.objectives import OBJECTIVES

    return [
        {
            "name": name,
            "about": f"{first_line(task.loss) or DEFAULT_LOSS[task.targets]}; y: {TARGETS[task.targets]}",
            "targets": task.targets,
            "score": task.headline.name,
            "metrics": list(dict.fromkeys([*task.counted, *(metric.name for metric in task.reported)])),
        }
        for name, task in OBJECTIVES.items()
    ]


def metrics() -> list[Entry]:
    """Figures by which runs can be judged."""
    from shoal.metrics import METRICS

    return [
        {
            "name": name,
            "about": metric.about if name == metric.name else f"The same as {metric.name}.",
            "better": metric.better,
            "targets": list(metric.kinds),
        }
        for name, metric in METRICS.items()
    ]


def aggregators() -> list[Entry]:
    """Ways to make the next model of answers, and what can be done to updates before."""
    from shoal.aggregators import AGGREGATORS, TRANSFORMS

    rules = [(name, make, first_line(make)) for name, make in AGGREGATORS.items()]
    fronts = [(name, make, f"{first_line(make)} In front: {name}:...+median") for name, make in TRANSFORMS.items()]
    return [{"name": name, "about": about, "arguments": arguments(make)} for name, make, about in rules + fronts]


def engines() -> list[Entry]:
    """Where the work of clients is done."""
    from shoal.backends import BACKENDS

    return [{"name": name, "about": first_line(inspect.getmodule(cls))} for name, cls in BACKENDS.items()]


def trackers() -> list[Entry]:
    """Who else can be told of a run, and whether the package is installed."""
    from importlib.util import find_spec

    from shoal.observers import TRACKERS

    found: list[Entry] = []
    for name in TRACKERS:
        here = find_spec(name) is not None
        where = "installed" if here else "install it with: pip install 'shoal[track]'"
        about = first_line(import_module(f"shoal.observers.{name}"))
        found.append({"name": name, "about": about, "found": here, "where": where})
    return found


def arguments(target: Callable[..., Any]) -> dict[str, Any]:
    """Arguments that can be written behind a name, with defaults; None stands for one that must be given."""
    from shoal.data.spec import parameters

    empty = inspect.Parameter.empty
    return {key: None if p.default is empty else p.default for key, p in parameters(target).items()}


CATALOGUE: dict[str, Callable[[], list[Entry]]] = {
    "algorithms": algorithms,
    "keys": keys,
    "data": data,
    "partitions": partitions,
    "models": models,
    "tasks": tasks,
    "metrics": metrics,
    "aggregators": aggregators,
    "engines": engines,
    "trackers": trackers,
}
