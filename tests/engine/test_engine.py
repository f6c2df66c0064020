"""The engine in front of every back end: order, models, traffic, memories, misbehaviour, chains."""

from __future__ import annotations

import os
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
import pytest
from tests.conftest import make_toy, small_net
from tests.support import FAULTS, Misbehaving, Telling

from shoal.backends import Backend, Outcome, Serial, Unit, Workers
from shoal.data.federation import Federation
from shoal.engine import Engine
from shoal.errors import BadInput, TooFewAnswers
from shoal.kernels import native
from shoal.layout import Layout
from shoal.loop.history import History
from shoal.loop.record import ledger_part
from shoal.models.linear import mlp
from shoal.net import Arithmetic, Net
from shoal.seeds import Key
from shoal.solvers import SGD
from shoal.tasks import Evaluate, Gradient, LabelHistogram, Losses, Train
from shoal.types import Answers, Array, ClientData, Field, Memory, Record, Ref, Task


@dataclass(frozen=True)
class Visit(Task):
    """Counts its own visits in the client's memory."""

    name: ClassVar[str] = "visit"
    models: ClassVar[Literal["none"]] = "none"
    fields: ClassVar[Mapping[str, Field]] = {"visits": Field("int", low=0)}

    def __call__(self, net: Net, models: Any, data: ClientData, memory: Memory, key: Key) -> tuple[Any, Memory]:
        visits = memory.get("visits", 0) + 1
        return {"visits": visits}, {"visits": visits}

    def work(self, samples: int, models: int) -> tuple[int, int]:
        return 0, 0


@pytest.fixture(scope="module")
def layout(toy: Federation) -> Layout:
    return Layout.of(small_net, toy.sample())


@pytest.fixture(params=["serial", "local"])
def backend(request: pytest.FixtureRequest) -> Backend:
    made: Backend = Serial() if request.param == "serial" else request.getfixturevalue("pool")
    return made


@pytest.fixture
def engine(backend: Backend, layout: Layout, toy: Federation) -> Engine:
    front = Engine(backend, layout)
    front.set_federation(toy)
    return front


def models(layout: Layout, k: int) -> Array:
    return layout.init_many(k, Key(3)) if k else np.zeros((0, layout.size), layout.dtype)


def test_answers_that_come_one_by_one_are_held_once(layout: Layout, toy: Federation) -> None:
    """Of twelve updates no more than the last two are there beside the rows into which they were copied."""
    made: list[weakref.ref[Array]] = []
    there: list[int] = []

    class Watched(Serial):
        def run(self, units: Sequence[Unit], models_KP: Array | None) -> Iterator[tuple[int, Outcome]]:
            for number, outcome in super().run(units, models_KP):
                assert outcome.answer is not None
                made.append(weakref.ref(outcome.answer["update"]))
                there.append(sum(update() is not None for update in made))
                yield number, outcome

    engine = Engine(Watched(), layout)
    engine.set_federation(toy)
    got = engine.map(Train(SGD()), toy.ids, models(layout, 1), np.zeros(len(toy.ids), int), Key(1))
    assert len(got) == len(there) == len(toy.ids) == 12
    assert max(there) <= 2


def test_answers_come_in_canonical_order(engine: Engine, layout: Layout) -> None:
    w_KP = models(layout, 3)
    shuffled = ("c05", "c01", "c09")
    got = engine.map(Train(SGD()), shuffled, w_KP, np.array([2, 0, 1]), Key(1).at(1))
    assert got.cohort == ("c01", "c05", "c09")
    assert got.which_N.tolist() == [0, 2, 1]
    alone = engine.map(Train(SGD()), ("c05",), w_KP[2:], np.array([0]), Key(1).at(1))
    assert alone["update"].tobytes() == got["update"][1].tobytes()  # whom else was asked does not matter


def test_engines_agree_bit_for_bit(layout: Layout, toy: Federation, pool: Workers) -> None:
    w_KP, which = models(layout, 2), np.arange(12) % 2
    fields = []
    for backend in (Serial(), pool):
        engine = Engine(backend, layout)
        engine.set_federation(toy)
        train = engine.map(Train(SGD(momentum=0.5)), toy.ids, w_KP, which, Key(1).at(1))
        test = engine.map(Evaluate(), toy.ids, w_KP, which, Key(1))
        losses = engine.map(Losses(), toy.ids, w_KP, None, Key(1))
        told = engine.map(LabelHistogram(), toy.ids, None, None, Key(1))
        chain = engine.chain(Train(SGD()), [toy.ids[:3], toy.ids[5:7]], w_KP, np.array([0, 1]), Key(2))
        fields.append({**train.fields, **test.fields, **losses.fields, **told.fields, "chain": chain["update"]})
    for name in fields[0]:
        assert fields[0][name].tobytes() == fields[1][name].tobytes(), name


