"""What a user asks for, read once: names known, settings checked, and nothing built yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shoal.algorithms import ALGORITHMS
from shoal.data.federation import Source
from shoal.errors import BadInput, unknown
from shoal.layout import ModelFactory
from shoal.metrics import Metric
from shoal.objectives import Objective
from shoal.setup.options import check_options, split_keys
from shoal.setup.own import with_names
from shoal.setup.settings import SOLVER_KEYS, Settings, check_settings, with_selection
from shoal.setup.task import objective_of
from shoal.types import Algorithm

__all__ = ["Resolved", "resolve"]


@dataclass(frozen=True)
class Resolved:
    """One run as it is asked for. What was given as an object stands beside the settings, which hold names.

    Attributes:
        name: Of the algorithm, as messages and folders call it.
        algorithm: Its name, or the object.
        settings: The keys that every run has.
        own: Keys of this algorithm alone.
        federation: The object, if one was given.
        model: The function that makes it, if one was given.
        objective: The task, if it was given as an object.
        metrics: Those that were given as objects.

    >>> resolve("fedprox", None, None, {"mu": 0.1}).own
    {'mu': 0.1}
    """

    name: str  # of the algorithm, as messages and folders call it
    algorithm: str | Algorithm
    settings: Settings
    own: Mapping[str, Any] = field(default_factory=dict)  # keys of this algorithm alone
    federation: Source | None = None
    model: ModelFactory | None = None
    objective: Objective | None = None
    metrics: tuple[Metric, ...] = ()


def resolve(
    algorithm: str | Algorithm,
    federation: str | Source | None,
    model: str | ModelFactory | None,
    pairs: Mapping[str, Any],
) -> Resolved:
    """Check what was asked for; the first thing that is wrong is one sentence.

    Args:
        algorithm: A name, `FILE.py:CLASS`, or an object.
        federation: The name of a data set, or an object.
        model: A name, or a function that makes one.
        pairs: Keys and values.

    Returns:
        One run, ready to be built.

    >>> resolve("fedprox", "digits", None, {"mu": 0.1, "rounds": "3"}).settings.rounds
    3
    """
    pairs = dict(pairs)
    for key, given in (("data", federation), ("model", model)):
        if given is not None and key in pairs:
            raise BadInput(f"{key} is given twice, by name and as an argument; leave one out")
        if isinstance(given, str):
            pairs[key] = given
    algorithm = ALGORITHMS.named(algorithm) if isinstance(algorithm, str) else algorithm
    objective, metrics = own_task(pairs)
    pairs = with_names(pairs)
    source = None if isinstance(federation, str) else federation
    if source is not None and not hasattr(source, "roster"):
        raise BadInput(
            f"a federation is the name of a data set or a Federation, not {type(source).__name__}; "
            "Federation.from_arrays and Federation.from_datasets make one"
        )
    if source is not None and pairs.get("partition") is not None:
        raise BadInput("a federation that is given as an object is already dealt to clients; leave partition out")
    settings, own = settings_of(algorithm, pairs)
    name = algorithm if isinstance(algorithm, str) else type(algorithm).__name__.lower()
    made_by = None if isinstance(model, str) else model
    objective_of(settings, objective, metrics)  # what is wrong with names is said before data are read
    return Resolved(name, algorithm, settings, own, source, made_by, objective, metrics)


def own_task(pairs: dict[str, Any]) -> tuple[Objective | None, tuple[Metric, ...]]:
    """The task and the metrics that are objects; their names stay among the pairs."""
    task, metrics = pairs.get("task"), pairs.get("metrics")
    listed = metrics if isinstance(metrics, list | tuple) else [] if metrics is None else [metrics]
    own = tuple(m for m in listed if isinstance(m, Metric))
    if isinstance(score := pairs.get("score"), Metric):
        own, pairs["score"] = (*own, score), score.name
    if any(isinstance(m, Metric) for m in listed):
        pairs["metrics"] = [m.name if isinstance(m, Metric) else m for m in listed]
    if callable(task):
        raise BadInput("task= is a name or a shoal.Objective; wrap a loss of your own: task=shoal.Objective(loss=...)")
    if not isinstance(task, Objective):
        return None, own
    del pairs["task"]
    return task, own


def settings_of(algorithm: str | Algorithm, pairs: Mapping[str, Any]) -> tuple[Settings, dict[str, Any]]:
    """The settings, and the keys that belong to the algorithm alone."""
    if isinstance(algorithm, str):
        common, own = split_keys((algorithm,), pairs)
        return with_selection((algorithm,), check_settings(common)), own[algorithm]
    if isinstance(algorithm, type):
        raise BadInput(f"give the algorithm as a name or an instance, for instance {algorithm.__name__}()")
    if not isinstance(algorithm, Algorithm):
        what = type(algorithm).__name__
        raise BadInput(f"an algorithm is a name or an object that derives from shoal.types.Algorithm, not {what}")
    fixed = [k for k in pairs if k in SOLVER_KEYS or k in ("selection", "clients_per_round", "aggregate")]
    if fixed:
        where = "(solver=, select=, aggregate=)"
        raise BadInput(f"{fixed[0]} belongs to the algorithm you gave as an object; set it there {where}")
    strange = [k for k in pairs if k not in Settings.model_fields]
    if strange:
        raise unknown("key", strange[0], Settings.model_fields)
    check_options(algorithm)
    return check_settings(pairs), {}
