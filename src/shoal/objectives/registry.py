"""Tasks by name: Shoal's own, those of other packages, and those of a user's file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from shoal.errors import BadInput
from shoal.metrics import METRICS, Metric
from shoal.objectives.objective import Objective
from shoal.registry import Registry, import_file

OBJECTIVES = Registry[Objective]("task", home="shoal.objectives")

CLASSIFICATION = OBJECTIVES("classification")(
    Objective(targets="classes", metrics=("accuracy",), name="classification")
)
OBJECTIVES("binary")(Objective(targets="classes", metrics=("auc", "average_precision"), name="binary"))
OBJECTIVES("multilabel")(
    Objective(targets="labels", metrics=("auc", "average_precision", "macro_f1", "accuracy"), name="multilabel")
)
OBJECTIVES("regression")(Objective(targets="floats", metrics=("rmse", "mae"), name="regression"))
OBJECTIVES("tokens")(Objective(targets="tokens", metrics=("accuracy",), name="tokens"))


def find_objective(name: str) -> Objective:
    """The task of a name, or of `FILE.py:NAME`.

    Args:
        name: As a user wrote it.

    Returns:
        The task.

    >>> find_objective("regression").headline.name
    'rmse'
    """
    found: Objective = of_file(name, Objective) if ".py:" in name else OBJECTIVES.find(name)
    return found


def find_metric(name: str) -> Metric:
    """The metric of a name, or of `FILE.py:NAME`.

    Args:
        name: As a user wrote it.

    Returns:
        The metric.

    >>> find_metric("ece").name
    'calibration_error'
    """
    found: Metric = of_file(name, Metric) if ".py:" in name else METRICS.find(name)
    return found


def of_file(text: str, kind: type) -> Any:
    """What `FILE.py:NAME` names, if it is of a kind."""
    path, _, name = text.rpartition(":")
    import_file(Path(path))
    found = getattr(sys.modules[Path(path).stem], name, None)
    if not isinstance(found, kind):
        raise BadInput(f"{path} has no {kind.__name__} called {name!r}")
    return found
