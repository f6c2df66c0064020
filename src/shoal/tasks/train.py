"""Local training from the model given. Leaves the client: the update, the sample count, the mean training loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from shoal.net import Net
from shoal.seeds import Key
from shoal.types import Answer, Array, ClientData, Field, Memory, Solver, Task


@dataclass(frozen=True)
class Train(Task):
    """Train from the model received with a solver.

    Args:
        solver: Trains.
        keeps: The name under which a client keeps its momentum, if the solver keeps any.

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

    def work(self, samples: int, models: int) -> tuple[int, int]:
        return self.solver.passes(samples), self.solver.passes(samples)