def test_bulk_evaluation_is_evaluation_client_by_client(engine: Engine, layout: Layout, toy: Federation) -> None:
    w_KP, which = models(layout, 2), np.arange(12) % 2
    got = engine.map(Evaluate(), toy.ids, w_KP, which, Key(1))
    net = Net(layout)
    for i, client in enumerate(toy.ids):
        one, _ = Evaluate()(net, w_KP[which[i]], toy.client(client), {}, Key(1))
        for name in ("right", "total", "true", "predicted", "both"):
            assert np.array_equal(one[name], got[name][i]), name
        assert one["loss"] == pytest.approx(got["loss"][i], rel=1e-5)


def test_describe_counts_the_labels(engine: Engine, toy: Federation) -> None:
    got = engine.map(LabelHistogram(), toy.ids[:1], None, None, Key(0))
    _, y = toy.client("c00")("train")
    assert got["histogram"][0].tolist() == [int((y == c).sum()) for c in range(3)]


def test_losses_are_those_of_each_model(engine: Engine, layout: Layout, toy: Federation) -> None:
    w_KP = models(layout, 2)
    got = engine.map(Losses("train"), ("c03",), w_KP, None, Key(0))
    for k in range(2):
        alone = engine.ask(Evaluate("train"), ("c03",), w_KP, np.array([k]), Key(0))
        assert got["losses"][0, k] == pytest.approx(alone["loss"][0], rel=1e-5)


def test_memory_is_kept_only_when_the_round_counts(engine: Engine) -> None:
    def ask() -> list[int]:
        found: list[int] = engine.map(Visit(), ("c00", "c01"), None, None, Key(0))["visits"].tolist()
        return found

    assert ask() == [1, 1]
    assert ask() == [2, 2]  # within a round a client remembers
    engine.rollback()
    assert ask() == [1, 1]
    engine.commit()
    assert ask() == [2, 2]
    assert engine.snapshot()[0] == {"c00": {"visits": 1}, "c01": {"visits": 1}}


@dataclass(frozen=True)
class KeepRows(Task):
    """Keeps vectors it was sent; asked without models it tells their sums from memory."""

    name: ClassVar[str] = "keep rows"
    models: ClassVar[Literal["all"]] = "all"
    fields: ClassVar[Mapping[str, Field]] = {"sums": Field("float")}

    def __call__(self, net: Net, models: Any, data: ClientData, memory: Memory, key: Key) -> tuple[Any, Memory]:
        if models is not None:
            memory = {"first": models[0], "rest": models[1:], "seen": 1}
        return {"sums": float(memory["first"].sum() + memory["rest"].sum())}, {**memory, "seen": memory["seen"] + 1}

    def work(self, samples: int, models: int) -> tuple[int, int]:
        return 0, 0


def test_a_vector_that_many_clients_keep_is_stored_once(engine: Engine, layout: Layout, toy: Federation) -> None:
    w_KP = models(layout, 3)
    engine.map(KeepRows(), toy.ids, w_KP, None, Key(0))
    engine.map(KeepRows(), toy.ids[:2], w_KP[::-1].copy(), None, Key(0))
    engine.commit()
    assert len(engine.snapshot()[1]) == 3
    assert engine.snapshot()[0]["c05"] == {"first": Ref((0,), True), "rest": Ref((1, 2), False), "seen": 2}
    assert engine.snapshot()[0]["c00"]["rest"] == Ref((1, 0), False)
    engine.drain()
    got = engine.map(KeepRows(), toy.ids, None, None, Key(0))
    np.testing.assert_allclose(got["sums"], w_KP.sum(), rtol=1e-4)
    assert engine.drain().counts["keep rows"].down == 0  # nothing had to be sent
    engine.commit()
    assert engine.snapshot()[0]["c05"]["rest"] == Ref((1, 2), False)  # still pointed at, not copied


