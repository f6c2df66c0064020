"""The task of a run as it is sent to sites: by name."""

from __future__ import annotations

import dataclasses

from shoal.errors import BadInput
from shoal.metrics import METRICS, Metric
from shoal.objectives import OBJECTIVES, Objective

__all__ = ["TaskName"]


@dataclasses.dataclass(frozen=True)
class TaskName:
    """The task of a run by name, as sites know it: those of a user's own are declared in a file that sites import.

    Args:
        name: Of the task.
        metrics: Names of what is measured.
        weights: Of the classes.

    >>> TaskName.of(OBJECTIVES["regression"]).objective.headline.name
    'rmse'
    """

    name: str = "classification"
    metrics: tuple[str, ...] = ("accuracy",)
    weights: tuple[float, ...] | None = None

    @classmethod
    def of(cls, objective: Objective) -> TaskName:
        """The name of a task; one sentence if sites cannot know it."""
        strange = next((m.name for m in objective.metrics if isinstance(m, Metric) and METRICS.get(m.name) != m), None)
        known = next((name for name, other in OBJECTIVES.items() if alike(objective, other)), None)
        if known is None or strange:
            what = f"the metric {strange!r}" if strange else f"the task {objective.name!r}"
            raise BadInput(
                f"{what} cannot be sent to sites: declare it by name in a file that server and sites import, with "
                "shoal.objectives.OBJECTIVES or shoal.metrics.METRICS"
            )
        names = tuple(m if isinstance(m, str) else m.name for m in objective.metrics)
        return cls(known, names, objective.weights)

    @property
    def objective(self) -> Objective:
        """The task as this side knows it."""
        found = OBJECTIVES.find(self.name)
        return dataclasses.replace(found, metrics=self.metrics, weights=self.weights, score=found.headline.name)


def alike(one: Objective, other: Objective) -> bool:
    """Whether two tasks differ in nothing but what is measured, the score and the weights of classes.

    >>> alike(OBJECTIVES["regression"], Objective(targets="floats", name="regression"))
    True
    >>> alike(Objective(loss=lambda out, y: (out - y).abs(), name="regression"), OBJECTIVES["regression"])
    False
    """
    return all(getattr(one, part) == getattr(other, part) for part in ("name", "targets", "loss", "said"))
