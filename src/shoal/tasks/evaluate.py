"""Test a client's model on its samples. Leaves the client: counts of right, total and per class, the mean loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from shoal.net import Net
from shoal.seeds import Key
from shoal.types import Answer, Array, ClientData, Field, Memory, Task

MOST = 10**9  # samples that a client may be tested on
SLICE = 500  # samples sent through a model at once: fits a cache, and never depends on workers


@dataclass(frozen=True)
class Evaluate(Task):
    """Counts right answers on a split; per class the samples that are truly it, predicted as it, and both.

    Args:
        split: Which samples.
        vote: All models answer for everybody: soft voting by the mean of the probabilities that they give.
        per_class: Whether counts by class leave the client, too: they tell what labels it has.

    >>> Evaluate("test").tally(np.log([[0.9, 0.1], [0.4, 0.6]]), np.array([0, 0]), np.zeros(2, int), 1)["right"]
    array([1])
    """

    split: str = "test"
    vote: bool = False
    per_class: bool = True

    name: ClassVar[str] = "evaluate"
    diagnostic: ClassVar[bool] = True

    @property
    def fields(self) -> Mapping[str, Field]:
        count = Field("int", low=0, high=MOST)
        counts = {"right": count, "total": count, "loss": Field("float")}
        by_class = {name: Field("int", ("C",), low=0, guarded=True) for name in ("true", "predicted", "both")}
        return {**counts, **by_class} if self.per_class else counts

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
        logp_KBC = []
        for model_P in np.atleast_2d(models):
            net.load(model_P)
            rows = [self.forward(net, x[i : i + SLICE]) for i in range(0, len(y), SLICE)]
            logp_KBC.append(np.concatenate(rows) if rows else np.zeros((0, net.layout.classes)))
        logp_BC = poll(logp_KBC)
        return {name: value[0] for name, value in self.tally(logp_BC, y, np.zeros(len(y), int), 1).items()}, memory

    def forward(self, net: Net, x: Array) -> Array:
        """What one slice of samples gives with the model loaded: log-probabilities, B x C."""
        return net.log_probabilities(x)

    def tally(self, logp_BC: Array, y_B: Array, owner_B: Array, n: int) -> dict[str, Array]:
        """The answers of n clients at once; `owner_B` says whose each sample is. Sums are in float64, in order."""
        c = logp_BC.shape[1]
        guess_B = logp_BC.argmax(1)
        right_B = guess_B == y_B
        total_N = np.bincount(owner_B, minlength=n)
        loss_N = np.bincount(owner_B, -logp_BC[np.arange(len(y_B)), y_B].astype(np.float64), minlength=n)

        def by_class(labels: Array, owner: Array) -> Array:
            return np.bincount(owner * c + labels, minlength=n * c).reshape(n, c)

        counts = {
            "right": np.bincount(owner_B[right_B], minlength=n),
            "total": total_N,
            "loss": loss_N / np.maximum(total_N, 1),
        }
        if not self.per_class:
            return counts
        return {
            **counts,
            "true": by_class(y_B, owner_B),
            "predicted": by_class(guess_B, owner_B),
            "both": by_class(y_B[right_B], owner_B[right_B]),
        }

    def work(self, samples: int, models: int) -> tuple[int, int]:
        return 0, 0  # testing is the experimenter's work, not the client's


def poll(logp_KBC: Sequence[Array]) -> Array:
    """The log of the mean probability that several models give; of one model, what it gives.

    Args:
        logp_KBC: The log-probabilities of each model.

    Returns:
        Log-probabilities, B x C.

    >>> poll([np.log([[0.5, 0.5]]), np.log([[0.1, 0.9]])]).round(3).tolist()
    [[-1.204, -0.357]]
    """
    if len(logp_KBC) == 1:
        return logp_KBC[0]
    mean_BC = sum(np.exp(rows.astype(np.float64)) for rows in logp_KBC) / len(logp_KBC)
    return np.asarray(np.log(np.maximum(mean_BC, np.finfo(np.float64).tiny)))