def test_who_misbehaves_is_left_out_with_the_reason(backend: Backend, layout: Layout, toy: Federation) -> None:
    kinds = list(FAULTS)
    for some in (kinds[:10], kinds[10:]):
        faults = {f"c{i:02d}": kind for i, kind in enumerate(some)}
        engine = Engine(Misbehaving(backend, faults), layout)
        engine.set_federation(toy)
        got = engine.map(Train(SGD()), toy.ids, models(layout, 1), np.zeros(12, int), Key(0).at(1))
        assert got.cohort == tuple(c for c in toy.ids if c not in faults)
        assert {f.client for f in got.failed} == set(faults)
        for failure in got.failed:
            assert FAULTS[faults[failure.client]][1] in failure.reason
        events = engine.drain().events
        assert [(e["kind"], e["client"], e["task"]) for e in events] == [("left out", c, "train") for c in faults]
        engine.commit()
        assert not engine.snapshot()[0]  # nor may it keep anything


def test_a_client_that_is_not_there_is_listed(engine: Engine, layout: Layout) -> None:
    got = engine.map(Train(SGD()), ("c00", "zoe"), models(layout, 1), np.zeros(2, int), Key(0))
    assert got.cohort == ("c00",)
    assert got.failed[0].reason == "not in the federation this round"


def test_too_few_answers_stop_the_round(backend: Backend, layout: Layout, toy: Federation) -> None:
    engine = Engine(Misbehaving(backend, {"c00": "nan", "c01": "nan"}), layout, min_answers=3)
    engine.set_federation(toy)

    def ask(n: int) -> Answers:
        return engine.map(Train(SGD()), toy.ids[:n], models(layout, 1), np.zeros(n, int), Key(0))

    assert len(ask(5)) == 3
    with pytest.raises(TooFewAnswers, match="2 of 4 answered 'train', at least 3 must; 'c00': update is not finite"):
        ask(4)


def test_late_answers_are_left_out() -> None:
    class Watch:
        """A clock on which everything takes six seconds."""

        now = 0.0

        def __call__(self) -> float:
            self.now += 6
            return self.now

    toy = make_toy(3)
    layout = Layout.of(small_net, toy.sample())
    for limit, came in ((5.0, 0), (7.0, 3)):
        engine = Engine(Serial(clock=Watch()), layout, timeout=limit, min_answers=0)
        engine.set_federation(toy)
        got = engine.map(Train(SGD()), toy.ids, models(layout, 1), np.zeros(3, int), Key(0))
        assert len(got) == came
        assert all(f.reason == "late: 6.0 s, the limit is 5 s" for f in got.failed)


def test_traffic_and_work_are_counted(engine: Engine, layout: Layout, toy: Federation) -> None:
    w_KP = models(layout, 2)
    engine.map(Train(SGD(epochs=3)), ("c00", "c01"), w_KP, np.zeros(2, int), Key(0))
    engine.map(Losses(), ("c00",), w_KP, None, Key(0))
    engine.chain(Train(SGD()), [("c00", "c01")], w_KP, np.zeros(1, int), Key(0))
    counts, sizes = engine.drain().counts, toy.roster.sizes_N
    n = int(sizes[0] + sizes[1])
    vector = layout.size * 4
    # Two clients trained (3 epochs), then a chain of two hops (1 epoch): 4 vectors down and 4 up, each answer with
    # a count and a loss of 8 bytes.
    assert (counts["train"].down, counts["train"].up) == (4, 4)
    assert (counts["train"].bytes_down, counts["train"].bytes_up) == (4 * vector, 4 * (vector + 16))
    assert (counts["train"].forward, counts["train"].backward) == (4 * n, 4 * n)
    assert (counts["losses"].down, counts["losses"].up, counts["losses"].bytes_up) == (2, 0, 8)  # 2 losses of 4 bytes
    assert counts["losses"].forward == 2 * sizes[0]
    assert not engine.drain().counts


def test_a_chain_is_training_in_sequence(engine: Engine, layout: Layout, toy: Federation) -> None:
    w_KP, order = models(layout, 1), ("c07", "c02", "c04")
    got = engine.chain(Train(SGD()), [order], w_KP, np.zeros(1, int), Key(4).at(2))
    w_P, counts, losses = w_KP[0], [], []
    for client in order:
        step = engine.map(Train(SGD()), (client,), w_P[None], np.zeros(1, int), Key(4).at(2))
        w_P = w_P + step["update"][0]
        counts.append(int(step["count"][0]))
        losses.append(float(step["loss"][0]))
    assert got.cohort == ("0",)
    assert (w_P - w_KP[0]).tobytes() == got["update"][0].tobytes()
    assert got["count"].tolist() == [sum(counts)]
    assert got["loss"][0] == pytest.approx(np.average(losses, weights=counts))


