"""Pre-training that is not lost: the client sends what it learnt early and goes on from there (spec 13.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from shoal.net import Net
from shoal.seeds import Key
from shoal.solvers import SGD
from shoal.tasks.train import Train
from shoal.types import Answer, Array, ClientData, Field, Memory


@dataclass(frozen=True)
class Ahead:
    """Train with one solver, then go on with another. Leaves the client: the early update, and what `Train` leaves of
    both together.

    >>> sorted(Ahead(SGD(), SGD(epochs=4)).fields)
    ['count', 'early', 'loss', 'update']
    """

    first: SGD
    rest: SGD

    name: ClassVar[str] = "train"
    models: ClassVar[Literal["one"]] = "one"
    fields: ClassVar[Mapping[str, Field]] = {"early": Field("float", ("P",)), **Train.fields}

    def __call__(
        self, net: Net, models: Array | None, data: ClientData, memory: Memory, key: Key
    ) -> tuple[Answer, Memory]:
        assert models is not None
        return ahead(net, models, data, self.first, self.rest, key), memory

    def work(self, samples: int, models: int) -> tuple[int, int]:
        passes = self.first.passes(samples) + self.rest.passes(samples)
        return passes, passes


def ahead(net: Net, start_P: Array, data: ClientData, first: SGD, rest: SGD, key: Key) -> dict[str, Any]:
    """The early update, the update of both parts together, the sample count and the mean loss over both."""
    x, y = data("train")
    early = first(net, start_P, x, y, key)
    later = rest(net, start_P + early.update_P, x, y, key("rest"))
    seen = first.passes(len(y)), rest.passes(len(y))
    loss = (seen[0] * early.loss + seen[1] * later.loss) / max(sum(seen), 1)
    return {"early": early.update_P, "update": early.update_P + later.update_P, "count": len(y), "loss": loss}
