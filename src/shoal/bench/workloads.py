"""The workloads that are timed: one round each, local training and then the test of all clients."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from shoal.aggregators import per_group, weighted_mean
from shoal.algorithms import FedAvg
from shoal.data.build import build
from shoal.data.federation import Federation
from shoal.errors import DataMissing
from shoal.layout import Layout
from shoal.models import factory
from shoal.seeds import Key
from shoal.selection import Random
from shoal.solvers import SGD
from shoal.table import Serving
from shoal.tasks import Train
from shoal.types import Algorithm, Answers, Array, Cohort, Engine, Record, Roster, Select, Solver


@dataclass(frozen=True)
class Workload:
    """What is trained on what, and the shape of random inputs where the data is not on this machine."""

    name: str
    title: str
    data: str
    partition: str | None
    model: str
    shape: tuple[int, ...]
    classes: int
    solver: SGD
    cohort: int  # clients a round
    rounds: int = 1  # different rounds, each with clients of its own; a turn plays each equally often
    clients: int | None = None  # of the federation, so many clients are kept and tested; None: all
    chains: int = 0  # clients train one after the other in so many chains

    def federation(self, size: int = 60) -> tuple[Federation, str]:
        """The data, and a word on where they come from."""
        try:
            found = build(self.data, self.partition, Key(0))
            assert isinstance(found, Federation)
            if self.clients is not None:
                order = np.argsort(Key(0)("bench").scores(found.roster.hashes_N))
                found = found.keep([found.ids[i] for i in order[: self.clients]])
            return found, "real data"
        except DataMissing:
            rng, count = np.random.default_rng(0), self.clients or 200
            names = [f"{i:04d}" for i in range(count)]
            made = {
                name: (rng.normal(size=(size, *self.shape)).astype(np.float32), rng.integers(0, self.classes, size))
                for name in names
            }
            return Federation.from_arrays(made, name="random inputs", classes=self.classes), "random inputs"

    @property
    def select(self) -> RecurringCohorts:
        return RecurringCohorts(self.cohort, self.rounds)

    def algorithm(self) -> Algorithm:
        select = self.select
        if self.chains:
            return Chained(chains=self.chains, select=select, solver=self.solver)
        return FedAvg(select=select, solver=self.solver)

    def layout(self, federation: Federation) -> Layout:
        return Layout.of(factory(self.model, federation.shape, federation.classes), federation.sample())

    def quick(self) -> Workload:
        """The same with fewer clients, to see that everything works."""
        short = replace(self.solver, epochs=min(self.solver.epochs, 2), steps=self.solver.steps and 2)
        return replace(self, cohort=min(self.cohort, 4), clients=min(self.clients or 20, 20), rounds=1, solver=short)

    def groups(self, cohort: Cohort) -> list[Cohort]:
        """The chains of a cohort; of a workload without chains, everybody alone."""
        count = self.chains or len(cohort)
        return [cohort[i::count] for i in range(count)]


@dataclass(frozen=True)
class RecurringCohorts:
    """Random clients, the same ones every so many rounds, so that every turn has the same work.

    >>> from shoal.types import Roster
    >>> roster = Roster(("a", "b", "c", "d"), np.ones(4))
    >>> RecurringCohorts(2, 3)(roster, Key(1).at(1)) == RecurringCohorts(2, 3)(roster, Key(2).at(4))
    True
    """

    k: int
    rounds: int

    def __call__(self, clients: Roster, key: Key) -> Cohort:
        return Random(self.k)(clients, Key(0).at(key.round % self.rounds)("bench"))


@dataclass(frozen=True)
class State:
    """One model."""

    w_KP: Array


@dataclass(frozen=True, kw_only=True)
class Chained(Algorithm):
    """Groups of clients train in sequence, groups side by side, and the mean of the groups is the next model.

    >>> Chained(chains=2).chains
    2
    """

    chains: int
    select: Select = Random()
    solver: Solver = SGD()
    state: ClassVar[type[State]] = State

    def init(self, engine: Engine, key: Key) -> tuple[State, Record]:
        return State(engine.layout.init_many(1, key("init"))), Record()

    def step(self, state: State, engine: Engine, key: Key) -> tuple[State, Record]:
        cohort = self.select(engine.clients, key("select"))
        groups = [cohort[i :: self.chains] for i in range(self.chains)]
        got = engine.chain(Train(self.solver), groups, state.w_KP, np.zeros(self.chains, int), key("train"))
        w_KP, _ = per_group(weighted_mean(), engine.layout).apply(state.w_KP, got, {}, key("aggregate"))
        return State(w_KP), Record()

    def serve(self, state: State) -> Serving:
        return Serving(state.w_KP, kind="one")

    def assign(self, state: State, cohort: Cohort, engine: Engine, key: Key) -> Answers:
        return Answers(cohort, np.zeros(len(cohort), int))


def _all() -> dict[str, Workload]:
    mnist, cifar, tweet = (1, 28, 28), (3, 32, 32), (25, 300)
    duan: dict[str, Any] = {
        "partition": "power-law:classes=2",
        "shape": mnist,
        "classes": 10,
        "cohort": 20,
        "rounds": 10,
    }
    wecfl: dict[str, Any] = {"partition": "cluster-dirichlet", "classes": 10, "cohort": 20, "clients": 20}
    long, ten = SGD(lr=0.03, epochs=20, batch=10), SGD(lr=0.001, momentum=0.9, steps=10, batch=32)
    found = (
        Workload("W1", "MNIST, logistic regression", "mnist", model="mnist-mclr", solver=long, **duan),
        Workload("W2", "MNIST, perceptron", "mnist", model="mnist-mlp", solver=long, **duan),
        Workload(
            "W3", "Fashion-MNIST, CNN", "fashion-mnist", model="wecfl-fmnist", shape=mnist, solver=ten, **wecfl
        ),
        Workload("W4", "CIFAR-10, LeNet", "cifar10", model="wecfl-cifar", shape=cifar, solver=ten, **wecfl),
        Workload(
            "W5", "FEMNIST, CNN of 6.6 M, chained", "femnist", "writers:clients=8", "fedgsp-leaf", mnist, 62,
            SGD(lr=0.01, batch=5), cohort=4, chains=2,
        ),
        Workload(
            "W6", "Sent140, LSTM", "sent140:width=300", None, "sent140-lstm-fedgroup", tweet, 2,
            SGD(lr=0.3, epochs=5, batch=10), cohort=20, clients=100,
        ),
        Workload(
            "W7", "Synthetic(1,1), logistic regression", "synthetic:1:1:clients=100:memory=true", None, "mclr",
            (60,), 10, SGD(lr=0.01, epochs=5, batch=10), cohort=20, rounds=10,
        ),
        Workload("W8", "CIFAR-10, ResNet-8", "cifar10", model="resnet8", shape=cifar, solver=ten, **wecfl),
    )  # fmt: skip
    return {w.name: w for w in found}


WORKLOADS = _all()