def test_a_chain_skips_who_fails_and_leaves_out_a_group_in_which_all_fail(
    backend: Backend, layout: Layout, toy: Federation
) -> None:
    w_KP = models(layout, 1)
    engine = Engine(Misbehaving(backend, {"c01": "nan", "c03": "raises", "c04": "boast"}), layout)
    engine.set_federation(toy)
    groups = [("c00", "c01", "c02"), ("c03", "c04")]
    got = engine.chain(Train(SGD()), groups, w_KP, np.zeros(2, int), Key(0).at(1))
    assert got.cohort == ("0",)
    assert [f.client for f in got.failed] == ["c01", "c03", "c04"]
    train = engine.drain().counts["train"]
    assert (train.down, train.up) == (5, 2)  # five were asked, two answered
    clean = engine.chain(Train(SGD()), [("c00", "c02")], w_KP, np.zeros(1, int), Key(0).at(1))
    assert got["update"].tobytes() == clean["update"].tobytes()


def test_answers_of_declared_shapes_are_stacked_and_counted_as_they_are(
    engine: Engine, layout: Layout, toy: Federation
) -> None:
    w_KP, cohort = models(layout, 1), ("c01", "c05")
    got = engine.map(Telling(), cohort, w_KP, np.zeros(2, int), Key(0))
    assert (got["sums"].shape, got["sums"].dtype, got["labels"].shape) == ((2, 6, 2), layout.dtype, (2, 3))
    for i, client in enumerate(cohort):
        x, y = toy.client(client)("train")
        assert np.array_equal(got["sums"][i, :, 0], x[:2].sum(0).astype(np.float32))
        assert np.array_equal(got["labels"][i], np.bincount(y, minlength=3))
    count = engine.drain().counts["tell"]
    # each answer: a model, 6 x 2 floats of 4 bytes, 3 labels, a count and a loss of 8
    assert (count.up, count.bytes_up) == (2, 2 * (layout.bytes + 48 + 24 + 8 + 8))


def test_a_chain_tells_what_its_last_client_told(engine: Engine, layout: Layout, toy: Federation) -> None:
    w_KP, order = models(layout, 1), ("c07", "c02", "c04")
    got = engine.chain(Telling(), [order, ("c01",)], w_KP, np.zeros(2, int), Key(4))
    plain = engine.chain(Train(SGD()), [order, ("c01",)], w_KP, np.zeros(2, int), Key(4))
    assert got["update"].tobytes() == plain["update"].tobytes()
    assert got["count"].tolist() == plain["count"].tolist()
    for row, client in zip(got["sums"], ("c04", "c01"), strict=True):
        assert np.array_equal(row[:, 0], toy.client(client)("train")[0][:2].sum(0).astype(np.float32))


def test_an_answer_of_another_shape_than_declared_is_left_out(engine: Engine, layout: Layout) -> None:
    got = engine.ask(Telling(inputs=7), ("c00",), models(layout, 1), np.zeros(1, int), Key(0))
    assert [f.reason for f in got.failed] == ["sums has shape (6, 2), not (7, 2)"]


def test_a_task_whose_answers_have_no_update_is_refused_in_a_chain(engine: Engine, layout: Layout) -> None:
    with pytest.raises(BadInput, match="'visit' cannot be done in a chain: its answer has no 'update'"):
        engine.chain(Visit(), [("c00",)], models(layout, 1), np.zeros(1, int), Key(0))


def test_inputs_are_not_changed(engine: Engine, layout: Layout, toy: Federation) -> None:
    w_KP = models(layout, 2)
    before = w_KP.copy()
    engine.map(Train(SGD()), toy.ids, w_KP, np.arange(12) % 2, Key(0))
    engine.chain(Train(SGD()), [toy.ids], w_KP, np.zeros(1, int), Key(0))
    assert np.array_equal(w_KP, before)


