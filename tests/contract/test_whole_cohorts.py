"""A cohort that does a task in one call answers, keeps and fails as its clients would one by one, bit for bit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from torch import nn

import shoal.tasks
from shoal.backends import Backend, Serial, Workers
from shoal.backends.cohort import KernelData
from shoal.data.federation import Federation
from shoal.data.samples import Inputs, Ragged, View
from shoal.engine import Engine
from shoal.errors import BadInput
from shoal.kernels import native
from shoal.layout import Layout
from shoal.models.residual import Residual
from shoal.net import Arithmetic, Net
from shoal.seeds import Key
from shoal.solvers import MMD, SGD, Proximal
from shoal.tasks import (
    Choose,
    DetectShift,
    Evaluate,
    LabelHistogram,
    Losses,
    Nearest,
    StoreDirections,
    Train,
    TrainInStages,
)
from shoal.types import Answers, Array, ClientData, CohortAnswers, Memory, Task
from shoal.validate import has_cohort_form

pytestmark = pytest.mark.skipif(native() is None, reason="there is no native kernel")

SIZES = [1, 12, 7, 30, 11, 24, 2, 18]
KEPT = SGD(epochs=2, batch=5, momentum=0.9, momentum_memory="kept", lr_decay=0.9)
TASKS: dict[str, tuple[Task, str]] = {  # and what is sent
    "train": (Train(SGD(epochs=3, batch=5, lr=0.1)), "one"),
    "train by steps": (Train(SGD(steps=4, batch=4, weight_decay=0.01, l2=0.02, shuffle=False)), "one"),
    "train with a pull": (Train(SGD(batch=5, terms=(Proximal(0.1),))), "one"),
    "train beside the model received": (Train(SGD(epochs=2, batch=5, terms=(MMD(0.1), Proximal(0.1)))), "one"),
    "train for no epoch": (Train(SGD(epochs=0)), "one"),
    "train with momentum kept": (Train(KEPT), "one"),
    "train with momentum kept elsewhere": (Train(KEPT, keeps="other"), "one"),
    "train until it bursts": (Train(SGD(lr=1e30, epochs=5, batch=3)), "one"),
    "stages": (TrainInStages(SGD(steps=3), SGD(epochs=2, batch=3)), "one"),
    "losses": (Losses(), "all"),
    "losses of a test": (Losses("test"), "all"),
    "losses of a split that is not there": (Losses("val"), "all"),
    "choose": (Choose("test"), "all"),
    "choose and train": (Choose(solver=KEPT), "all"),
    "store": (StoreDirections(), "all"),
    "store nothing but labels": (StoreDirections(), "none"),
    "nearest": (Nearest(SGD(steps=3)), "all"),
    "nearest by what is kept": (Nearest(SGD(steps=3)), "none"),
    "nearest and on": (Nearest(SGD(steps=3), SGD(epochs=2)), "all"),
    "histogram": (LabelHistogram(), "none"),
    "histogram of a test": (LabelHistogram("test"), "none"),
    "shift": (DetectShift(), "none"),
    "shift by counts": (DetectShift("counts", SGD(steps=3)), "none"),
    "shift and nearest": (DetectShift(solver=SGD(steps=3)), "none"),
}
FAIL = {"losses of a split that is not there", "nearest by what is kept"}  # everybody fails, if nothing was kept


class Spied(Serial):
    """Notes which calls were done whole."""

    def open(self, layout: Layout, arithmetic: Arithmetic) -> None:
        super().open(layout, arithmetic)
        self.whole: list[bool] = []

    def whole_cohort(self, *asked: Any) -> CohortAnswers | None:
        answers = super().whole_cohort(*asked)
        self.whole.append(answers is not None)
        return answers


class OneByOne(Serial):
    """Never does a cohort whole."""

    def whole_cohort(self, *asked: Any) -> None:
        return None

    def log_probabilities(self, *asked: Any) -> None:
        return None


def images(dtype: str = "uint8", shape: tuple[int, ...] = (1, 6, 6)) -> Federation:
    """Clients that share stored samples, some with images turned, some with labels of their own."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, 160)
    x = (rng.integers(0, 120, (160, *shape)) + 40 * y.reshape(-1, *[1] * len(shape))).astype(dtype)
    inputs = Inputs(0.0, 255.0) if dtype == "uint8" else Inputs(np.full(shape, 10.0), np.full(shape, 100.0))
    n = len(SIZES)
    return Federation(
        "images", tuple(f"c{i}" for i in range(n)), x, y, Ragged.of([rng.integers(0, 120, size) for size in SIZES]),
        Ragged.of([rng.integers(120, 160, i) for i in range(n)]), classes=3, inputs=inputs,
        views=(View(), View((1, 2, 0)), View((2, 0, 1), turns=1), View(turns=-2), View(turns=3)),
        view=np.arange(n) % 5,
    )  # fmt: skip


