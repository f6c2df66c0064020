"""Shoal: clustered federated learning. Every client of a heterogeneous federation gets the model of its group.

Names are imported when they are first used, so that `import shoal` is quick.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from shoal.version import __version__

os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "8")  # numpy's idle threads leave their core to the workers at once

if TYPE_CHECKING:
    from shoal.algorithms import (
        CFL,
        FLHC,
        IDA,
        IFCA,
        Central,
        FedAdagrad,
        FedAdam,
        FedAvg,
        FedAvgPlus,
        FedFusion,
        FedGroup,
        FedGrouProx,
        FedGSP,
        FedMMD,
        FedProx,
        FedProxPlus,
        FedYogi,
        FeSEM,
        FlexCFL,
        Given,
        Local,
        NaiveGSP,
        NaiveGSPICG,
        WeCFL,
    )
    from shoal.data.federation import Federation
    from shoal.errors import ShoalError
    from shoal.experiment.api import resume, run
    from shoal.experiment.callbacks import Observer
    from shoal.experiment.compare import compare
    from shoal.experiment.probe import probe
    from shoal.experiment.result import Run
    from shoal.experiment.sweep import sweep
    from shoal.selection import All, Random, RoundRobinThenRandom
    from shoal.solvers import SGD, Proximal

_HOME = {
    "FedGSP": "shoal.algorithms",
    "NaiveGSP": "shoal.algorithms",
    "NaiveGSPICG": "shoal.algorithms",
    "FedMMD": "shoal.algorithms",
    "FedFusion": "shoal.algorithms",
    "IDA": "shoal.algorithms",
    "FedAdagrad": "shoal.algorithms",
    "FedAdam": "shoal.algorithms",
    "FedYogi": "shoal.algorithms",
    "WeCFL": "shoal.algorithms",
    "IFCA": "shoal.algorithms",
    "Given": "shoal.algorithms",
    "FlexCFL": "shoal.algorithms",
    "FedProxPlus": "shoal.algorithms",
    "FedGroup": "shoal.algorithms",
    "FedGrouProx": "shoal.algorithms",
    "FedAvgPlus": "shoal.algorithms",
    "FeSEM": "shoal.algorithms",
    "FLHC": "shoal.algorithms",
    "CFL": "shoal.algorithms",
    "All": "shoal.selection",
    "Central": "shoal.algorithms",
    "FedAvg": "shoal.algorithms",
    "FedProx": "shoal.algorithms",
    "Federation": "shoal.data.federation",
    "Local": "shoal.algorithms",
    "Observer": "shoal.experiment.callbacks",
    "Proximal": "shoal.solvers",
    "Random": "shoal.selection",
    "RoundRobinThenRandom": "shoal.selection",
    "Run": "shoal.experiment.result",
    "SGD": "shoal.solvers",
    "ShoalError": "shoal.errors",
    "compare": "shoal.experiment.compare",
    "probe": "shoal.experiment.probe",
    "resume": "shoal.experiment.api",
    "run": "shoal.experiment.api",
    "sweep": "shoal.experiment.sweep",
}

__all__ = [
    "FedGSP",
    "NaiveGSP",
    "NaiveGSPICG",
    "FedMMD",
    "FedFusion",
    "IDA",
    "FedAdagrad",
    "FedAdam",
    "FedYogi",
    "WeCFL",
    "IFCA",
    "Given",
    "FlexCFL",
    "FedProxPlus",
    "FedGroup",
    "FedGrouProx",
    "FedAvgPlus",
    "FeSEM",
    "FLHC",
    "CFL",
    "SGD",
    "All",
    "Central",
    "FedAvg",
    "FedProx",
    "Federation",
    "Local",
    "Observer",
    "Proximal",
    "Random",
    "RoundRobinThenRandom",
    "Run",
    "ShoalError",
    "__version__",
    "compare",
    "probe",
    "resume",
    "run",
    "sweep",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'shoal' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
