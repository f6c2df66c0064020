"""Test a client's model on its samples. Leaves the client: counts of right, total and per class, mean loss, sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from shoal.layout import Layout
from shoal.metrics import sums_of
from shoal.net import Net
from shoal.objectives import CLASSIFICATION, Objective
from shoal.seeds import Key
from shoal.tree import Tree, length, take
from shoal.types import Answer, Array, ClientData, Field, Memory, Task

MOST = 10**9  # samples that a client may be tested on
SLICE = 500  # samples sent through a model at once: fits a cache, and never depends on workers


@dataclass(frozen=True)
class Evaluate(Task):
    """Counts right answers on a split; per class the samples that are truly it, predicted as it, and both.

    Args:
        split: Which samples.
        vote: All models answer for everybody: soft voting by the mean of the probabilities of classes, else of outputs.
        per_class: Whether counts by class leave the client, too: they tell what labels it has.
        decides: Whether there are right answers to count: of classes and tokens, not of labels or floats.
        sums: What metrics add up besides: name, shape and whether it is guarded.

    >>> Evaluate("test").tally(np.log([[0.9, 0.1], [0.4, 0.6]]), np.array([0, 0]), np.zeros(2, int), 1)["right"]
    array([1])
    """

    split: str = "test"
    vote: bool = False
    per_class: bool = True
    decides: bool = True
    sums: tuple[tuple[str, tuple[int, ...], bool], ...] = ()

    name: ClassVar[str] = "evaluate"
    diagnostic: ClassVar[bool] = True

    @classmethod
    def of(cls, layout: Layout, split: str, vote: bool, per_class: bool) -> Evaluate:
        """The test of a run, by its task: all that its metrics need."""
        task = layout.objective
        return cls(split, vote, per_class and task.targets == "classes", task.decides, layout.sums)

    @property
    def fields(self) -> Mapping[str, Field]:
        count = Field("int", low=0, high=MOST)
        right = {"right": count} if self.decides else {}
        counts = {**right, "total": count, "loss": Field("float")}
        by_class = {name: Field("int", ("C",), low=0, guarded=True) for name in ("true", "predicted", "both")}
        sums = {name: Field("sum", shape, guarded=guarded) for name, shape, guarded in self.sums}
        return {**counts, **(by_class if self.per_class and self.decides else {}), **sums}

    @property
    def models(self) -> Literal["one", "all"]:
        return "all" if self.vote else "one"

    @property
    def bulk(self) -> Evaluate:
        return self

    def __call__(
        self, net: Net, models: Array | None, data: ClientData, memory: Memory, key: Key
    ) -> tuple[Answer, Memory]:
        assert models is not None
        x, y = data(self.split)
        objective, models_KP = net.layout.objective, np.atleast_2d(models)
        size = SLICE if objective.targets == "tokens" else max(len(y), 1)  # of tokens there is no room for all
        parts = []
        for start in range(0, max(len(y), 1), size):
            some = take(x, slice(start, start + size))
            rows = poll([self._rows(net, model_P, some) for model_P in models_KP], objective)
            owner = np.zeros(len(rows), int)
            parts.append(self.tally(rows, y[start : start + size], owner, 1, objective))
        return {name: value[0] for name, value in together(parts).items()}, memory

    def _rows(self, net: Net, model_P: Array, x: Tree) -> Array:
        net.load(model_P)
        rows = [self.forward(net, take(x, slice(i, i + SLICE))) for i in range(0, length(x), SLICE)]
        return np.concatenate(rows) if rows else np.zeros((0, *net.layout.said), net.layout.dtype)

    def forward(self, net: Net, x: Tree) -> Array:
        """What one slice of samples gives with the model loaded: log-probabilities, or outputs, a row per sample."""
        return net.rows(x)

    def tally(
        self, rows_B: Array, y_B: Array, owner_B: Array, n: int, objective: Objective = CLASSIFICATION
    ) -> dict[str, Array]:
        """The answers of n clients at once; `owner_B` says whose each sample is. Sums are in float64, in order."""
        said, targets, owner, loss_N = objective.judge(rows_B, y_B, owner_B, n)
        total_N = np.bincount(owner, minlength=n)
        counts = {"total": total_N, "loss": loss_N / np.maximum(total_N, 1)}
        if self.decides:
            counts = self._decided(said, targets, owner, n) | counts
        if not self.sums:
            return counts
        order, adding = np.argsort(owner, kind="stable"), objective.adding
        ends = np.concatenate([[0], np.cumsum(total_N)])
        sums = {name: np.zeros((n, *shape)) for name, shape, _ in self.sums}
        for i in np.flatnonzero(total_N).tolist():
            mine = order[ends[i] : ends[i + 1]]
            for metric in adding:
                for name, value in sums_of(metric, said[mine], targets[mine]).items():
                    sums[name][i] = value
        return counts | sums

    def _decided(self, said: Array, y: Array, owner: Array, n: int) -> dict[str, Array]:
        """Right answers, and by class what is true, predicted, and both."""
        c, guess = said.shape[1], said.argmax(1)
        right = guess == y

        def by_class(labels: Array, owner: Array) -> Array:
            return np.bincount(owner * c + labels, minlength=n * c).reshape(n, c)

        counts = {"right": np.bincount(owner[right], minlength=n)}
        if not self.per_class:
            return counts
        return {
            **counts,
            "true": by_class(y, owner),
            "predicted": by_class(guess, owner),
            "both": by_class(y[right], owner[right]),
        }

    def work(self, samples: int, models: int) -> tuple[int, int]:
        return 0, 0  # testing is the experimenter's work, not the client's


def together(parts: Sequence[Mapping[str, Array]]) -> dict[str, Array]:
    """The answers of a client that was tested in several parts as one: counts add up, losses are weighted by them.

    >>> parts = [{"total": np.array([n]), "loss": np.array([loss])} for n, loss in ((1, 4.0), (3, 8.0))]
    >>> together(parts)
    {'total': array([4]), 'loss': array([7.])}
    """
    if len(parts) == 1:
        return dict(parts[0])
    out = {name: np.sum([part[name] for part in parts], axis=0) for name in parts[0]}
    weighted = np.sum([part["loss"] * part["total"] for part in parts], axis=0)
    return out | {"loss": weighted / np.maximum(out["total"], 1)}


def poll(rows_KB: Sequence[Array], objective: Objective = CLASSIFICATION) -> Array:
    """What several models say together: the log of their mean probability, or the mean of their outputs.

    Args:
        rows_KB: The log-probabilities, or the outputs, of each model.
        objective: Says which of the two they are.

    Returns:
        Of one model what it gives.

    >>> poll([np.log([[0.5, 0.5]]), np.log([[0.1, 0.9]])]).round(3).tolist()
    [[-1.204, -0.357]]
    """
    if len(rows_KB) == 1:
        return rows_KB[0]
    if not objective.by_probabilities:
        return np.asarray(np.mean(rows_KB, axis=0))
    mean_BC = sum(np.exp(rows.astype(np.float64)) for rows in rows_KB) / len(rows_KB)
    return np.asarray(np.log(np.maximum(mean_BC, np.finfo(np.float64).tiny)))