def rows_of_numbers(dtype: str) -> Federation:
    """Samples as they are, without images."""
    rng = np.random.default_rng(4)
    arrays = {
        f"c{i}": (rng.normal(size=(n + 3, 5)).astype(dtype), rng.integers(0, 3, n + 3)) for i, n in enumerate(SIZES)
    }
    return Federation.from_arrays(arrays, test=0.25, classes=3)


def perceptron(inputs: int) -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(inputs, 7), nn.ReLU(), nn.Linear(7, 3))


def one_layer() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(36, 3, bias=False))


def other() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(36, 4), nn.Tanh(), nn.Linear(4, 3))


def conv(norm: bool) -> nn.Module:
    first = [nn.Conv2d(1, 4, 3, padding=1), *([nn.BatchNorm2d(4)] if norm else []), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*first, nn.Flatten(), nn.Linear(36, 3))


def residual(norm: bool) -> nn.Module:
    norms = [nn.BatchNorm2d(6) if norm else nn.GroupNorm(3, 6) for _ in range(2)]
    body = nn.Sequential(
        nn.Conv2d(4, 6, 3, 2, 1, bias=False), norms[0], nn.ReLU(), nn.Conv2d(6, 6, 3, padding=1), norms[1]
    )
    block = [nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), Residual(nn.Conv2d(4, 6, 1, 2), body), nn.ReLU()]
    return nn.Sequential(*block, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 3))


FEDERATIONS: dict[str, tuple[Federation, Any, str]] = {  # model and its precision
    "bytes": (images(), partial(perceptron, 36), "float32"),
    "floats": (images("float32"), partial(perceptron, 36), "float32"),
    "doubles": (images("float64"), one_layer, "float64"),
    "doubles for floats": (images("float64"), partial(perceptron, 36), "float32"),
    "numbers": (rows_of_numbers("float32"), partial(nn.Linear, 5, 3), "float32"),
    "conv": (images(), partial(conv, False), "float32"),
    "conv with batch norm": (images().keep([f"c{i}" for i in range(1, 8)]), partial(conv, True), "float32"),
    "residual": (images(), partial(residual, False), "float32"),
    "residual with batch norm": (images().keep([f"c{i}" for i in range(1, 8)]), partial(residual, True), "float32"),
}


def engine_of(backend: Backend, federation: Federation, model: Any, dtype: str = "float32", **front: Any) -> Engine:
    layout = Layout.of(model, federation.sample(), dtype)
    engine = Engine(backend, layout, arithmetic=Arithmetic(kernel="native"), min_answers=0, **front)
    engine.set_federation(federation)
    return engine


def drifted(federation: Federation) -> Federation:
    """Some clients get the samples of others."""
    rows = [federation.train[i] for i in range(len(federation.ids))]
    rows[1], rows[4], rows[5] = rows[4], rows[1], rows[5][:3]
    return replace(federation, train=Ragged.of(rows))


