"""Shoal: clustered federated learning. Every client of a heterogeneous federation gets the model of its group.

Names are imported when they are first used, so that `import shoal` is quick. Public is what `__all__` lists: the names
below, and the class of every algorithm.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from shoal.version import __version__ as __version__

os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "8")  # numpy's idle threads leave their core to the workers at once

if TYPE_CHECKING:
    from shoal.aggregators import aggregator as aggregator
    from shoal.algorithms import *  # noqa: F403
    from shoal.analysis.compare import compare as compare
    from shoal.analysis.probe import probe as probe
    from shoal.data.datasets import dataset as dataset
    from shoal.data.federation import Federation as Federation
    from shoal.data.partition import partition as partition
    from shoal.errors import ShoalError as ShoalError
    from shoal.experiment.api import resume as resume
    from shoal.experiment.api import run as run
    from shoal.experiment.loading import load as load
    from shoal.experiment.result import Run as Run
    from shoal.experiment.sweep import sweep as sweep
    from shoal.metrics import Metric as Metric
    from shoal.models import model as model
    from shoal.objectives import Objective as Objective
    from shoal.observers import Observer as Observer
    from shoal.selection import All as All
    from shoal.selection import Random as Random
    from shoal.selection import RoundRobinThenRandom as RoundRobinThenRandom
    from shoal.solvers import SGD as SGD
    from shoal.solvers import Proximal as Proximal
    from shoal.store.exported import load_model as load_model

_HOME = {
    "All": "shoal.selection",
    "Federation": "shoal.data.federation",
    "Metric": "shoal.metrics",
    "Objective": "shoal.objectives",
    "Observer": "shoal.observers",
    "Proximal": "shoal.solvers",
    "Random": "shoal.selection",
    "RoundRobinThenRandom": "shoal.selection",
    "Run": "shoal.experiment.result",
    "SGD": "shoal.solvers",
    "ShoalError": "shoal.errors",
    "aggregator": "shoal.aggregators",
    "algorithm": "shoal.algorithms",
    "dataset": "shoal.data.datasets",
    "load": "shoal.experiment.loading",
    "load_model": "shoal.store.exported",
    "model": "shoal.models",
    "partition": "shoal.data.partition",
    "compare": "shoal.analysis.compare",
    "probe": "shoal.analysis.probe",
    "resume": "shoal.experiment.api",
    "run": "shoal.experiment.api",
    "sweep": "shoal.experiment.sweep",
}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return __dir__()
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name[:1].isupper() and name in _algorithms():
        return _algorithms()[name]
    raise AttributeError(f"module 'shoal' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(["__version__", *_HOME, *_algorithms()])


def _algorithms() -> dict[str, type]:
    """The classes that the package of algorithms holds."""
    found = vars(import_module("shoal.algorithms"))
    return {name: thing for name, thing in found.items() if isinstance(thing, type)}
