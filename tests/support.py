"""Clients that misbehave, for tests of what engines and algorithms do about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from shoal.backends import Backend, Outcome, Unit
from shoal.net import Net
from shoal.seeds import Key
from shoal.solvers import SGD
from shoal.tasks import Train
from shoal.types import Array, ClientData, Field, Memory, Task

Spoil = Callable[[dict[str, Any]], Any]


def raise_error(answer: dict[str, Any]) -> Any:
    raise RuntimeError("the disk is full")


# What a client may do wrong, and a word that the reason must contain.
FAULTS: dict[str, tuple[Spoil, str]] = {
    "raises": (raise_error, "RuntimeError: the disk is full"),
    "nan": (lambda a: {**a, "update": a["update"] * np.float32("nan")}, "update is not finite"),
    "infinite": (lambda a: {**a, "update": a["update"] + np.float32("inf")}, "update is not finite"),
    "nan loss": (lambda a: {**a, "loss": float("nan")}, "loss is not finite"),
    "long": (lambda a: {**a, "update": np.append(a["update"], np.float32(0))}, "update has shape"),
    "broadcastable": (lambda a: {**a, "update": a["update"][:1]}, "update has shape (1,)"),
    "two axes": (lambda a: {**a, "update": a["update"][None]}, "update has shape (1, "),
    "double": (lambda a: {**a, "update": a["update"].astype(np.float64)}, "dtype float64"),
    "whole numbers": (lambda a: {**a, "update": a["update"].astype(np.int64)}, "dtype int64"),
    "negative": (lambda a: {**a, "count": -a["count"]}, "is not between 1 and"),
    "zero": (lambda a: {**a, "count": 0}, "is not between 1 and"),
    "fraction": (lambda a: {**a, "count": a["count"] - 0.5}, "is not a whole number"),
    "absurd": (lambda a: {**a, "count": 10**12}, "is not between 1 and"),
    "boast": (lambda a: {**a, "count": 11 * a["count"]}, "more than 10 times the announced size"),
    "text": (lambda a: {**a, "count": "many"}, "count is a str"),
    "missing": (lambda a: {k: v for k, v in a.items() if k != "loss"}, "has the fields"),
    "extra": (lambda a: {**a, "label": 1.0}, "has the fields"),
    "no answer": (lambda a: None, "is a NoneType"),
}


@dataclass(frozen=True)
class Faulty(Task):
    """A task that some clients do wrongly."""

    task: Task
    faults: Mapping[str, str]  # client -> kind of fault

    @property
    def name(self) -> str:
        return str(self.task.name)

    @property
    def models(self) -> Any:
        return self.task.models

    @property
    def fields(self) -> Mapping[str, Field]:
        fields: Mapping[str, Field] = self.task.fields
        return fields

    def __call__(
        self, net: Net, models: Array | None, data: ClientData, memory: Memory, key: Key
    ) -> tuple[Any, Memory]:
        answer, keep = self.task(net, models, data, memory, key)
        kind = self.faults.get(str(key.client))
        return (FAULTS[kind][0](dict(answer)), {"spoilt": 1}) if kind else (answer, keep)

    def work(self, samples: int, models: int) -> tuple[int, int]:
        work: tuple[int, int] = self.task.work(samples, models)
        return work


class Misbehaving:
    """A back end whose clients commit the faults given; everything else is the back end it stands before."""

    def __init__(self, backend: Backend, faults: Mapping[str, str]) -> None:
        self.backend, self.faults, self.holds_data = backend, faults, backend.holds_data
        self.open, self.set_federation, self.close = backend.open, backend.set_federation, backend.close
        self.keep, self.commit, self.rollback = backend.keep, backend.commit, backend.rollback
        self.snapshot, self.restore = backend.snapshot, backend.restore

    def whole_cohort(self, *asked: Any) -> None:
        """Clients misbehave one by one."""

    def log_probabilities(self, pieces: Sequence[tuple[int, Array, float]], models_KP: Array) -> list[Array] | None:
        return self.backend.log_probabilities(pieces, models_KP)

    def run(self, units: Sequence[Unit], models_KP: Array | None) -> Iterator[tuple[int, Outcome]]:
        spoilt = [spoil(u, self.faults) for u in units]
        return self.backend.run(spoilt, models_KP)


def spoil(unit: Any, faults: Mapping[str, str]) -> Unit:
    """The unit with its task spoilt, if it is the work of clients."""
    spoilt: Unit = replace(unit, task=Faulty(unit.task, faults)) if hasattr(unit, "key") else unit
    return spoilt


@dataclass(frozen=True)
class Telling(Task):
    """Trains, and tells the sums of its first inputs and labels in shapes of its own: D x 2 floats, 3 whole numbers."""

    inputs: int = 6
    solver: SGD = SGD()

    name: ClassVar[str] = "tell"
    models: ClassVar[Literal["one"]] = "one"
    fields: ClassVar[Mapping[str, Field]] = {
        **Train.fields,
        "sums": Field("float", ("D", 2)),
        "labels": Field("int", (3,), low=0),
    }

    @property
    def dims(self) -> Mapping[str, int]:
        return {"D": self.inputs}

    def __call__(
        self, net: Net, models: Array | None, data: ClientData, memory: Memory, key: Key
    ) -> tuple[dict[str, Any], Memory]:
        answer, memory = Train(self.solver)(net, models, data, memory, key)
        x, y = data("train")
        sums = np.stack([x[:2].sum(0), x[2:].sum(0)], 1).astype(np.float32)
        return {**answer, "sums": sums, "labels": np.bincount(y, minlength=3)}, memory

    def work(self, samples: int, models: int) -> tuple[int, int]:
        return Train(self.solver).work(samples, models)