def test_bulk_work_notices_other_models_and_other_data(engine: Engine, layout: Layout, toy: Federation) -> None:
    models_KP, none = models(layout, 2), np.zeros(12, int)
    cases = (
        (toy, np.arange(12) % 2),
        (toy, none),
        (toy.keep(toy.ids[2:]), none[2:]),
        (replace(toy, test=toy.train), none),
    )
    for federation, which_N in cases:
        fresh = Engine(Serial(), layout)
        fresh.set_federation(federation)
        want = fresh.ask(Evaluate("test"), federation.ids, models_KP, which_N, Key(0))
        engine.set_federation(federation)
        for _ in range(2):  # laid out anew, then from what was kept
            got = engine.ask(Evaluate("test"), federation.ids, models_KP, which_N, Key(0))
            assert got.cohort == want.cohort
            assert all((got[name] == want[name]).all() for name in want.fields)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda w: w[:, :-1], "numbers of float32 came"),
        (lambda w: np.append(w, w[:, :1], 1), "numbers of float32 came"),
        (lambda w: w.astype(np.float64), "of float64 came"),
        (lambda w: w[0], "numbers of float32 came"),
    ],
    ids=["short", "long", "double", "one vector"],
)
def test_models_that_do_not_fit_the_layout_reach_nobody(
    engine: Engine, layout: Layout, change: Callable[[Array], Array], word: str
) -> None:
    bad, one = change(models(layout, 1)), np.zeros(1, int)
    for task in (Train(SGD()), Evaluate()):
        with pytest.raises(BadInput, match=f"the models sent with the task {task.name!r}: .* {word}"):
            engine.map(task, ("c00",), bad, one, Key(0))
    with pytest.raises(BadInput, match=f"the models sent with the task 'train': .* {word}"):
        engine.chain(Train(SGD()), [("c00",)], bad, one, Key(0))


def test_what_is_restored_must_fit_the_layout(engine: Engine, layout: Layout) -> None:
    kept_VP = models(layout, 2)
    engine.restore({"c00": {"w0": Ref((0, 1), False), "n": 5}}, kept_VP)
    with pytest.raises(BadInput, match=r"the vectors that clients keep: .* came"):
        engine.restore({}, kept_VP[:, 1:])
    for rows in ((2,), (-1, 0), ()):
        with pytest.raises(BadInput, match=r"client 'c00' keeps the vectors .* as 'w0'; there are 2 of them"):
            engine.restore({"c00": {"w0": Ref(rows, True)}}, kept_VP)


def short_velocity(kernel: str) -> None:
    """Clients train with a velocity that is too short, as after a checkpoint that was tampered with."""
    toy = make_toy(3)
    layout = Layout.of(partial(mlp, (6,), 3), toy.sample())
    engine = Engine(Serial(), layout, min_answers=0, arithmetic=Arithmetic(kernel=kernel))  # type: ignore[arg-type]
    engine.set_federation(toy)
    engine.restore({c: {"velocity": np.zeros(1, np.float32)} for c in toy.ids[:2]}, models(layout, 0))
    got = engine.map(
        Train(SGD(momentum=0.5, momentum_memory="kept")), toy.ids, models(layout, 1), np.zeros(3, int), Key(0)
    )
    print(got.cohort, {f.reason.split(" (sgd")[0] for f in got.failed})


