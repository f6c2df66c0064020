"""The task of a run: what it learns and how it is judged."""

from shoal.objectives.objective import Judged, Objective, Sum
from shoal.objectives.registry import CLASSIFICATION, OBJECTIVES, find_metric, find_objective

__all__ = [
    "CLASSIFICATION",
    "OBJECTIVES",
    "Judged",
    "Objective",
    "Sum",
    "find_metric",
    "find_objective",
]
