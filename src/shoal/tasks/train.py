"""Local training from the model given. Leaves the client: the update, the sample count, the mean training loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from shoal.net import Net
from shoal.seeds import Key
from shoal.types import Answer, Array, ClientData, CohortAnswers, CohortAtWork, Field, Memory, Solver, Task


@dataclass(frozen=True)
class Train(Task):
    """Train from the model received with a solver.

    Args:
        solver: Trains.
        keeps: The name under which a client keeps its momentum, or the state of its optimiser, if the solver keeps it.

    >>> from shoal.solvers import SGD
    >>> sorted(Train(SGD()).fields)
    ['count', 'loss', 'update']
    """

    solver: Solver
    keeps: str = "velocity"

    name: ClassVar[str] = "train"
    models: ClassVar[Literal["one"]] = "one"
    fields: ClassVar[Mapping[str, Field]] = {
        "update": Field("float", ("P",)),
        "count": Field("count"),
        "loss": Field("float"),
    }

    def __call__(
        self, net: Net, models: Array | None, data: ClientData, memory: Memory, key: Key
    ) -> tuple[Answer, Memory]:
        assert models is not None
        x, y = data("train")
        trained = self.solver(net, models, x, y, key, memory.get(self.keeps))
        keep = memory if trained.velocity is None else {**memory, self.keeps: trained.velocity}
        return {"update": trained.update_P, "count": len(y), "loss": trained.loss}, keep

    def for_cohort(self, cohort: CohortAtWork, key: Key) -> CohortAnswers | None:
        assert cohort.models_KP is not None
        models = list(cohort.models_KP)  # clients that are sent the same one share it
        return train_cohort(self.solver, cohort, [models[k] for k in cohort.which_N], key, self.keeps)

    def for_chains(self, cohort: CohortAtWork, lengths_M: Array, key: Key) -> CohortAnswers | None:
        trained = cohort.train_chains(self.solver, lengths_M, key) if cohort.trains(self.solver) else None
        if trained is None:
            return None
        sizes_N, losses_N = cohort.sizes_N("train").tolist(), trained[1].tolist()
        counts, losses = [], []
        for end, length in zip(np.cumsum(lengths_M).tolist(), lengths_M.tolist(), strict=True):
            sizes = sizes_N[end - length : end]
            losses.append(
                sum(n * loss for n, loss in zip(sizes, losses_N[end - length : end], strict=True)) / sum(sizes)
            )
            counts.append(sum(sizes))
        return CohortAnswers({"update": trained[0], "count": np.array(counts), "loss": np.array(losses)})

    def work(self, samples: int, models: int) -> tuple[int, int]:
        return self.solver.passes(samples), self.solver.passes(samples)


def train_cohort(
    solver: Solver, cohort: CohortAtWork, starts: Sequence[Array], key: Key, keeps: str = "velocity"
) -> CohortAnswers | None:
    """What `Train` answers for a whole cohort, each client from its own start; None: client by client."""
    velocities = cohort.kept(keeps)
    if not cohort.trains(solver, velocities):
        return None
    updates_NP, losses_N, kept = cohort.train(solver, starts, key, velocities)
    fields = {"update": updates_NP, "count": cohort.sizes_N("train"), "loss": losses_N}
    return CohortAnswers(fields, {} if kept is None else cohort.keeping(**{keeps: kept}))