def play(engine: Engine, federation: Federation, task: Task, sent: str) -> list[Any]:
    """The task three times, clients keeping what they keep, the last time after drift; all that can be seen of it."""
    models_KP = engine.layout.init_many(3, Key(5))
    seen: list[Any] = []
    for round, now in ((1, federation), (2, federation), (3, drifted(federation))):
        engine.set_federation(now)
        cohort = (*reversed(now.ids), "zoe") if round == 1 else now.ids if round == 2 else now.ids[1:6]
        if round == 2 and isinstance(task, DetectShift):
            engine.ask(StoreDirections(), cohort[1:], models_KP, None, Key(2))  # one has no directions
        which_N = np.arange(len(cohort)) % 3 if sent == "one" else None
        got = engine.ask(task, cohort, None if sent == "none" else models_KP, which_N, Key(7)("work").at(round))
        ledger = engine.drain()
        engine.commit()
        memories, vectors_VP = engine.snapshot()
        seen += [plain(got), ledger.counts, ledger.diagnostics, ledger.events, kept(memories), vectors_VP.tobytes()]
    return seen


def plain(got: Answers) -> Any:
    fields = {name: (rows.dtype.str, rows.shape, rows.tobytes()) for name, rows in got.fields.items()}
    return got.cohort, (got.which_N.dtype.str, got.which_N.tolist()), fields, got.failed


def kept(memories: Mapping[str, Memory]) -> Any:
    def bits(value: Any) -> Any:
        return (value.dtype.str, value.shape, value.tobytes()) if isinstance(value, np.ndarray) else value

    return {c: {name: bits(value) for name, value in memory.items()} for c, memory in memories.items()}


@pytest.mark.parametrize("data", FEDERATIONS)
@pytest.mark.parametrize("name", TASKS)
def test_whole_or_one_by_one(name: str, data: str) -> None:
    task, sent = TASKS[name]
    federation, model, dtype = FEDERATIONS[data]
    backend = Spied()
    whole = play(engine_of(backend, federation, model, dtype), federation, task, sent)
    one_by_one = play(engine_of(OneByOne(), federation, model, dtype), federation, task, sent)
    for here, there in zip(whole, one_by_one, strict=True):
        assert here == there
    assert all(backend.whole) or name in FAIL
    assert bool(whole[0][0]) != (name in FAIL) or "bursts" in name, "somebody answers"


def test_clients_that_fail_are_left_out_and_keep_nothing_new() -> None:
    federation, model, dtype = FEDERATIONS["bytes"]
    backend = Spied()
    engine = engine_of(backend, federation, model, dtype)
    start_KP = engine.layout.init_many(2, Key(0))
    start_KP[1, 0] = np.nan
    which_N = np.array([0, 1, 0, 0, 0, 0, 0, 1])
    got = engine.ask(Train(KEPT), federation.ids, start_KP, which_N, Key(1).at(1))
    assert backend.whole == [True]
    assert got.cohort == tuple(c for c in federation.ids if c not in ("c1", "c7"))
    assert [(f.client, f.reason) for f in got.failed] == [
        ("c1", "update is not finite"),
        ("c7", "update is not finite"),
    ]
    engine.commit()
    assert sorted(engine.snapshot()[0]) == list(got.cohort)


def test_the_list_of_tasks_is_complete() -> None:
    listed = {type(task) for task, _ in TASKS.values()}
    ours = [kind for name in shoal.tasks.__all__ if "for_cohort" in vars(kind := getattr(shoal.tasks, name))]
    assert listed == set(ours)


@pytest.mark.parametrize("data", ["bytes", "residual"])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_threads_change_no_bit_and_need_no_process(workers: int, data: str) -> None:
    federation, model, dtype = FEDERATIONS[data]
    local = Workers(workers)
    try:
        for name in ("train with momentum kept", "choose and train", "shift and nearest"):
            task, sent = TASKS[name]
            found = [play(engine_of(b, federation, model, dtype), federation, task, sent) for b in (Serial(), local)]
            assert found[0] == found[1]
        assert local._pool.workers == []
        engine = engine_of(local, federation, model, dtype)
        told = engine.ask(LabelHistogram(epsilon=1.0), federation.ids, None, None, Key(3))  # client by client
        assert len(local._pool.workers) == workers == local.workers
        assert plain(told) == plain(
            engine_of(Serial(), federation, model, dtype).ask(
                LabelHistogram(epsilon=1.0), federation.ids, None, None, Key(3)
            )
        )
    finally:
        local.close()


