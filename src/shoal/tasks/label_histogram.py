"""The label histogram of a client's training samples, noisy if asked. Leaves the client: the histogram."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from shoal.errors import BadInput
from shoal.net import Net
from shoal.records import IGNORED
from shoal.seeds import Key
from shoal.types import Answer, Array, ClientData, CohortAnswers, CohortAtWork, Field, Memory, Task


@dataclass(frozen=True)
class LabelHistogram(Task):
    """Count the labels of a split; with `epsilon` by the Laplace mechanism on whole numbers.

    One sample more or less changes one count by one, so noise of the law `P(z) ~ exp(-epsilon |z|)` on each makes one
    answer epsilon-differentially private; what falls below 0 is told as 0. Answers to several requests add up. On a
    real device the noise depends on a secret of the device, so that no server can take it off again.

    Args:
        split: Which samples.
        epsilon: Privacy of one answer; None: the counts as they are.

    >>> LabelHistogram().models
    'none'
    """

    split: str = "train"
    epsilon: float | None = None

    def __post_init__(self) -> None:
        if self.epsilon is not None and not 0 < self.epsilon < np.inf:
            raise BadInput(f"epsilon must be above 0, not {self.epsilon}; leave it out for counts without noise")

    name: ClassVar[str] = "describe"
    models: ClassVar[Literal["none"]] = "none"

    @property
    def fields(self) -> Mapping[str, Field]:
        return {"histogram": Field("int", ("C",), low=0, guarded=self.epsilon is None)}

    def __call__(
        self, net: Net, models: Array | None, data: ClientData, memory: Memory, key: Key
    ) -> tuple[Answer, Memory]:
        counts_C = label_counts(net, data, self.split)
        if self.epsilon is not None:
            counts_C = np.maximum(counts_C + whole_laplace(self.epsilon, len(counts_C), key.private("noise").rng()), 0)
        return {"histogram": counts_C}, memory

    def for_cohort(self, cohort: CohortAtWork, key: Key) -> CohortAnswers | None:
        return None if self.epsilon is not None else CohortAnswers({"histogram": cohort.histograms_NC(self.split)})

    def work(self, samples: int, models: int) -> tuple[int, int]:
        return 0, 0


def label_counts(net: Net, data: ClientData, split: str) -> Array:
    """How many samples of a split are of each class: of tokens those that count, of labels those that are 1.

    Floats are of no class: all of them are counted as the first.

    Args:
        net: Knows the task and the classes.
        data: A client's samples.
        split: Which of them.

    Returns:
        C whole numbers.
    """
    targets, y, classes = net.layout.objective.targets, data.labels(split), net.layout.classes
    if targets == "classes":
        return np.bincount(y, minlength=classes)
    if targets == "labels":
        return np.pad(y.sum(0).astype(np.int64), (0, classes - y.shape[1]))
    return np.bincount(y[y != IGNORED] if targets == "tokens" else np.zeros(len(y), np.int64), minlength=classes)


def whole_laplace(epsilon: float, n: int, rng: np.random.Generator) -> Array:
    """n draws of the discrete Laplace law, `P(z) = (1 - a) / (1 + a) a^|z|` with `a = exp(-epsilon)`.

    It is the difference of two geometric numbers (Ghosh, Roughgarden, Sundararajan 2009), exact where rounding a
    continuous Laplace number would not be.

    Args:
        epsilon: The steepness of the law.
        n: How many draws.
        rng: Draws them.

    Returns:
        Whole numbers.

    >>> whole_laplace(50.0, 3, np.random.default_rng(0)).tolist()
    [0, 0, 0]
    """
    stop = -np.expm1(-epsilon)
    return rng.geometric(stop, n) - rng.geometric(stop, n)
