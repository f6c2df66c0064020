"""The task of a run, from its keys: loss, metrics, score and class weights, checked against the data and the model."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import replace
from math import inf, prod
from typing import Any

import numpy as np

from shoal.data.federation import Federation, Source
from shoal.errors import BadInput
from shoal.layout import Layout
from shoal.metrics import Metric
from shoal.objectives import Objective, find_metric, find_objective
from shoal.records import IGNORED
from shoal.scores import ACCURACY, Score
from shoal.setup.settings import Settings
from shoal.types import Algorithm, Array

__all__ = ["check_kind", "check_method", "check_outputs", "objective_of", "outputs_for", "score_keys"]


def objective_of(
    settings: Settings, given: Objective | None = None, own: Sequence[Metric] = (), source: Source | None = None
) -> Objective:
    """The task that settings ask for.

    Args:
        settings: Name the task, metrics, the score and class weights.
        given: The task, if it was given as an object.
        own: Metrics that were given as objects.
        source: The data, which must fit it, and by which classes are balanced; None: they are not known yet.

    Returns:
        The task, complete.

    >>> objective_of(Settings(task="regression", score="r2")).headline.name
    'r2'
    """
    task = given or find_objective(settings.task)
    objects = {m.name: m for m in (*task.metrics, *own) if isinstance(m, Metric)}
    asked = [name for name in (settings.metrics or "").split(",") if name]
    for name in (*asked, *([settings.score] if settings.score else [])):
        if ".py:" in name:
            objects[name] = find_metric(name)
    score = objects[settings.score].name if settings.score in objects else settings.score
    more = [objects[settings.score]] if settings.score in objects else []
    task = task.with_metrics([*(objects.get(name, name) for name in asked), *more], score)
    if source is None:
        return task
    check_targets(task, source)
    if settings.class_weights is None:
        return task
    return replace(task, weights=weights_of(settings.class_weights, task, source))


def check_targets(task: Objective, source: Source) -> None:
    """One sentence if the data are not what the task learns; of clients elsewhere nobody knows."""
    if source.in_memory is not None:
        check_kind(task, source.name, source.in_memory.y)
    if task.targets == "classes" and source.classes < 2:
        raise BadInput("the data has a single class, so there is nothing to learn; give data with two classes or more")
    if task.name == "binary" and source.classes > 2:
        raise BadInput(f"task=binary learns the classes 0 and 1, and the data has {source.classes}; leave task out")


def check_kind(task: Objective, name: str, y: Array) -> None:
    """One sentence if targets are of another kind than the task's."""
    whole = y.dtype.kind in "biu"
    axes = "a number" if y.ndim == 1 else f"an array of {' x '.join(map(str, y.shape[1:]))}"
    as_floats = "give them as such (y.astype(float); of a table targets=floats)"
    told = f"the targets of {name} are {'whole numbers' if whole else 'floats'}, {axes} per sample"
    if task.targets == "classes" and not (whole and y.ndim == 1):
        as_classes = "give whole numbers (y.astype(int); of a table targets=classes), or task=regression"
        other = "task=multilabel or task=tokens" if whole else as_classes
        raise BadInput(f"{told}, and task={task.name} learns classes, a whole number per sample; {other}")
    if task.targets == "floats" and whole:
        raise BadInput(f"{told}, and task={task.name} learns floats; {as_floats}")
    if task.targets == "labels" and not (y.ndim == 2 and np.isin(y, (0, 1)).all()):
        raise BadInput(f"{told}, and task={task.name} learns labels, 0 or 1 for each of several")
    if task.targets == "tokens" and not (whole and y.ndim > 1):
        raise BadInput(f"{told}, and task={task.name} learns a class for every place of a sequence, {IGNORED} for none")


