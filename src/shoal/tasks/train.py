"""Local training from the model given. Leaves the client: the update, the sample count, the mean training loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from shoal.net import Net
from shoal.seeds import Key
from shoal.solvers import SGD
from shoal.types import Answer, Array, ClientData, Field, Memory


@dataclass(frozen=True)
class Train:
    """Train from the model received with a solver.

    >>> sorted(Train(SGD()).fields)
    ['count', 'loss', 'update']
    """

    solver: SGD

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
        trained = self.solver(net, models, x, y, key, memory.get("velocity"))
        keep = memory if trained.velocity is None else {**memory, "velocity": trained.velocity}
        return {"update": trained.update_P, "count": len(y), "loss": trained.loss}, keep

    def work(self, samples: int, models: int) -> tuple[int, int]:
        return self.solver.passes(samples), self.solver.passes(samples)
