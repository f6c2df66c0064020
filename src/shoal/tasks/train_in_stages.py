"""Pre-training that is not lost: the client sends what it learnt early and goes on from there (departure D46)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from shoal.net import Net
from shoal.seeds import Key
from shoal.tasks.train import Train
from shoal.types import Answer, Array, ClientData, Field, Memory, Solver, Task


@dataclass(frozen=True)
class TrainInStages(Task):
    """Train with one solver, then go on with another. Leaves the client: the early update, and what `Train` leaves of
    both together.

    Args:
        first: Trains first.
        rest: Goes on from there.

    >>> from shoal.solvers import SGD
    >>> sorted(TrainInStages(SGD(), SGD(epochs=4)).fields)
    ['count', 'early', 'loss', 'update']
    """

    first: Solver
    rest: Solver

    name: ClassVar[str] = "train"
    models: ClassVar[Literal["one"]] = "one"
    fields: ClassVar[Mapping[str, Field]] = {"early": Field("float", ("P",)), **Train.fields}

    def __call__(
        self, net: Net, models: Array | None, data: ClientData, memory: Memory, key: Key
    ) -> tuple[Answer, Memory]:
        assert models is not None
        return train_in_stages(net, models, data, self.first, self.rest, key), memory

    def work(self, samples: int, models: int) -> tuple[int, int]:
        passes = self.first.passes(samples) + self.rest.passes(samples)
        return passes, passes


def train_in_stages(
    net: Net, start_P: Array, data: ClientData, first: Solver, rest: Solver, key: Key
) -> dict[str, Any]:
    """The early update, the update of both parts together, the sample count and the mean loss over both."""
    x, y = data("train")
    early = first(net, start_P, x, y, key)
    later = rest(net, start_P + early.update_P, x, y, key("rest"))
    seen = first.passes(len(y)), rest.passes(len(y))
    loss = (seen[0] * early.loss + seen[1] * later.loss) / max(sum(seen), 1)
    return {"early": early.update_P, "update": early.update_P + later.update_P, "count": len(y), "loss": loss}