@pytest.mark.parametrize("kernel", ["torch", "native"])
def test_a_kept_velocity_that_is_too_short_leaves_its_client_out(kernel: str) -> None:
    """In a process of its own, which C might take down."""
    if kernel == "native" and native() is None:
        pytest.skip("the native kernel was not built: no C compiler")
    command = f"from tests.engine.test_engine import short_velocity; short_velocity({kernel!r})"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", command], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("('c02',) {'failed: BadInput: the velocity that the client kept: (1,) numbers"), done


def test_what_only_looks_is_counted_apart(engine: Engine, layout: Layout) -> None:
    """A client is sent 2 models and tells 2 losses of 4 bytes; with a Gradient it is sent 1 and sends 1 back."""
    w_KP, one = models(layout, 2), ("c00",)
    engine.map(Losses(), one, w_KP, None, Key(0))
    engine.map(Losses(diagnostic=True), one, w_KP, None, Key(0))
    engine.map(Losses(diagnostic=True), one, w_KP, None, Key(0))
    engine.map(Gradient(), one, w_KP, np.zeros(1, int), Key(0))
    engine.map(Evaluate(), one, w_KP, np.zeros(1, int), Key(0))
    ledger = engine.drain()
    assert {name: (c.down, c.up) for name, c in ledger.counts.items()} == {"losses": (2, 0)}
    assert {name: (c.down, c.up) for name, c in ledger.diagnostics_by_name().items()} == {
        "losses (diagnostic)": (4, 0),
        "gradient": (1, 1),
        "evaluate": (1, 0),
    }
    row = ledger_part(ledger, Record(), layout)
    assert row["diagnostic"] == ["evaluate", "gradient", "losses (diagnostic)"]
    assert {name: count["down"] for name, count in row["traffic"].items()} == {
        "evaluate": 1,
        "gradient": 1,
        "losses": 2,
        "losses (diagnostic)": 4,
    }
    history = History([{"round": 1, **row}])
    assert (history.vectors(), history.vectors(everything=True)) == (2, 2 + 4 + 1 + 1 + 1)


@dataclass(frozen=True)
class Told(Visit):
    """Declares what it is told to."""

    told: Mapping[str, Field]
    sent: Any = "none"

    @property
    def fields(self) -> Mapping[str, Field]:  # type: ignore[override]
        return self.told

    @property
    def models(self) -> Any:  # type: ignore[override]
        return self.sent


def test_a_declaration_nobody_can_work_with_is_one_sentence(engine: Engine, layout: Layout) -> None:
    task: Any = Told({"visits": Field("int"), "rows": Field("float", ("K", "Q"))})
    word = (
        r"the task 'visit' declares its field 'rows' with 'Q' in its shape; .* letters P \(the numbers of a model\), K"
    )
    with pytest.raises(BadInput, match=word):
        engine.map(task, ("c00",), None, None, Key(0))
    with pytest.raises(BadInput, match=word):
        engine.chain(task, [("c00",)], models(layout, 1), np.zeros(1, int), Key(0))
    with pytest.raises(BadInput, match="the task 'visit' declares models='some'; it is 'one', 'all' or 'none'"):
        engine.map(Told({}, "some"), ("c00",), None, None, Key(0))
    with pytest.raises(BadInput, match=r"is no task: derive its class from shoal\.types\.Task"):
        engine.map(print, ("c00",), None, None, Key(0))  # type: ignore[arg-type]


def test_a_group_of_nobody_is_said_and_one_in_which_all_fail_is_not(layout: Layout, toy: Federation) -> None:
    engine = Engine(Misbehaving(Serial(), {"c03": "raises"}), layout)
    engine.set_federation(toy)
    engine.chain(Train(SGD()), [("c00",), (), ("c03",)], models(layout, 1), np.zeros(3, int), Key(0).at(1))
    said = [e for e in engine.drain().events if e["kind"] == "empty group"]
    assert said == [{"kind": "empty group", "task": "train", "group": 1}]


@dataclass(frozen=True)
class PerModel(Visit):
    """A number for every model that was sent."""

    fields: ClassVar[Mapping[str, Field]] = {"each": Field("float", ("K",))}
    length: int = 0

    def __call__(self, net: Net, models: Any, data: ClientData, memory: Memory, key: Key) -> tuple[Any, Memory]:
        return {"each": np.zeros(self.length, np.float32)}, memory


def test_no_models_sent_are_none(layout: Layout, toy: Federation) -> None:
    engine = Engine(Serial(), layout, min_answers=0)
    engine.set_federation(toy)
    assert engine.map(PerModel(), ("c00",), None, None, Key(0).at(1))["each"].shape == (1, 0)
    [failure] = engine.map(PerModel(length=1), ("c00",), None, None, Key(0).at(1)).failed
    assert failure.reason == "each has shape (1,), not (0,)"


def test_one_sample_is_enough_to_be_asked_and_who_is_gone_is_not() -> None:
    x_B, y_B = np.ones((1, 6), np.float32), np.zeros(1, int)
    federation = Federation.from_arrays({"ann": (x_B, y_B, x_B, y_B)}, classes=3)
    engine = Engine(Serial(), Layout.of(small_net, federation.sample()))
    engine.set_federation(federation)
    got = engine.map(Visit(), ("ann", "eve"), None, None, Key(0).at(1))
    assert (got.cohort, [f.client for f in got.failed]) == (("ann",), ["eve"])


def test_nobody_needs_more_answers_than_clients_were_asked(layout: Layout, toy: Federation) -> None:
    engine = Engine(Misbehaving(Serial(), {"c01": "raises"}), layout, min_answers=5)
    engine.set_federation(toy)
    w_KP = models(layout, 1)
    assert len(engine.map(Train(SGD()), ("c00",), w_KP, np.zeros(1, int), Key(0).at(1))) == 1
    for cohort in (("c00", "c01"), ("c01",)):
        with pytest.raises(TooFewAnswers):
            engine.map(Train(SGD()), cohort, w_KP, np.zeros(len(cohort), int), Key(0).at(1))
