"""The mean loss of each of K models on a client's samples. Leaves the client: K numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from shoal.net import Net
from shoal.seeds import Key
from shoal.tasks.evaluate import SLICE
from shoal.types import Answer, Array, ClientData, Field, Memory, Task


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
            nll = [
                -net.log_probabilities(x[i : i + SLICE])[np.arange(len(y[i : i + SLICE])), y[i : i + SLICE]]
                for i in range(0, len(y), SLICE)
            ]
            out[k] = np.concatenate(nll).mean(dtype=np.float64) if nll else 0.0
        return {"losses": out}, memory

    def work(self, samples: int, models: int) -> tuple[int, int]:
        return samples * models, 0
