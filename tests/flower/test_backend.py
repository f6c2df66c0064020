"""Algorithms through Flower's messages end on the bits of simulation; whatever a site does wrong is left out."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import make_toy, small_net

pytest.importorskip("flwr", reason="flwr is not installed: pip install 'shoal[flower]'")

from flwr.app import Array as FlowerArray
from flwr.app import ArrayRecord, ConfigRecord, Error, Message, RecordDict
from tests.flower.grid import OPEN, federation_of, records
from tests.support import Telling

import shoal
from shoal.backends import Backend, Serial
from shoal.data.drift import parse_drift
from shoal.data.federation import Federation, Source
from shoal.engine import Engine
from shoal.errors import ShoalError
from shoal.flower.backend import Flower
from shoal.flower.federation import LivingSites
from shoal.flower.messages import TREE, to_content
from shoal.flower.nodes import Nodes
from shoal.flower.policy import Allowed, Policy, default_policy
from shoal.flower.records import LOST, Answered, Asked, Hello, Site, pack
from shoal.layout import Layout
from shoal.loop.plan import RoundResult
from shoal.seeds import Key
from shoal.tasks import LabelHistogram

SIX: dict[str, dict[str, Any]] = {
    "fedavg": {"momentum": 0.9, "momentum_memory": "kept"},
    "flexcfl": {"groups": 2, "pretrain_steps": 6, "migration": "aligned", "drift": "swap-all:0.3"},
    "cfl": {"split_rounds": "2"},
    "ifca": {"groups": 2},
    "wecfl": {"groups": 2, "optimiser": "adam", "optimiser_memory": "kept", "clip": 1.0},
    "fedgsp": {"beta": 3, "alpha": 1, "kappa": 1},
}


def drifting(federation: Federation, drift: str | None, seed: int) -> Callable[[int], Source]:
    """The data of every round, as a simulation with this seed has them."""
    scenarios, key = parse_drift(drift or "none"), Key(seed)("drift")
    states = [scenarios.begin(federation)]

    def load(round: int) -> Source:
        while len(states) <= round + 1:
            t = len(states) - 1
            states.append(scenarios(t, states[-1], None, key.at(t))[0])
        return states[round + 1].visible

    return load


def over_flower(nodes: Nodes, name: str, run: str = "a run", **keys: Any) -> shoal.Run:
    return shoal.run(name, LivingSites(nodes), small_net, engine=Flower(nodes, run), **keys)


@pytest.mark.parametrize("name", SIX)
def test_six_algorithms_end_on_the_bits_of_simulation(toy: Federation, tmp_path: Path, name: str) -> None:
    keys: dict[str, Any] = {"rounds": 3, "seed": 2, "kernel": "torch", **SIX[name]}
    drift = keys.pop("drift", None)
    one = shoal.run(name, toy, small_net, engine=Serial(), **keys, **({"drift": drift} if drift else {}))
    grid, nodes = federation_of(tmp_path, drifting(toy, drift, 2), model=small_net)
    two = over_flower(nodes, name, **keys)
    assert one.serving.models_KP.tobytes() == two.serving.models_KP.tobytes()
    assert dict(one.groups) == dict(two.groups)
    assert one.summary["vectors"] == two.summary["vectors"]
    for a, b in zip(one.history, two.history, strict=True):
        assert a.get("clients") == b.get("clients")
        assert a["left_out"] == b["left_out"] == 0
    assert len(grid.down) == len(grid.up)


@pytest.mark.parametrize("newcomers", ["nearest", "random"])
def test_who_joins_late_has_the_data_of_its_round(toy: Federation, tmp_path: Path, newcomers: str) -> None:
    # The randomness of a newcomer's cold start is that of round 0, whenever it comes; its data are those of its round.
    own = {"groups": 2, "alpha": 2, "pretrain_steps": 6, "migration": "aligned", "newcomers": newcomers}
    keys: dict[str, Any] = {"rounds": 5, "seed": 2, "kernel": "torch", "clients_per_round": 3, **own}
    one = shoal.run("fedgroup", toy, small_net, engine=Serial(), drift="swap-all:0.9", **keys)
    grid, nodes = federation_of(tmp_path, drifting(toy, "swap-all:0.9", 2), model=small_net)
    two = over_flower(nodes, "fedgroup", **keys)
    assert dict(one.groups) == dict(two.groups)
    assert one.serving.models_KP.tobytes() == two.serving.models_KP.tobytes()
    calls = [asked for asked in records(grid.down) if isinstance(asked, Asked)]
    tasks = {asked.stamp: {type(unit.task).__name__ for unit in asked.units} for asked in calls}
    assert all(tasks[asked.stamp] == {type(unit.task).__name__ for unit in asked.units} for asked in calls)
    rounds = [asked.round for asked in calls]
    assert rounds == sorted(rounds) and set(rounds) == set(range(6))


def test_newcomers_and_leavers_are_seen_at_any_round(toy: Federation, tmp_path: Path) -> None:
    grid, nodes = federation_of(tmp_path, lambda round: toy, model=small_net)
    away, gone = grid.nodes.pop(102), grid.nodes[101]

    class Traffic(shoal.Observer):
        def after_round(self, result: RoundResult) -> None:
            if result.round == 1:
                grid.nodes[202] = away  # under another number: it had no key
            if result.round == 2:
                del grid.nodes[gone.id]

    nodes.refresh()
    run = over_flower(nodes, "ifca", groups=2, rounds=4, seed=2, selection="all", observers=[Traffic()])
    sizes = [len(row["clients"]["ids"]) for row in run.history if "clients" in row]
    assert sizes == [8, 12, 8, 8]
    assert set(run.history[-1]["clients"]["ids"]) == set(toy.ids[0::3] + toy.ids[2::3])


def test_events_tell_who_came_and_went(toy: Federation, tmp_path: Path) -> None:
    grid, nodes = federation_of(tmp_path, lambda round: toy, model=small_net)
    away = grid.nodes.pop(101)
    assert nodes.refresh() == ({"kind": "left", "clients": list(toy.ids[1::3])},)
    grid.nodes[7] = away
    assert nodes.refresh() == ({"kind": "joined", "clients": list(toy.ids[1::3])},)
    grid.nodes[8] = grid.nodes[100]
    assert "is at another site already" in nodes.refresh()[0]["reason"]
    assert nodes.hosts[toy.ids[0]] == 100


SPOILS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "nan": (lambda a: {**a, "update": a["update"] * np.float32("nan")}, "update is not finite"),
    "shape": (lambda a: {**a, "update": a["update"][:1]}, "update has shape (1,)"),
    "weight": (lambda a: {**a, "count": 10**8}, "more than 10 times the announced size"),
    "field": (lambda a: {**a, "labels": np.arange(3)}, "has the fields"),
}


@pytest.mark.parametrize("kind", SPOILS)
def test_what_a_site_sends_wrongly_is_left_out_by_the_server(toy: Federation, tmp_path: Path, kind: str) -> None:
    """A site that does not run our code: its answers are spoilt on the way."""
    grid, nodes = federation_of(tmp_path, lambda round: toy, model=small_net)
    spoil, reason = SPOILS[kind]

    def spoilt(reply: Any) -> Any:
        (said,) = records([reply.content])
        if reply.metadata.src_node_id == 101 and isinstance(said, Answered):
            answers = [o.answer if "update" not in (o.answer or {}) else spoil(o.answer) for o in said.outcomes]
            new = tuple(replace(o, answer=a) for o, a in zip(said.outcomes, answers, strict=True))
            reply.content = to_content(pack(replace(said, outcomes=new)))
        return reply

    grid.spoil = spoilt
    seen = Events()
    run = over_flower(nodes, "fedavg", rounds=1, seed=2, selection="all", observers=[seen])
    left_out = [e for e in seen.events if e["kind"] == "left out"]
    assert {e["client"] for e in left_out} == set(toy.ids[1::3])
    assert all(reason in e["reason"] for e in left_out)
    assert np.isfinite(run.serving.models_KP).all()


def test_a_group_that_does_not_exist_is_left_out(toy: Federation, tmp_path: Path) -> None:
    grid, nodes = federation_of(tmp_path, lambda round: toy, model=small_net)

    def spoilt(reply: Any) -> Any:
        (said,) = records([reply.content])
        if reply.metadata.src_node_id == 101 and isinstance(said, Answered):
            answers = [dict(o.answer or {}) for o in said.outcomes]
            for answer in answers:
                answer |= {"choice": 10**6} if "choice" in answer else {}
            new = tuple(replace(o, answer=a) for o, a in zip(said.outcomes, answers, strict=True))
            reply.content = to_content(pack(replace(said, outcomes=new)))
        return reply

    grid.spoil, seen = spoilt, Events()
    run = over_flower(nodes, "flexcfl", rounds=2, seed=2, selection="all", groups=2, alpha=2, observers=[seen])
    left_out = [e for e in seen.events if e["kind"] == "left out"]
    assert left_out and all(e["reason"] == "choice is above 1" for e in left_out)
    assert {e["client"] for e in left_out} <= set(toy.ids[1::3]) and run.summary["rounds"] == 2


CRAFTED: dict[str, Callable[[], Any]] = {
    "deep": lambda: RecordDict({TREE: ConfigRecord({TREE: "[" * 100_000})}),
    "empty array": lambda: crafted(b""),
    "zip": lambda: crafted(b"PK\x03\x04 is no zip"),
    "huge": lambda: crafted(
        b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000000,), }"
    ),
}


def crafted(data: bytes) -> Any:
    array = FlowerArray(dtype="float64", shape=(1,), stype="numpy.ndarray", data=data)
    return RecordDict({TREE: ConfigRecord({TREE: '{"array": "a0"}'}), "a0": ArrayRecord({"array": array})})


@pytest.mark.parametrize("kind", CRAFTED)
def test_a_message_made_to_do_harm_ends_nothing_but_itself(toy: Federation, tmp_path: Path, kind: str) -> None:
    grid, nodes = federation_of(tmp_path, lambda round: toy, model=small_net)

    def spoilt(reply: Any) -> Any:
        if reply.metadata.src_node_id == 101:
            reply.content = CRAFTED[kind]()
        return reply

    grid.spoil, seen = spoilt, Events()
    over_flower(nodes, "fedavg", rounds=1, seed=2, selection="all", observers=[seen])
    left_out = [e for e in seen.events if e["kind"] == "left out"]
    assert {e["client"] for e in left_out} == set(toy.ids[1::3])
    assert all("cannot be read" in e["reason"] for e in left_out)


@pytest.mark.parametrize(
    "strange",
    [
        {"sizes": {"zoe": 10**30}},
        {"dtype": np.array(["float32", "x"])},
        {"classes": 10**9},
        {"shape": (10**6, 10**6)},
        {"name": 7},
    ],
)
def test_a_site_that_says_too_much_of_itself_is_not_admitted(
    toy: Federation, tmp_path: Path, strange: dict[str, Any]
) -> None:
    grid, nodes = federation_of(tmp_path, lambda round: toy, model=small_net)

    def spoilt(reply: Any) -> Any:
        (said,) = records([reply.content])
        if isinstance(said, Site):
            reply.content = to_content(pack(replace(said, **strange)))
        return reply

    grid.spoil, grid.nodes[7] = spoilt, grid.nodes.pop(101)
    nodes.refresh()
    assert set(nodes.sites) == {100, 102}


def test_what_a_reader_says_of_data_stays_at_the_site(toy: Federation, tmp_path: Path) -> None:
    grid, nodes = federation_of(tmp_path, lambda round: toy, model=small_net)

    def unreadable(round: int) -> Source:
        raise ShoalError("line 7 holds 'Jane Doe'")

    grid.nodes[101].load, seen = unreadable, Events()
    grid.nodes[101].start()
    over_flower(nodes, "fedavg", rounds=1, seed=2, selection="all", observers=[seen])
    reasons = {e["reason"] for e in seen.events if e["kind"] == "left out"}
    assert reasons == {"the data of the site cannot be read; its log says why"}
    with pytest.raises(ShoalError, match="the data of the site cannot be read; its log says why"):
        grid.nodes[101].site.hello()


class Events(shoal.Observer):
    def __init__(self) -> None:
        self.events: list[Any] = []

    def after_round(self, result: RoundResult) -> None:
        self.events += result.events


STRANGE: Any = ("x", Hello(), Answered((), {}), Answered((Key(0),) * 4, {}))  # type: ignore[arg-type]


@pytest.mark.parametrize("answer", STRANGE)
def test_an_answer_that_makes_no_sense_is_left_out(toy: Federation, tmp_path: Path, answer: Any) -> None:
    grid, nodes = federation_of(tmp_path, lambda round: toy, model=small_net)

    def spoilt(reply: Any) -> Any:
        if reply.metadata.src_node_id == 101:
            reply.content = RecordDict({}) if answer == "x" else to_content(pack(answer))
        return reply

    grid.spoil, seen = spoilt, Events()
    over_flower(nodes, "fedavg", rounds=1, seed=2, selection="all", observers=[seen])
    assert {e["client"] for e in seen.events if e["kind"] == "left out"} == set(toy.ids[1::3])


def test_a_site_sends_nothing_that_its_own_judgement_refuses(tmp_path: Path) -> None:
    """Inputs so large that training gives infinities: the site says so, and the update stays at home."""
    huge = make_toy()
    huge = replace(huge, x=np.where(np.arange(len(huge.y))[:, None] < 5, np.float32(1e38), huge.x).astype(np.float32))
    grid, nodes = federation_of(tmp_path, lambda round: huge, model=small_net)
    seen = Events()
    over_flower(nodes, "fedavg", rounds=1, seed=2, selection="all", kernel="torch", observers=[seen])
    bad = {e["client"] for e in seen.events if e["kind"] == "left out" and "finite" in e["reason"]}
    assert bad == {"c00"}
    answers = [o.answer or {} for said in records(grid.up) if isinstance(said, Answered) for o in said.outcomes]
    assert all(np.isfinite(answer["update"]).all() for answer in answers if "update" in answer)


def test_a_task_that_the_policy_does_not_name_is_refused(toy: Federation, tmp_path: Path) -> None:
    narrow = Policy({k: v for k, v in OPEN.tasks.items() if k != "Choose"})
    _, nodes = federation_of(tmp_path, lambda round: toy, model=small_net, policy=narrow)
    with pytest.raises(ShoalError, match="the site's policy does not allow the task Choose"):
        over_flower(nodes, "ifca", groups=2, rounds=1)


def test_by_default_no_label_counts_leave(toy: Federation, tmp_path: Path) -> None:
    _, nodes = federation_of(tmp_path / "a", lambda round: toy, model=small_net, policy=None)
    with pytest.raises(ShoalError, match="LabelHistogram with epsilon up to 2 only, not None"):
        over_flower(nodes, "fedgsp", beta=3, alpha=1, rounds=1, per_class=False)
    over_flower(nodes, "fedgsp", beta=3, alpha=1, epsilon=1.0, rounds=1, per_class=False)
    seen = Events()
    run = over_flower(nodes, "fedavg", rounds=1, observers=[seen])
    assert "'true' of Evaluate" in next(e["reason"] for e in seen.events if e.get("task") == "evaluate")
    run = over_flower(nodes, "fedavg", rounds=1, per_class=False)
    assert run.history[-1]["accuracy"] > 0 and "f1" not in run.history[-1]


def histograms(backend: Backend, source: Source, epsilon: float) -> Any:
    engine = Engine(backend, Layout.of(small_net, source.sample()))
    engine.set_federation(source)
    return engine.map(LabelHistogram(epsilon=epsilon), source.ids, None, None, Key(0))["histogram"].tolist()


def test_noise_comes_from_a_secret_of_the_device(toy: Federation, tmp_path: Path) -> None:
    told = []
    for folder in ("a", "b"):
        _, nodes = federation_of(tmp_path / folder, lambda round: toy, model=small_net)
        sites = LivingSites(nodes).at_round(0)[0]
        told.append(histograms(Flower(nodes, "r"), sites, 0.1))
        assert histograms(Flower(nodes, "r"), sites, 0.1) == told[-1]  # the same call again, as after a crash
        assert histograms(Flower(nodes, "r"), sites, 0.2) != told[-1]
    told.append(histograms(Serial(), toy, 0.1))
    assert told[0] != told[1] != told[2] != told[0]


def told(backend: Backend, source: Source, task: Telling) -> list[Any]:
    """What two clients tell, and a chain of two."""
    engine = Engine(backend, Layout.of(small_net, source.sample()))
    engine.set_federation(source)
    w_KP = engine.layout.init_many(1, Key(3))
    one = engine.ask(task, source.ids[:2], w_KP, np.zeros(2, int), Key(0))
    if one.failed:
        return [f.reason for f in one.failed]
    two = engine.chain(task, [source.ids[2:4]], w_KP, np.zeros(1, int), Key(0))
    return [got[name].tolist() for got in (one, two) for name in task.fields]


def test_answers_of_declared_shapes_leave_a_site_if_its_policy_names_them(toy: Federation, tmp_path: Path) -> None:
    policy = Policy({**OPEN.tasks, "Telling": Allowed(tuple(Telling.fields), {"inputs": 10})})
    _, nodes = federation_of(tmp_path / "a", lambda round: toy, model=small_net, policy=policy)
    sites = LivingSites(nodes).at_round(0)[0]
    assert told(Flower(nodes, "r"), sites, Telling()) == told(Serial(), toy, Telling())
    wrong = ["sums has shape (6, 2), not (7, 2)"] * 2
    assert told(Flower(nodes, "r"), sites, Telling(inputs=7)) == wrong
    wide = ["the site's policy allows Telling with inputs up to 10 only, not 11"] * 2
    assert told(Flower(nodes, "r"), sites, Telling(inputs=11)) == wide
    _, nodes = federation_of(tmp_path / "b", lambda round: toy, model=small_net)
    refused = ["the site's policy does not allow the task Telling"] * 2
    assert told(Flower(nodes, "r"), LivingSites(nodes).at_round(0)[0], Telling()) == refused


def test_how_often_is_counted_over_runs(toy: Federation, tmp_path: Path) -> None:
    twice = Policy({**OPEN.tasks, "Train": replace(OPEN.tasks["Train"], times=2)})
    grid, nodes = federation_of(tmp_path, lambda round: toy, model=small_net, policy=twice)
    over_flower(nodes, "fedavg", rounds=2, selection="all")
    for node in grid.nodes.values():
        node.start()
    with pytest.raises(ShoalError, match="allows Train 2 times only"):
        over_flower(nodes, "fedavg", run="another", rounds=1, selection="all")


def test_a_client_that_lost_its_memory_says_so_and_goes_on(toy: Federation, tmp_path: Path) -> None:
    _, nodes = federation_of(tmp_path, lambda round: toy, model=small_net)

    class Lose(Events):
        def after_round(self, result: RoundResult) -> None:
            super().after_round(result)
            if result.round == 1:
                shutil.rmtree(tmp_path / "site0" / "runs")

    seen = Lose()
    over_flower(
        nodes, "fedavg", rounds=2, seed=2, selection="all", momentum=0.9, momentum_memory="kept", observers=[seen]
    )
    lost = [(e["round"], e["client"]) for e in seen.events if e["kind"] == LOST]
    assert lost == [(2, c) for c in toy.ids[0::3]]
    assert not [e for e in seen.events if e["kind"] == "left out"]


def test_sites_forget_versions_that_nobody_needs(toy: Federation, tmp_path: Path) -> None:
    _, nodes = federation_of(tmp_path, lambda round: toy, model=small_net)
    keys: dict[str, Any] = {"momentum": 0.9, "momentum_memory": "kept", "selection": "all", "eval_every": 9}
    over_flower(nodes, "fedavg", rounds=6, **keys)
    held = [len(list(client.iterdir())) for client in (tmp_path / "site0" / "runs").glob("*/*")]
    assert held == [1, 1, 1, 1]  # the one that counts


def test_a_late_site_is_left_out_and_back_in_the_next_round(toy: Federation, tmp_path: Path) -> None:
    grid, nodes = federation_of(tmp_path, lambda round: toy, model=small_net)
    times = iter(range(0, 10**6, 20))
    vars(nodes)["_clock"] = lambda: next(times)

    class Slow(Events):
        def after_round(self, result: RoundResult) -> None:
            super().after_round(result)
            grid.silent = {101} if result.round == 0 else set()

    seen = Slow()
    run = over_flower(nodes, "fedavg", rounds=2, seed=2, selection="all", observers=[seen])
    late = {(e["round"], e["client"]) for e in seen.events if "late: no answer within 30 s" in e.get("reason", "")}
    assert late == {(1, c) for c in toy.ids[1::3]}
    assert [len(row["clients"]["ids"]) for row in run.history if "clients" in row] == [8, 12]


@pytest.mark.parametrize(("seconds", "reason"), [(31.0, "late: no answer within 30 s"), (5.0, "failed: gone (code 3)")])
def test_a_message_that_the_superlink_forgot_is_late_if_its_time_was_over(
    seconds: float, reason: str, toy: Federation, tmp_path: Path
) -> None:
    """As Flower does: when the time of a message is over, it answers by itself that there is no such message."""
    grid, nodes = federation_of(tmp_path, lambda t: toy)
    now = [0.0]

    def forget(message: Any) -> Any:
        now[0] += seconds
        return Message(Error(3, "gone"), reply_to=message)

    vars(nodes)["_clock"] = lambda: now[0]
    grid.nodes[101] = forget  # type: ignore[assignment]
    assert list(nodes.exchange({101: to_content(pack(Hello()))}, "1-0")) == [(101, reason)]


def test_the_fields_that_left_are_those_the_tasks_declare(toy: Federation, tmp_path: Path) -> None:
    """Every message is looked at: nothing but the answers of the tasks asked for, sizes, and what hello says."""
    grid, nodes = federation_of(tmp_path, lambda round: toy, model=small_net, policy=None)
    over_flower(nodes, "flexcfl", rounds=2, seed=2, groups=2, pretrain_steps=6, migration="aligned", per_class=False)
    down, up = records(grid.down), records(grid.up)
    assert [type(d).__name__ for d in down[:3]] == ["Hello"] * 3
    fields: dict[str, set[str]] = {}
    for asked, said in zip(down, up, strict=True):
        if not isinstance(asked, Asked):
            assert isinstance(said, Site)
            continue
        assert isinstance(said, Answered)
        assert set(said.sizes) <= set(toy.ids)
        for unit, outcome in zip(asked.units, said.outcomes, strict=True):
            assert outcome.answer is not None and set(outcome.answer) == set(unit.task.fields)
            assert not any(f.guarded for f in unit.task.fields.values())
            assert outcome.memories in ({}, {unit.client: {"at": asked.stamp}})
            fields.setdefault(type(unit.task).__name__, set()).update(outcome.answer)
    assert set(fields) == {"DetectShift", "Evaluate", "StoreDirections", "Train"}
    assert fields.pop("Evaluate") == {"right", "total", "loss"} <= documented()["Evaluate"]
    assert fields == {name: documented()[name] for name in fields}
    for content in grid.up:  # no other record is in the message
        assert set(content) == {"tree", *(f"a{i}" for i in range(len(content) - 1))}


def documented() -> dict[str, set[str]]:
    """What docs/deploy.md says that leaves a site by default, by task."""
    page = (Path(__file__).parents[2] / "docs" / "deploy.md").read_text()
    table = page.partition("| task | leaves by default |")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:3]] for line in table.splitlines()[2:]]
    return {
        name: {word.strip() for word in cell.partition(", with noise")[0].split(",") if word} for name, cell in rows
    }


def test_the_page_names_what_leaves_by_default() -> None:
    declared = {name: set(allowed.leaves) for name, allowed in default_policy().tasks.items()}
    assert documented() == {**declared, "Gradient": set()}


def test_models_are_sent_as_shared_records_and_only_where_needed(toy: Federation, tmp_path: Path) -> None:
    grid, nodes = federation_of(tmp_path, lambda round: toy, model=small_net)
    over_flower(nodes, "fedavg", rounds=1, seed=2, selection="all", eval_every=9)
    trained = [c for c, r in zip(grid.down, records(grid.down), strict=True) if isinstance(r, Asked)][:3]
    assert len({id(content["a0"]) for content in trained}) == 1
    assert [len(content.array_records) for content in trained] == [1, 1, 1]
