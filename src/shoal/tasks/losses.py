"""The mean loss of each of K models on a client's samples. Leaves the client: K numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from shoal.net import Net
from shoal.seeds import Key
from shoal.tasks.evaluate import SLICE
from shoal.tree import Tree, take
from shoal.types import Answer, Array, ClientData, CohortAnswers, CohortAtWork, Field, Memory, Task


@dataclass(frozen=True)
class Losses(Task):
    """Try all K models on a split.

    Args:
        split: Which samples.
        diagnostic: Whether it only serves to look, so that its traffic is none of the method's.

    >>> Losses("train").work(samples=10, models=3)
    (30, 0)
    """

    split: str = "train"
    diagnostic: bool = False

    name: ClassVar[str] = "losses"
    models: ClassVar[Literal["all"]] = "all"
    fields: ClassVar[Mapping[str, Field]] = {"losses": Field("float", ("K",))}

    def __call__(
        self, net: Net, models: Array | None, data: ClientData, memory: Memory, key: Key
    ) -> tuple[Answer, Memory]:
        assert models is not None
        x, y = data(self.split)
        out = np.zeros(len(models), net.layout.dtype)
        for k, model_P in enumerate(models):
            net.load(model_P)
            out[k] = one_loss(net, x, y)
        return {"losses": out}, memory

    def for_cohort(self, cohort: CohortAtWork, key: Key) -> CohortAnswers | None:
        if cohort.models_KP is None:
            return None
        return CohortAnswers({"losses": cohort.losses_NK(self.split, cohort.models_KP)})

    def work(self, samples: int, models: int) -> tuple[int, int]:
        return samples * models, 0


def one_loss(net: Net, x: Tree, y: Array) -> float:
    """The mean loss of the model that is loaded on some samples, summed in float64 in their order; of none 0."""
    if net.layout.objective.plain:
        rows = [net.log_probabilities(take(x, slice(i, i + SLICE))) for i in range(0, len(y), SLICE)]
        return float(mean_loss(np.concatenate(rows), y, np.zeros(len(y), int), np.array([len(y)]))[0]) if rows else 0.0
    total, units = 0.0, 0
    for i in range(0, len(y), SLICE):
        part = y[i : i + SLICE]
        found = net.layout.objective.judge(net.rows(take(x, slice(i, i + SLICE))), part, np.zeros(len(part), int), 1)
        total, units = total + float(found.loss_N[0]), units + len(found.owner)
    return total / max(units, 1)


def mean_loss(logp_SC: Array, labels_S: Array, owner_S: Array, sizes_N: Array) -> Array:
    """The mean loss of each of N clients, summed in float64 in the order of its samples; of no samples 0.

    >>> mean_loss(np.log([[0.5, 0.5], [0.25, 0.75]]), np.array([0, 0]), np.array([0, 0]), np.array([2, 0])).round(4)
    array([1.0397, 0.    ])
    """
    nll_S = -logp_SC[np.arange(len(labels_S)), labels_S].astype(np.float64)
    return np.asarray(np.bincount(owner_S, nll_S, minlength=len(sizes_N)) / np.maximum(sizes_N, 1))
