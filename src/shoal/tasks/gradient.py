"""The gradient of a client's loss at the model given, and how much it varies over mini-batches: diagnostics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from shoal.net import Net
from shoal.seeds import Key
from shoal.solvers import gradient
from shoal.tree import take
from shoal.types import Answer, Array, ClientData, Field, Memory, Task


@dataclass(frozen=True)
class Gradient(Task):
    """Leaves the client: the gradient of the mean training loss, in evaluation mode; zero for statistics.

    With a `batch`, also the mean norm and the mean squared norm of the gradients of consecutive mini-batches of that
    size, each weighing as many samples as it has. Not for real federations: a gradient tells much.

    Args:
        batch: Samples of a mini-batch; None: the whole gradient alone.

    >>> sorted(Gradient().fields), sorted(Gradient(batch=10).fields)
    (['count', 'gradient'], ['count', 'gradient', 'norm', 'square'])
    """

    batch: int | None = None

    name: ClassVar[str] = "gradient"
    diagnostic: ClassVar[bool] = True
    models: ClassVar[Literal["one"]] = "one"

    @property
    def fields(self) -> Mapping[str, Field]:
        whole = {"gradient": Field("float", ("P",), guarded=True), "count": Field("count")}
        noise = {"norm": Field("float", low=0), "square": Field("float", low=0)}
        return whole if self.batch is None else {**whole, **noise}

    def __call__(
        self, net: Net, models: Array | None, data: ClientData, memory: Memory, key: Key
    ) -> tuple[Answer, Memory]:
        assert models is not None
        x, y = data("train")
        out_P = np.zeros_like(models)
        if self.batch is None:
            out_P[net.layout.trainable] = gradient(net, models, x, y)
            return {"gradient": out_P, "count": len(y)}, memory
        mean, norm, square = np.zeros(net.layout.trainable.stop), 0.0, 0.0
        for i in range(0, len(y), self.batch):
            xb, yb = take(x, slice(i, i + self.batch)), y[i : i + self.batch]
            g = gradient(net, models, xb, yb).astype(np.float64)
            share, length = len(yb) / len(y), float(np.sqrt(np.square(g).sum()))
            mean, norm, square = mean + share * g, norm + share * length, square + share * length**2
        out_P[net.layout.trainable] = mean
        return {"gradient": out_P, "count": len(y), "norm": norm, "square": square}, memory

    def work(self, samples: int, models: int) -> tuple[int, int]:
        return 0, 0
