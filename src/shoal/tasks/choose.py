"""Try all K models, take the best and, with a solver, train from it at once: IFCA's client in one round trip."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from shoal.net import Net
from shoal.seeds import Key
from shoal.tasks.losses import Losses
from shoal.tasks.train import Train, train_cohort
from shoal.types import Answer, Array, ClientData, CohortAnswers, CohortAtWork, Field, Memory, Solver, Task


@dataclass(frozen=True)
class Choose(Task):
    """Leaves the client: the number of the model with the least loss, ties to the lowest; what `Train` leaves.

    Args:
        split: The samples on which models are tried.
        solver: Trains from the best model; None: nothing is trained.

    >>> from shoal.solvers import SGD
    >>> sorted(Choose().fields), sorted(Choose(solver=SGD()).fields)
    (['choice'], ['choice', 'count', 'loss', 'update'])
    """

    split: str = "train"
    solver: Solver | None = None

    name: ClassVar[str] = "choose"
    models: ClassVar[Literal["all"]] = "all"

    @property
    def fields(self) -> Mapping[str, Field]:
        choice = {"choice": Field("int", low=0, high="K")}
        return choice if self.solver is None else {**choice, **Train.fields}

    def __call__(
        self, net: Net, models: Array | None, data: ClientData, memory: Memory, key: Key
    ) -> tuple[Answer, Memory]:
        assert models is not None
        losses_K = Losses(self.split)(net, models, data, memory, key)[0]["losses"]
        best = int(least(losses_K))
        if self.solver is None:
            return {"choice": best}, memory
        answer, keep = Train(self.solver)(net, models[best], data, memory, key)
        return {"choice": best, **answer}, keep

    def for_cohort(self, cohort: CohortAtWork, key: Key) -> CohortAnswers | None:
        models_KP = cohort.models_KP
        if models_KP is None or (self.solver is not None and not cohort.trains(self.solver)):
            return None
        best_N = least(cohort.losses_NK(self.split, models_KP))
        if self.solver is None:
            return CohortAnswers({"choice": best_N})
        got = train_cohort(self.solver, cohort, [models_KP[k] for k in best_N], key)
        return None if got is None else CohortAnswers({"choice": best_N, **got.fields}, got.memories)

    def work(self, samples: int, models: int) -> tuple[int, int]:
        trained = 0 if self.solver is None else self.solver.passes(samples)
        return samples * models + trained, trained


def least(losses_NK: Array) -> Array:
    """The place of the least finite loss along the last axis, ties to the lowest."""
    return np.asarray(np.argmin(np.where(np.isfinite(losses_NK), losses_NK, np.inf), -1))
