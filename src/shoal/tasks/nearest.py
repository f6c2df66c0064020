"""FedGroup's client side: keep w_0 and the group directions, pre-train, find the nearest direction (spec 2.4.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from shoal.measures import client_cold_start
from shoal.net import Net
from shoal.seeds import Key
from shoal.solvers import SGD
from shoal.tasks.describe import labels_of
from shoal.types import Answer, Array, ClientData, Field, Memory


@dataclass(frozen=True)
class Keep:
    """Keep the vectors given (w_0 first, then the directions), and the label histogram. Nothing leaves the client.

    >>> Keep().fields
    {}
    """

    name: ClassVar[str] = "keep"
    models: ClassVar[Literal["all"]] = "all"
    fields: ClassVar[Mapping[str, Field]] = {}
    uncounted: ClassVar[int] = 1  # w_0, which the papers do not count

    def __call__(
        self, net: Net, models: Array | None, data: ClientData, memory: Memory, key: Key
    ) -> tuple[Answer, Memory]:
        return {}, {**memory, **sent(models), "histogram": histogram(net, data)}

    def work(self, samples: int, models: int) -> tuple[int, int]:
        return 0, 0


@dataclass(frozen=True)
class Nearest:
    """`Keep`, then pre-train from w_0 and compare the update with the directions; no models given: the kept ones.

    Leaves the client: the number of the group.

    >>> Nearest(SGD(steps=50)).work(samples=100, models=4)
    (500, 500)
    """

    solver: SGD

    name: ClassVar[str] = "nearest"
    models: ClassVar[Literal["all"]] = "all"
    fields: ClassVar[Mapping[str, Field]] = {"choice": Field("int", low=0)}
    uncounted: ClassVar[int] = 1

    def __call__(
        self, net: Net, models: Array | None, data: ClientData, memory: Memory, key: Key
    ) -> tuple[Answer, Memory]:
        keep = {**memory, **sent(models), "histogram": histogram(net, data)}
        return {"choice": nearest(net, data, keep, self.solver, key)}, keep

    def work(self, samples: int, models: int) -> tuple[int, int]:
        return self.solver.passes(samples), self.solver.passes(samples)


def sent(models: Array | None) -> dict[str, Array]:
    """What a client keeps of w_0 and the directions, if it was sent any."""
    return {} if models is None else {"w0": models[0], "directions": models[1:]}


def histogram(net: Net, data: ClientData) -> Array:
    """Label counts of the training samples."""
    return np.bincount(labels_of(data, "train"), minlength=net.layout.classes)


def nearest(net: Net, data: ClientData, memory: Mapping[str, Any], solver: SGD, key: Key) -> int:
    """The group whose direction the pre-training update is most like."""
    x, y = data("train")
    at = net.layout.trainable
    update_P = solver(net, memory["w0"], x, y, key).update_P
    return client_cold_start(memory["directions"][:, at], update_P[at])[0]
