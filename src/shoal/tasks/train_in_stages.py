"""Pre-training that is not lost: the client sends what it learnt early and goes on from there (departure D46)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from shoal.net import Net
from shoal.seeds import Key
from shoal.tasks.train import Train
from shoal.types import Answer, Array, ClientData, CohortAnswers, CohortAtWork, Field, Memory, Solver, Task


@dataclass(frozen=True)
class TrainInStages(Task):
    """Train with one solver, then go on with another. Leaves the client: the early update, and what `Train` leaves of
    both together.

    Args:
        first: Trains first.
        rest: Goes on from there.

    >>> from shoal.solvers import SGD
    >>> sorted(TrainInStages(SGD(), SGD(epochs=4)).fields)
    ['count', 'early', 'loss', 'update']
    """

    first: Solver
    rest: Solver

    name: ClassVar[str] = "train"
    models: ClassVar[Literal["one"]] = "one"
    fields: ClassVar[Mapping[str, Field]] = {"early": Field("float", ("P",)), **Train.fields}

    def __call__(
        self, net: Net, models: Array | None, data: ClientData, memory: Memory, key: Key
    ) -> tuple[Answer, Memory]:
        assert models is not None
        return train_in_stages(net, models, data, self.first, self.rest, key), memory

    def for_cohort(self, cohort: CohortAtWork, key: Key) -> CohortAnswers | None:
        models_KP = cohort.models_KP
        assert models_KP is not None
        if not (cohort.trains(self.first) and cohort.trains(self.rest)):
            return None
        starts = [models_KP[k] for k in cohort.which_N]
        return CohortAnswers(train_cohort_in_stages(cohort, starts, self.first, self.rest, key))

    def work(self, samples: int, models: int) -> tuple[int, int]:
        passes = self.first.passes(samples) + self.rest.passes(samples)
        return passes, passes


def train_in_stages(
    net: Net, start_P: Array, data: ClientData, first: Solver, rest: Solver, key: Key
) -> dict[str, Any]:
    """The early update, the update of both parts together, the sample count and the mean loss over both."""
    x, y = data("train")
    early = first(net, start_P, x, y, key)
    later = rest(net, start_P + early.update_P, x, y, key("rest"))
    seen = first.passes(len(y)), rest.passes(len(y))
    loss = (seen[0] * early.loss + seen[1] * later.loss) / max(sum(seen), 1)
    return {"early": early.update_P, "update": early.update_P + later.update_P, "count": len(y), "loss": loss}


def train_cohort_in_stages(
    cohort: CohortAtWork, starts: Sequence[Array], first: Solver, rest: Solver, key: Key
) -> dict[str, Array]:
    """What `train_in_stages` gives, of a whole cohort whose clients can train with both."""
    early_NP, early_N, _ = cohort.train(first, starts, key)
    later = [start_P + early_P for start_P, early_P in zip(starts, early_NP, strict=True)]
    update_NP, later_N, _ = cohort.train(rest, later, key("rest"))
    np.add(early_NP, update_NP, out=update_NP)
    count_N = cohort.sizes_N("train")
    seen = [np.array([solver.passes(n) for n in count_N.tolist()]) for solver in (first, rest)]
    loss_N = (seen[0] * early_N + seen[1] * later_N) / np.maximum(seen[0] + seen[1], 1)
    return {"early": early_NP, "update": update_NP, "count": count_N, "loss": loss_N}
