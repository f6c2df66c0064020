"""The engine in front of every back end: order, models, traffic, memories, misbehaviour, chains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import pytest
from tests.conftest import small_net
from tests.support import FAULTS, Misbehaving

from shoal.data.federation import Federation
from shoal.engines import Backend, Front, Serial, Workers
from shoal.errors import TooFewAnswers
from shoal.layout import Layout
from shoal.net import Net
from shoal.seeds import Key
from shoal.solvers import SGD
from shoal.tasks import Describe, Evaluate, Losses, Train
from shoal.types import Answers, Array, ClientData, Field, Memory, Ref


@dataclass(frozen=True)
class Visit:
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
def backend(request: pytest.FixtureRequest, pool: Workers) -> Backend:
    return Serial() if request.param == "serial" else pool


@pytest.fixture
def engine(backend: Backend, layout: Layout, toy: Federation) -> Front:
    front = Front(backend, layout)
    front.use(toy)
    return front


def models(layout: Layout, k: int) -> Array:
    return layout.init_many(k, Key(3))


def test_answers_come_in_canonical_order(engine: Front, layout: Layout) -> None:
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
        engine = Front(backend, layout)
        engine.use(toy)
        train = engine.map(Train(SGD(momentum=0.5)), toy.ids, w_KP, which, Key(1).at(1))
        test = engine.map(Evaluate(), toy.ids, w_KP, which, Key(1))
        losses = engine.map(Losses(), toy.ids, w_KP, None, Key(1))
        told = engine.map(Describe(), toy.ids, None, None, Key(1))
        chain = engine.chain(Train(SGD()), [toy.ids[:3], toy.ids[5:7]], w_KP, np.array([0, 1]), Key(2))
        fields.append({**train.fields, **test.fields, **losses.fields, **told.fields, "chain": chain["update"]})
    for name in fields[0]:
        assert fields[0][name].tobytes() == fields[1][name].tobytes(), name


def test_bulk_evaluation_is_evaluation_client_by_client(engine: Front, layout: Layout, toy: Federation) -> None:
    w_KP, which = models(layout, 2), np.arange(12) % 2
    got = engine.map(Evaluate(), toy.ids, w_KP, which, Key(1))
    net = Net(layout)
    for i, client in enumerate(toy.ids):
        one, _ = Evaluate()(net, w_KP[which[i]], toy.client(client), {}, Key(1))
        for name in ("right", "total", "true", "predicted", "both"):
            assert np.array_equal(one[name], got[name][i]), name
        assert one["loss"] == pytest.approx(got["loss"][i], rel=1e-5)


def test_describe_counts_the_labels(engine: Front, toy: Federation) -> None:
    got = engine.map(Describe(), toy.ids[:1], None, None, Key(0))
    _, y = toy.client("c00")("train")
    assert got["histogram"][0].tolist() == [int((y == c).sum()) for c in range(3)]


def test_losses_are_those_of_each_model(engine: Front, layout: Layout, toy: Federation) -> None:
    w_KP = models(layout, 2)
    got = engine.map(Losses("train"), ("c03",), w_KP, None, Key(0))
    for k in range(2):
        alone = engine.ask(Evaluate("train"), ("c03",), w_KP, np.array([k]), Key(0))
        assert got["losses"][0, k] == pytest.approx(alone["loss"][0], rel=1e-5)


def test_memory_is_kept_only_when_the_round_counts(engine: Front) -> None:
    def ask() -> list[int]:
        found: list[int] = engine.map(Visit(), ("c00", "c01"), None, None, Key(0))["visits"].tolist()
        return found

    assert ask() == [1, 1]
    assert ask() == [2, 2]  # within a round a client remembers
    engine.rollback()
    assert ask() == [1, 1]
    engine.commit()
    assert ask() == [2, 2]
    assert engine.memories == {"c00": {"visits": 1}, "c01": {"visits": 1}}


@dataclass(frozen=True)
class KeepRows:
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


def test_a_vector_that_many_clients_keep_is_stored_once(engine: Front, layout: Layout, toy: Federation) -> None:
    w_KP = models(layout, 3)
    engine.map(KeepRows(), toy.ids, w_KP, None, Key(0))
    engine.map(KeepRows(), toy.ids[:2], w_KP[::-1].copy(), None, Key(0))
    engine.commit()
    assert len(engine.library.rows_VP) == 3
    assert engine.memories["c05"] == {"first": Ref((0,), True), "rest": Ref((1, 2), False), "seen": 2}
    assert engine.memories["c00"]["rest"] == Ref((1, 0), False)
    engine.take()
    got = engine.map(KeepRows(), toy.ids, None, None, Key(0))
    np.testing.assert_allclose(got["sums"], w_KP.sum(), rtol=1e-4)
    assert engine.take().counts["keep rows"].down == 0  # nothing had to be sent
    engine.commit()
    assert engine.memories["c05"]["rest"] == Ref((1, 2), False)  # still pointed at, not copied


def test_who_misbehaves_is_left_out_with_the_reason(backend: Backend, layout: Layout, toy: Federation) -> None:
    kinds = list(FAULTS)
    for some in (kinds[:10], kinds[10:]):
        faults = {f"c{i:02d}": kind for i, kind in enumerate(some)}
        engine = Front(Misbehaving(backend, faults), layout)
        engine.use(toy)
        got = engine.map(Train(SGD()), toy.ids, models(layout, 1), np.zeros(12, int), Key(0).at(1))
        assert got.cohort == tuple(c for c in toy.ids if c not in faults)
        assert {f.client for f in got.failed} == set(faults)
        for failure in got.failed:
            assert FAULTS[faults[failure.client]][1] in failure.reason
        events = engine.take().events
        assert [(e["kind"], e["client"], e["task"]) for e in events] == [("left out", c, "train") for c in faults]
        engine.commit()
        assert not engine.memories  # nor may it keep anything


def test_a_client_that_is_not_there_is_listed(engine: Front, layout: Layout) -> None:
    got = engine.map(Train(SGD()), ("c00", "zoe"), models(layout, 1), np.zeros(2, int), Key(0))
    assert got.cohort == ("c00",)
    assert got.failed[0].reason == "not in the federation this round"


def test_too_few_answers_stop_the_round(backend: Backend, layout: Layout, toy: Federation) -> None:
    engine = Front(Misbehaving(backend, {"c00": "nan", "c01": "nan"}), layout, min_answers=3)
    engine.use(toy)

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

    from tests.conftest import make_toy

    toy = make_toy(3)
    layout = Layout.of(small_net, toy.sample())
    for limit, came in ((5.0, 0), (7.0, 3)):
        engine = Front(Serial(clock=Watch()), layout, timeout=limit, min_answers=0)
        engine.use(toy)
        got = engine.map(Train(SGD()), toy.ids, models(layout, 1), np.zeros(3, int), Key(0))
        assert len(got) == came
        assert all(f.reason == "late: 6.0 s, the limit is 5 s" for f in got.failed)


def test_traffic_and_work_are_counted(engine: Front, layout: Layout, toy: Federation) -> None:
    w_KP = models(layout, 2)
    engine.map(Train(SGD(epochs=3)), ("c00", "c01"), w_KP, np.zeros(2, int), Key(0))
    engine.map(Losses(), ("c00",), w_KP, None, Key(0))
    engine.chain(Train(SGD()), [("c00", "c01")], w_KP, np.zeros(1, int), Key(0))
    counts, sizes = engine.take().counts, toy.roster.sizes_N
    n = int(sizes[0] + sizes[1])
    vector = layout.size * 4
    # Two clients trained (3 epochs), then a chain of two hops (1 epoch): 4 vectors down and 4 up, each answer with
    # a count and a loss of 8 bytes.
    assert (counts["train"].down, counts["train"].up) == (4, 4)
    assert (counts["train"].bytes_down, counts["train"].bytes_up) == (4 * vector, 4 * (vector + 16))
    assert (counts["train"].forward, counts["train"].backward) == (4 * n, 4 * n)
    assert (counts["losses"].down, counts["losses"].up, counts["losses"].bytes_up) == (2, 0, 16)
    assert counts["losses"].forward == 2 * sizes[0]
    assert not engine.take().counts


def test_a_chain_is_training_in_sequence(engine: Front, layout: Layout, toy: Federation) -> None:
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
    engine = Front(Misbehaving(backend, {"c01": "nan", "c03": "raises", "c04": "boast"}), layout)
    engine.use(toy)
    groups = [("c00", "c01", "c02"), ("c03", "c04")]
    got = engine.chain(Train(SGD()), groups, w_KP, np.zeros(2, int), Key(0).at(1))
    assert got.cohort == ("0",)
    assert [f.client for f in got.failed] == ["c01", "c03", "c04"]
    train = engine.take().counts["train"]
    assert (train.down, train.up) == (5, 2)  # five were asked, two answered
    clean = engine.chain(Train(SGD()), [("c00", "c02")], w_KP, np.zeros(1, int), Key(0).at(1))
    assert got["update"].tobytes() == clean["update"].tobytes()


def test_inputs_are_not_changed(engine: Front, layout: Layout, toy: Federation) -> None:
    w_KP = models(layout, 2)
    before = w_KP.copy()
    engine.map(Train(SGD()), toy.ids, w_KP, np.arange(12) % 2, Key(0))
    engine.chain(Train(SGD()), [toy.ids], w_KP, np.zeros(1, int), Key(0))
    assert np.array_equal(w_KP, before)


def test_bulk_work_notices_other_models_and_other_data(engine: Front, layout: Layout, toy: Federation) -> None:
    models_KP, none = models(layout, 2), np.zeros(12, int)
    cases = (
        (toy, np.arange(12) % 2),
        (toy, none),
        (toy.keep(toy.ids[2:]), none[2:]),
        (replace(toy, test=toy.train), none),
    )
    for federation, which_N in cases:
        fresh = Front(Serial(), layout)
        fresh.use(federation)
        want = fresh.ask(Evaluate("test"), federation.ids, models_KP, which_N, Key(0))
        engine.use(federation)
        for _ in range(2):  # laid out anew, then from what was kept
            got = engine.ask(Evaluate("test"), federation.ids, models_KP, which_N, Key(0))
            assert got.cohort == want.cohort
            assert all((got[name] == want[name]).all() for name in want.fields)