@pytest.mark.parametrize("data", FEDERATIONS)
def test_evaluation_of_all_models_in_one_call(data: str) -> None:
    federation, model, dtype = FEDERATIONS[data]
    found = []
    for backend in (Serial(), OneByOne()):
        engine = engine_of(backend, federation, model, dtype)
        models_KP = engine.layout.init_many(3, Key(5))
        for which_N in (np.arange(len(federation.ids)) % 3, np.full(len(federation.ids), -1)):
            found.append(plain(engine.ask(Evaluate(), federation.ids, models_KP, which_N, Key(0))))
    assert found[:2] == found[2:]


# ------------------------------------------------------------------------------------- what is done client by client


@dataclass(frozen=True)
class Halved(Train):
    """A call of its own, and no form for cohorts."""

    def __call__(self, net: Net, models: Any, data: ClientData, memory: Memory, key: Key) -> tuple[Any, Memory]:
        answer, keep = super().__call__(net, models, data, memory, key)
        return {**answer, "update": answer["update"] / 2}, keep


@dataclass(frozen=True)
class Named(Train):
    """Another name, the same call."""

    name = "named"


@dataclass(frozen=True)
class Own(Halved):
    """A call and a form of its own."""

    def __call__(self, net: Net, models: Any, data: ClientData, memory: Memory, key: Key) -> tuple[Any, Memory]:
        return super().__call__(net, models, data, memory, key)

    def for_cohort(self, *asked: Any) -> CohortAnswers | None:
        return None


def test_a_call_of_its_own_is_never_bypassed() -> None:
    solver = SGD()
    assert [has_cohort_form(kind(solver)) for kind in (Train, Named, Halved, Own)] == [True, True, False, True]
    federation, model, dtype = FEDERATIONS["bytes"]
    engine = engine_of(Serial(), federation, model, dtype)
    models_KP, which_N = engine.layout.init_many(1, Key(0)), np.zeros(8, int)
    whole, half = (engine.ask(kind(solver), federation.ids, models_KP, which_N, Key(1)) for kind in (Train, Halved))
    np.testing.assert_array_equal(half["update"], whole["update"] / 2)


class Quiet(SGD):
    """A solver of a user's own."""


BY_ITSELF: dict[str, tuple[Task, Any]] = {
    "a solver of another class": (Train(Quiet()), None),
    "terms that do more than pull, and compare once": (Train(SGD(terms=(MMD(0.1), MMD(0.2)))), None),
    "a rest that does": (TrainInStages(SGD(), SGD(terms=(MMD(0.1), MMD(0.2)))), None),
    "batch norm with a client of one sample": (Train(SGD()), partial(conv, True)),
    "another model": (Train(SGD()), other),
}


@pytest.mark.parametrize("case", BY_ITSELF)
def test_what_the_kernel_cannot_do_for_all(case: str) -> None:
    task, model = BY_ITSELF[case]
    federation = FEDERATIONS["bytes"][0]
    found, backend = [], Spied()
    for each in (backend, OneByOne()):
        engine = engine_of(each, federation, model or partial(perceptron, 36))
        models_KP = engine.layout.init_many(1, Key(0))
        found.append(plain(engine.ask(task, federation.ids, models_KP, np.zeros(8, int), Key(1).at(1))))
    assert backend.whole == [False]
    assert found[0] == found[1]


def test_a_time_limit_is_for_single_clients() -> None:
    federation, model, dtype = FEDERATIONS["bytes"]
    backend = Spied()
    engine = engine_of(backend, federation, model, dtype, timeout=1000.0)
    assert len(engine.ask(LabelHistogram(), federation.ids, None, None, Key(0))) == 8
    assert backend.whole == []