def check_method(task: Objective, algorithm: Algorithm) -> None:
    """One sentence if a method compares label histograms and the targets of the task are no classes."""
    if task.targets != "floats" or not dataclasses.is_dataclass(algorithm):
        return
    for field in dataclasses.fields(algorithm):
        free, value = field.metadata.get("without_labels"), getattr(algorithm, field.name)
        if free is not None and value != free:
            key = field.metadata.get("key") or field.name
            told = f"{key}={value} compares label histograms, and the targets of task={task.name} are no classes"
            raise BadInput(f"{told}; give {key}={free}")


def outputs_for(task: Objective, source: Source) -> int:
    """How many outputs a model by name is to have."""
    if task.targets in ("classes", "tokens"):
        return max(source.classes, 2)
    return source.classes


def check_outputs(task: Objective, layout: Layout, source: Source) -> None:
    """One sentence if the model does not say what the task asks."""
    if task.decides and layout.classes < source.classes:
        raise BadInput(f"the model tells {layout.classes} classes apart but the data has {source.classes}")
    if not task.decides and task.loss is None and prod(layout.output_shape) != (n := outputs_for(task, source)):
        raise BadInput(f"the model gives {prod(layout.output_shape)} numbers per sample but targets have {n}")


def weights_of(text: str, task: Objective, source: Source) -> tuple[float, ...]:
    """The weights that `class_weights` asks for: numbers, or such that every class weighs the same in all.

    >>> from shoal.objectives import CLASSIFICATION
    >>> weights_of("1,10", CLASSIFICATION, Federation.from_arrays({"a": (np.zeros((4, 1)), [0, 0, 0, 1])}))
    (1.0, 10.0)
    """
    if task.targets == "floats":
        raise BadInput(f"task={task.name} has no classes that could weigh more or less; leave class_weights out")
    if text != "balanced":
        try:
            weights = tuple(float(word) for word in text.split(","))
        except ValueError as e:
            raise BadInput(f"class_weights={text} is not possible: give balanced, or a number per class: 1,10") from e
        n = outputs_for(task, source)
        if not all(0 <= w < inf for w in weights) or not any(weights) or len(weights) != n:
            told = f"give {n} numbers from 0 on, one per class, and not 0 for all"
            raise BadInput(f"class_weights={text} is not possible: {told}")
        return weights
    if source.in_memory is None:
        raise BadInput("class_weights=balanced counts the labels of all clients, which lie elsewhere; give numbers")
    return balanced(task, source.in_memory)


def balanced(task: Objective, federation: Federation) -> tuple[float, ...]:
    """`n / (C n_c)` for each of the C classes among n training samples; of labels how many more are 0 than 1.

    >>> from shoal.objectives import CLASSIFICATION
    >>> data = {"a": (np.zeros((4, 1)), [0, 0, 0, 1])}
    >>> balanced(CLASSIFICATION, Federation.from_arrays(data, test=0))      # 4 / (2 3) and 4 / (2 1)
    (0.6666666666666666, 2.0)
    """
    index, owner = federation.train.take(np.arange(len(federation.ids)))
    y: Array = federation.labels(index, owner)
    if task.targets == "labels":
        ones_C = y.sum(0)
        return tuple(np.where(ones_C > 0, (len(y) - ones_C) / np.maximum(ones_C, 1), 1.0).tolist())
    counts_C = np.bincount(y[y != IGNORED].ravel(), minlength=outputs_for(task, federation))
    there = counts_C > 0
    return tuple(np.where(there, counts_C.sum() / (there.sum() * np.maximum(counts_C, 1)), 1.0).tolist())


def score_keys(score: Score) -> dict[str, Any]:
    """What `config.toml` says of the score; of accuracy nothing but its name.

    >>> score_keys(Score("rmse", "lower", False))
    {'score': 'rmse', 'score_better': 'lower', 'score_percent': False}
    """
    told: dict[str, Any] = {"score": score.name}
    return told if score == ACCURACY else {**told, "score_better": score.better, "score_percent": score.percent}
