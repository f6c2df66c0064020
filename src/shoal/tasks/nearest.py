"""FedGroup's client side: keep w_0 and the group directions, pre-train, find the nearest direction (equation 9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from shoal.measures import client_cold_start
from shoal.net import Net
from shoal.seeds import Key
from shoal.tasks.train import Train
from shoal.tasks.train_in_stages import train_in_stages
from shoal.types import Answer, Array, ClientData, Field, Memory, Solver, Task


@dataclass(frozen=True)
class StoreDirections(Task):
    """Keep the vectors given (w_0 first, then the directions), and the label histogram. Nothing leaves the client.

    >>> StoreDirections().fields
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
class Nearest(Task):
    """`StoreDirections`, pre-train from w_0, compare the update with the directions; no models given: the kept ones.

    With a solver for the `rest` the client then goes on from what it pre-trained. Leaves the client: the number of the
    group, and with `rest` what `Train` leaves, the update being that from w_0.

    Args:
        solver: Pre-trains.
        rest: Goes on from there; None: nothing more is trained.

    >>> from shoal.solvers import SGD
    >>> Nearest(SGD(steps=50)).work(samples=100, models=4)
    (500, 500)
    """

    solver: Solver
    rest: Solver | None = None

    name: ClassVar[str] = "nearest"
    models: ClassVar[Literal["all"]] = "all"
    uncounted: ClassVar[int] = 1

    @property
    def fields(self) -> Mapping[str, Field]:
        choice = {"choice": Field("int", low=0)}
        return choice if self.rest is None else {**choice, **Train.fields}

    def __call__(
        self, net: Net, models: Array | None, data: ClientData, memory: Memory, key: Key
    ) -> tuple[Answer, Memory]:
        keep = {**memory, **sent(models), "histogram": histogram(net, data)}
        if self.rest is None:
            return {"choice": nearest(net, data, keep, self.solver, key)}, keep
        answer = train_in_stages(net, keep["w0"], data, self.solver, self.rest, key)
        choice = direction_of(net, keep, answer.pop("early"))
        return {"choice": choice, **answer}, keep

    def work(self, samples: int, models: int) -> tuple[int, int]:
        passes = self.solver.passes(samples) + (0 if self.rest is None else self.rest.passes(samples))
        return passes, passes


def sent(models: Array | None) -> dict[str, Array]:
    """What a client keeps of w_0 and the directions, if it was sent any."""
    return {} if models is None else {"w0": models[0], "directions": models[1:]}


def histogram(net: Net, data: ClientData) -> Array:
    """Label counts of the training samples."""
    return np.bincount(data.labels("train"), minlength=net.layout.classes)


def nearest(net: Net, data: ClientData, memory: Mapping[str, Any], solver: Solver, key: Key) -> int:
    """The group whose direction the pre-training update is most like."""
    x, y = data("train")
    return direction_of(net, memory, solver(net, memory["w0"], x, y, key).update_P)


def direction_of(net: Net, memory: Mapping[str, Any], update_P: Array) -> int:
    """The group whose direction an update is most like."""
    at = net.layout.trainable
    return client_cold_start(memory["directions"][:, at], update_P[at])[0]
