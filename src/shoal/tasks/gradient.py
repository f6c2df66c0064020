"""The full gradient of a client's loss at the model given: a diagnostic (clusterability B), off in federations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from shoal.net import Net
from shoal.seeds import Key
from shoal.solvers import gradient
from shoal.types import Answer, Array, ClientData, Field, Memory


@dataclass(frozen=True)
class Gradient:
    """Leaves the client: the gradient of the mean training loss, in evaluation mode; zero for statistics.

    >>> Gradient().name
    'gradient'
    """

    name: ClassVar[str] = "gradient"
    models: ClassVar[Literal["one"]] = "one"
    fields: ClassVar[Mapping[str, Field]] = {"gradient": Field("float", ("P",)), "count": Field("count")}

    def __call__(
        self, net: Net, models: Array | None, data: ClientData, memory: Memory, key: Key
    ) -> tuple[Answer, Memory]:
        assert models is not None
        x, y = data("train")
        out_P = np.zeros_like(models)
        out_P[net.layout.trainable] = gradient(net, models, x, y)
        return {"gradient": out_P, "count": len(y)}, memory

    def work(self, samples: int, models: int) -> tuple[int, int]:
        return 0, 0
