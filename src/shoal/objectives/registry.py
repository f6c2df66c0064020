"""Tasks by name: Shoal's own, those of other packages, and those of a user's file."""

from __future__ import annotations

from shoal.metrics import METRICS, Metric
from shoal.objectives.objective import Objective
from shoal.registry import Registry

OBJECTIVES = Registry[Objective]("task", home="shoal.objectives", of=Objective)

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
    return OBJECTIVES.find(OBJECTIVES.named(name))


def find_metric(name: str) -> Metric:
    """The metric of a name, or of `FILE.py:NAME`.

    Args:
        name: As a user wrote it.

    Returns:
        The metric.

    >>> find_metric("ece").name
    'calibration_error'
    """
    return METRICS.find(METRICS.named(name))
