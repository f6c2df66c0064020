"""The label histogram of a client's training samples. Leaves the client: the histogram."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from shoal.net import Net
from shoal.seeds import Key
from shoal.types import Answer, Array, ClientData, Field, Memory


@dataclass(frozen=True)
class Describe:
    """Count the labels of a split.

    >>> Describe().models
    'none'
    """

    split: str = "train"

    name: ClassVar[str] = "describe"
    models: ClassVar[Literal["none"]] = "none"
    fields: ClassVar[Mapping[str, Field]] = {"histogram": Field("int", ("C",), low=0)}

    def __call__(
        self, net: Net, models: Array | None, data: ClientData, memory: Memory, key: Key
    ) -> tuple[Answer, Memory]:
        return {"histogram": np.bincount(labels_of(data, self.split), minlength=net.layout.classes)}, memory

    def work(self, samples: int, models: int) -> tuple[int, int]:
        return 0, 0


def labels_of(data: ClientData, split: str) -> Array:
    """The labels of a client's samples; where the data can give them alone, inputs are not gathered for it."""
    labels: Array = data.labels(split) if hasattr(data, "labels") else data(split)[1]
    return labels