def test_models_that_do_not_fit_the_declaration() -> None:
    federation, model, dtype = FEDERATIONS["bytes"]
    for task, which_N, reason in [
        (Train(SGD()), None, "failed"),
        (Train(SGD()), np.array([0, 1, 2, 0, 1, 2, 0, 1]), "IndexError"),
        (Losses(), np.zeros(8, int), "losses has shape"),
    ]:
        engine = engine_of(Spied(), federation, model, dtype)
        got = engine.ask(task, federation.ids, engine.layout.init_many(2, Key(0)), which_N, Key(0))
        assert got.failed and all(reason in f.reason for f in got.failed)


def test_a_client_twice_in_a_cohort_and_everybody_at_once() -> None:
    federation, model, dtype = FEDERATIONS["bytes"]
    backend = Spied()
    engine = engine_of(backend, federation, model, dtype)
    assert engine.ask(LabelHistogram(), ("c1", "c0", "c1"), None, None, Key(0)).cohort == ("c0", "c1", "c1")
    assert engine.ask(LabelHistogram(), ("*",), None, None, Key(0))["histogram"].sum() == sum(SIZES)
    assert len(engine.ask(Choose(), ("zoe",), engine.layout.init_many(2, Key(0)), None, Key(0)).failed) == 1
    assert backend.whole == []


def test_velocities_that_do_not_fit_are_the_failure_of_their_client() -> None:
    federation, model, dtype = FEDERATIONS["bytes"]
    engine = engine_of(Serial(), federation, model, dtype)
    engine.restore({"c3": {"velocity": np.zeros(3, np.float32)}}, np.zeros((0, engine.layout.size), np.float32))
    got = engine.ask(Train(KEPT), federation.ids, engine.layout.init_many(1, Key(0)), np.zeros(8, int), Key(1))
    assert len(got) == 7
    assert got.failed[0].client == "c3" and "the velocity that the client kept" in got.failed[0].reason


def test_what_a_form_raises_is_the_reason_of_all() -> None:
    class Broken(LabelHistogram):
        def __call__(self, *asked: Any) -> Any:
            raise AssertionError("not called")

        def for_cohort(self, *asked: Any) -> CohortAnswers:
            raise BadInput("no such thing")

    federation, model, dtype = FEDERATIONS["bytes"]
    got = engine_of(Serial(), federation, model, dtype).ask(Broken(), federation.ids, None, None, Key(0))
    assert not len(got) and got["histogram"].shape == (0, 3)
    assert len(got.failed) == 8 and all("BadInput: no such thing" in f.reason for f in got.failed)


# --------------------------------------------------------------------------------- what the kernel would not read


def changed(**fields: Any) -> Federation:
    return replace(images(), **fields)


def odd_labels(at: int, label: int) -> Array:
    y = images().y.copy()
    y[at] = label
    return y


@pytest.mark.parametrize(
    "federation",
    [
        changed(views=(View(turns=0.5), *images().views[1:])),
        changed(views=(View((0, 1)), *images().views[1:])),
        changed(x=images().x.astype(np.int16)),
        changed(inputs=Inputs()),
        changed(y=odd_labels(5, -1)),
        changed(y=odd_labels(5, 3)),
        changed(x=images().x[:130]),
        changed(test=Ragged.of([np.array([160])] * 8)),
        changed(test=Ragged.of([np.array([-1])] * 8)),
        images(shape=(1, 4, 9)),
        images(shape=(1, 5, 5)),
    ],
    ids=["half turns", "short map", "int16", "raw bytes", "-1", "3", "few x", "beyond", "below", "oblong", "small"],
)
def test_what_the_kernel_would_not_read(federation: Federation) -> None:
    net = Net(Layout.of(partial(perceptron, 36), images().sample()), Arithmetic(kernel="native"))
    assert KernelData.of(net, images()) is not None
    assert KernelData.of(net, federation) is None
    assert KernelData.of(net, None) is None
