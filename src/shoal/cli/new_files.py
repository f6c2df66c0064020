"""The files that `shoal new` writes: code that runs, and a test of it that passes."""

from __future__ import annotations

from collections.abc import Mapping

ALGORITHM = '''\
"""@NAME@: say here what the method does, and where it is from.

    shoal run @STEM@.py:@NAME@ groups=4
    shoal list @STEM@.py:@NAME@
    pytest test_@STEM@.py

Shapes are in names: N clients of a cohort, K models, P numbers of a model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import shoal
from shoal import SGD, Random
from shoal.aggregators import per_group, weighted_mean
from shoal.clusterers import cut_into
from shoal.measures import cosine_to, pairwise
from shoal.seeds import Key
from shoal.table import Serving, Table
from shoal.tasks import Train
from shoal.types import Algorithm, Answers, Array, Cohort, Engine, Record, Select, Solver, option


@dataclass(frozen=True)
class State:
    """What goes from one round to the next. It is saved as it is, so a run can be resumed."""

    w0_P: Array  # the model that everybody begins with
    w_KP: Array  # a model per group
    means_KP: Array  # the mean first update of each group
    group: Table  # client -> group


@shoal.algorithm("@NAME@", finds_groups=True, takes_number=True)
@dataclass(frozen=True, kw_only=True)
class @NAME@(Algorithm):
    """Clients whose first updates point the same way are a group; FedAvg in each."""

    groups: int = option(4, "how many groups", low=1)  # every option is a key of the command line
    select: Select = Random()
    solver: Solver = SGD()
    state: ClassVar[type[State]] = State

    def init(self, engine: Engine, key: Key) -> tuple[State, Record]:
        """Before round 1: everybody trains once from the same model, and the updates are clustered."""
        w0_P = engine.layout.init(key("init"))
        got = self._first(w0_P, engine.clients.ids, engine, key)
        labels_N = cut_into(pairwise(got["update"], "cosine"), self.groups, "average")
        means_KP = np.stack([got["update"][labels_N == k].mean(0) for k in range(self.groups)])
        state = State(w0_P, w0_P + means_KP, means_KP, Table().put(got.cohort, labels_N))
        return state, Record(measures={"sizes": np.bincount(labels_N).tolist()})

    def step(self, state: State, engine: Engine, key: Key) -> tuple[State, Record]:
        """One round: some clients train the model of their group; the answers are averaged by group."""
        cohort = self.select(engine.clients, key("select"))
        new = tuple(client for client in cohort if client not in state.group)
        if new:
            joined = self.assign(state, new, engine, key("newcomers"))
            state = replace(state, group=state.group.put(joined.cohort, joined.which_N))
        cohort = tuple(client for client in cohort if client in state.group)
        got = engine.map(Train(self.solver), cohort, state.w_KP, state.group.get(cohort, 0), key("train"))
        w_KP, _ = per_group(weighted_mean(), engine.layout).apply(state.w_KP, got, {}, key("aggregate"))
        return replace(state, w_KP=w_KP), Record(trained=got)

    def serve(self, state: State) -> Serving:
        """Which model serves whom: the run tests these, saves them and predicts with them."""
        return Serving(state.w_KP, state.group)

    def assign(self, state: State, cohort: Cohort, engine: Engine, key: Key) -> Answers:
        """The groups of newcomers: they train once as everybody did, and go where the updates point the same way."""
        got = self._first(state.w0_P, cohort, engine, key, min_answers=0)
        return replace(got, which_N=cosine_to(got["update"], state.means_KP).argmax(1))

    def _first(self, w0_P: Array, cohort: Cohort, engine: Engine, key: Key, min_answers: int | None = None) -> Answers:
        which_N = np.zeros(len(cohort), int)
        return engine.map(Train(self.solver), cohort, w0_P[None], which_N, key("first"), min_answers)
'''

ALGORITHM_TEST = '''\
"""What @NAME@ promises, on scikit-learn's digits with four planted groups of clients: `pytest test_@STEM@.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import shoal

METHOD = f"{Path(__file__).with_name('@STEM@.py')}:@NAME@"


def run(engine: str = "serial", **more: Any) -> shoal.Run:
    return shoal.run(METHOD, "digits", engine=engine, **{"rounds": 3, "epochs": 3, "lr": 0.1, **more})


def test_it_finds_the_planted_groups_and_learns() -> None:
    found = run()
    assert found.summary["ari"] == 1.0
    assert found.history[-1]["loss"] < found.history[1]["loss"]


def test_worker_processes_give_the_same_bits() -> None:
    one, two = run("serial"), run("local", workers=2)
    assert one.serving.models_KP.tobytes() == two.serving.models_KP.tobytes()


def test_a_run_that_goes_on_ends_like_one_that_was_not_disturbed(tmp_path: Path) -> None:
    run(rounds=1, out=tmp_path / "part")
    part = shoal.resume(tmp_path / "part", rounds=3)
    assert part.serving.models_KP.tobytes() == run().serving.models_KP.tobytes()


def test_a_newcomer_gets_the_group_of_its_like() -> None:
    found = run()
    x, y = found.plan.federation.client("03")("train")
    assert found.assign((16 * x).astype("uint8"), y).group == found.groups["03"]  # inputs as the data set stores them
'''

PARTITION = '''\
"""A partition: how samples go to clients. `shoal run fedavg partition=@STEM@.py:@NAME@:clients=12`"""

from __future__ import annotations

import numpy as np
from shoal.data import Dataset, Federation
from shoal.data.partition.assemble import assemble
from shoal.seeds import Key


def @NAME@(dataset: Dataset, key: Key, clients: int = 10) -> Federation:
    """Half of the clients have the lower classes, half the upper ones."""
    rng, truth = key("deal").rng(), np.arange(clients) * 2 // clients  # the planted group of each client
    parts: list[np.ndarray] = []
    for half in (0, 1):
        rows = rng.permutation(np.flatnonzero((dataset.y >= dataset.classes // 2) == half))
        parts += np.array_split(rows, int((truth == half).sum()))
    return assemble(dataset, parts, None, key, truth=truth)
'''

PARTITION_TEST = '''\
"""What @NAME@ promises: `pytest test_@STEM@.py`."""

from __future__ import annotations

from pathlib import Path

import shoal

PARTITION = f"{Path(__file__).with_name('@STEM@.py')}:@NAME@"


def test_every_client_has_the_classes_of_its_half() -> None:
    run = shoal.run("fedavg", "digits", partition=f"{PARTITION}:clients=6", rounds=0, engine="serial")
    federation = run.plan.federation
    for client, half in zip(federation.ids, (0, 0, 0, 1, 1, 1), strict=True):
        _, y = federation.client(client)("train")
        assert set((y >= 5).tolist()) == {bool(half)}
'''

MODEL = '''\
"""A model: `shoal run fedavg model=@STEM@.py:@NAME@:hidden=32`"""

from __future__ import annotations

from collections import OrderedDict
from math import prod

from torch import nn


def @NAME@(shape: tuple[int, ...], classes: int, *, hidden: int = 64, slope: float = 0.1) -> nn.Module:
    """One hidden layer with leaky units; shape and classes are those of the data."""
    features = nn.Sequential(nn.Flatten(), nn.Linear(prod(shape), hidden), nn.LeakyReLU(slope))
    return nn.Sequential(OrderedDict(features=features, head=nn.Linear(hidden, classes)))
'''

MODEL_TEST = '''\
"""What @NAME@ promises: `pytest test_@STEM@.py`."""

from __future__ import annotations

from pathlib import Path

import shoal

MODEL = f"{Path(__file__).with_name('@STEM@.py')}:@NAME@"


def test_it_has_the_parameters_it_should_have_and_learns() -> None:
    run = shoal.run("fedavg", "digits", f"{MODEL}:hidden=8", partition="iid", rounds=3, lr=0.1, engine="serial")
    assert run.plan.layout.size == 64 * 8 + 8 + 8 * 10 + 10
    assert run.history[-1]["loss"] < run.history[1]["loss"]
'''

DATASET = '''\
"""Data: `shoal run fedavg data=@STEM@.py:@NAME@:clients=30`"""

from __future__ import annotations

import numpy as np
from shoal.data import Federation
from shoal.seeds import Key


def @NAME@(clients: int = 20, samples: int = 60, *, key: Key) -> Federation:
    """Two populations that answer the same questions the other way round. Read your own files here."""
    arrays = {}
    for i in range(clients):
        rng = key("client").of(str(i)).rng()
        x = rng.normal(size=(samples, 5)).astype(np.float32)
        y = (x[:, 0] + 0.1 * rng.normal(size=samples) > 0).astype(int)
        arrays[f"{i:02}"] = (x, y if i % 2 else 1 - y)
    return Federation.from_arrays(arrays, seed=key("test"), name="@NAME@")
'''

DATASET_TEST = '''\
"""What @NAME@ promises: `pytest test_@STEM@.py`."""

from __future__ import annotations

from pathlib import Path

import shoal

DATA = f"{Path(__file__).with_name('@STEM@.py')}:@NAME@"


def test_two_groups_are_better_than_one() -> None:
    together, apart = (
        shoal.run(name, DATA, rounds=5, lr=0.1, engine="serial", **keys).summary["best_accuracy"]
        for name, keys in (("fedavg", {}), ("flexcfl", {"groups": 2}))
    )
    assert apart > together + 0.2
'''

TEMPLATES: Mapping[str, tuple[str, str]] = {  # what there is to begin with, and its test
    "algorithm": (ALGORITHM, ALGORITHM_TEST),
    "partition": (PARTITION, PARTITION_TEST),
    "model": (MODEL, MODEL_TEST),
    "dataset": (DATASET, DATASET_TEST),
}
