"""Laws that hold for every algorithm of the registry. A new one is covered the moment it is listed."""

from __future__ import annotations

import dataclasses
import json
import logging
from collections.abc import Sequence
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import make_toy, small_net
from tests.support import Misbehaving

import shoal
from shoal.algorithms import ALGORITHMS
from shoal.backends import Backend, Serial, Workers
from shoal.data.federation import Federation, Source
from shoal.engine import Engine
from shoal.errors import BadInput, ShoalError
from shoal.layout import Layout
from shoal.loop.plan import Plan, RoundResult
from shoal.loop.rounds import run_rounds
from shoal.seeds import Key
from shoal.setup.options import build_algorithm, own_keys
from shoal.setup.prepare import wrapped
from shoal.setup.settings import Settings
from shoal.store.codec import read, records_of, write
from shoal.types import Algorithm

ON_WORKERS = ("fedavg", "local", "ifca", "flexcfl")  # the others run the laws of workers in `make test-all`

# Own keys for the toy: as many groups as are planted, little pre-training, splits and cuts within a few rounds.
QUICK_START = {"groups": 2, "pretrain_steps": 6}
OWN: dict[str, dict[str, Any]] = {
    "cfl": {"split_rounds": "2"},
    "fedavg+": {"members": 2},
    "fedfusion": {"operator": "multi"},
    "fedgroup": QUICK_START,
    "fedgrouprox": QUICK_START,
    "fedgsp": {"beta": 3, "alpha": 1, "kappa": 1},
    "fedmmd": {"sees": "features"},
    "fedprox+": {"members": 2},
    "fesem": {"groups": 2},
    "flexcfl": QUICK_START,
    "flhc": {"rounds_before": 1},
    "ifca": {"groups": 2},
    "naivegsp": {"groups": 3, "kappa": 1},
    "naivegsp+icg": {"groups": 3, "kappa": 1},
    "wecfl": {"groups": 2},
}

# Where algorithms differ by nature.
ALIASES = {"hypcluster": "ifca"}  # another name of the same class: the laws are tried once
COLD_START = ("fedgroup", "fedgrouprox", "flexcfl")  # `init` asks clients to pre-train
FIRST_EVERYBODY = ("fesem", "wecfl")  # k-means needs a first solution of everybody, whatever the selection
CUT_EVERYBODY = ("flhc",)  # and the clustering of FL+HC an update of everybody, here in round 2
CHAINS = {"fedgsp": [3, 3, 6, 6], "naivegsp": [3] * 4, "naivegsp+icg": [3] * 4}  # answers of a round, one per group
VOTERS = ("fedavg+", "fedprox+")  # every member asks clients of its own: here two members


def make(name: str, **settings: Any) -> Algorithm:
    common = {"selection": "all", "epochs": 2, "batch": 20, "momentum": 0.5, **settings}
    return build_algorithm(name, OWN.get(name, {}), Settings(**common), 12)


def members(name: str) -> int:
    return 2 if name in VOTERS else 1


def plan_of(name: str, federation: Source, rounds: int = 3, seed: int = 3, **settings: Any) -> Plan:
    algorithm, sample = make(name, **settings), federation.sample()
    return Plan(algorithm, federation, Layout.of(wrapped(algorithm, small_net, sample), sample), rounds, seed)


def played(
    plan: Plan, backend: Backend | None = None, begin: RoundResult | None = None, **front: Any
) -> list[RoundResult]:
    return list(run_rounds(plan, Engine(backend or Serial(), plan.layout, **front), begin))


def bits(plan: Plan, result: RoundResult) -> bytes:
    """Everything that serves clients after a moment."""
    return models_of(plan, result) + groups_of(plan, result, plan.federation.ids)


def models_of(plan: Plan, result: RoundResult) -> bytes:
    return plan.algorithm.serve(result.state).models_KP.tobytes()


def groups_of(plan: Plan, result: RoundResult, ids: Sequence[str]) -> bytes:
    return plan.algorithm.serve(result.state).which(tuple(ids)).tobytes()


def timeless(results: list[RoundResult]) -> list[dict[str, Any]]:
    return [{k: v for k, v in m.row.items() if k != "time"} for m in results]


@pytest.fixture(params=sorted(set(ALGORITHMS) - set(ALIASES)))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_it_is_a_frozen_record_of_keywords(name: str) -> None:
    algorithm = make(name)
    field = dataclasses.fields(algorithm)[0].name  # type: ignore[arg-type]
    with pytest.raises(FrozenInstanceError):
        setattr(algorithm, field, 1)
    with pytest.raises(TypeError):
        ALGORITHMS[name](1)
    assert ALGORITHMS[name].__doc__


def test_what_is_no_algorithm_is_refused_in_a_sentence(toy: Federation) -> None:
    with pytest.raises(BadInput, match=r"derives from shoal.types.Algorithm, not dict"):
        shoal.run({}, toy, small_net)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="abstract"):
        type("Half", (Algorithm,), {})()


def test_an_alias_is_the_same_class() -> None:
    assert all(ALGORITHMS[alias] is ALGORITHMS[name] for alias, name in ALIASES.items())


SERVES = {"single_model": "one", "finds_groups": "group", "own_models": "own", "ensemble": "vote"}


def test_traits_say_what_serves_a_client(name: str, toy: Federation) -> None:
    plan, traits = plan_of(name, toy, rounds=1), ALGORITHMS.traits(name)
    kind = plan.algorithm.serve(played(plan)[-1].state).kind
    assert [SERVES[t] for t in SERVES if traits.get(t)] == (
        [] if name == "given" else [kind]
    )  # given: groups, not found
    assert bool(traits.get("takes_number")) == ("groups" in own_keys(name) and bool(traits.get("finds_groups")))
    assert bool(traits.get("finds_groups")) >= bool(traits.get("finds_number"))


def test_same_seed_same_bits_another_seed_others(name: str, toy: Federation) -> None:
    plan = plan_of(name, toy)
    first, second = played(plan), played(plan)
    assert timeless(first) == timeless(second)
    assert bits(plan, first[-1]) == bits(plan, second[-1])
    other = replace(plan, seed=4)
    assert bits(other, played(other)[-1]) != bits(plan, first[-1])


def test_it_learns(name: str, toy: Federation) -> None:
    # Two planted groups disagree: 1/2 is what one model can reach, groups and local training more.
    rows = [m.row for m in played(replace(plan_of(name, toy, rounds=15, lr=0.1), eval_every=15))]
    assert rows[-1]["loss"] < rows[1]["loss"]
    assert rows[-1]["accuracy"] > (0.4 if rows[-1]["groups"] == 1 else 0.6)


def test_order_of_clients_does_not_matter(name: str) -> None:
    toy = make_toy()
    parts = {c: (*toy.client(c)("train"), *toy.client(c)("test")) for c in toy.ids}
    there, back = (replace(Federation.from_arrays(d), truth=toy.truth) for d in (parts, dict(reversed(parts.items()))))
    ends = [bits(p, played(p)[-1]) for p in (plan_of(name, there), plan_of(name, back))]
    assert ends[0] == ends[1]


def test_state_is_not_changed_in_place(name: str, toy: Federation) -> None:
    plan = plan_of(name, toy, rounds=3)
    results = played(plan)
    kept = bits(plan, results[1])
    engine = Engine(Serial(), plan.layout)
    list(run_rounds(plan, engine, results[1]))
    assert bits(plan, results[1]) == kept


def test_state_survives_a_file(name: str, toy: Federation, tmp_path: Path) -> None:
    plan = plan_of(name, toy, rounds=3)
    last = played(plan)[-1]
    write(tmp_path / "state", last.state)
    again = read(tmp_path / "state", records_of(plan.algorithm.state))
    assert type(again) is type(last.state)
    assert bits(plan, replace(last, state=again)) == bits(plan, last)


def test_resume_gives_the_bits_of_an_undisturbed_run(
    name: str, toy: Federation, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings: dict[str, Any] = {
        "selection": "random",
        "clients_per_round": 5,
        "momentum": 0.9,
        "momentum_memory": "kept",
        "lr": 0.01,
        **OWN.get(name, {}),
    }

    def run(folder: Path, rounds: int) -> shoal.Run:
        return shoal.run(name, toy, small_net, rounds=rounds, seed=1, engine=Serial(), out=folder, **settings)

    whole = run(tmp_path / "whole", 5)
    run(tmp_path / "part", 3)
    caplog.clear()  # before a run something may be said about its selection
    with caplog.at_level(logging.WARNING, "shoal"):
        part = shoal.resume(tmp_path / "part", federation=toy, model=small_net, engine=Serial(), rounds=5)
    assert not caplog.records  # a checkpoint that cannot be read would make it begin again, and hide here
    assert part.serving.models_KP.tobytes() == whole.serving.models_KP.tobytes()
    rows = [[{**r, "time": 0} for r in run.history] for run in (whole, part)]
    assert rows[0] == rows[1]
    texts = [(tmp_path / part / "records.jsonl").read_text() for part in ("whole", "part")]
    lines = [[{**json.loads(line), "time": 0} for line in text.splitlines()] for text in texts]
    assert lines[0] == lines[1]


def workers_law(name: str, pool: Workers, federation: Federation) -> None:
    plan = plan_of(name, federation, rounds=3)
    serial, local = played(plan), played(plan, pool)
    assert timeless(serial) == timeless(local)
    assert bits(plan, serial[-1]) == bits(plan, local[-1])


@pytest.mark.parametrize("some", ON_WORKERS)
def test_workers_give_the_same_bits(some: str, toy: Federation, pool: Workers) -> None:
    workers_law(some, pool, toy)


@pytest.mark.slow
def test_every_number_of_workers_gives_the_same_bits(name: str, toy: Federation, pool: Workers) -> None:
    workers_law(name, pool, toy)
    single = Workers(1)
    try:
        workers_law(name, single, toy)
    finally:
        single.close()


def test_clients_that_fail_count_as_absent(name: str, toy: Federation) -> None:
    if name == "central":
        pytest.skip("central asks nobody but the union of all data")
    bad = {"c01": "nan", "c04": "boast", "c07": "raises"}
    plan = plan_of(name, toy, rounds=3)
    got = played(plan, Misbehaving(Serial(), bad))
    alone = plan_of(name, toy.keep([c for c in toy.ids if c not in bad]), rounds=3)
    end = played(alone)[-1]
    if name != "naivegsp":  # its groups are dealt to all, before anybody fails
        assert models_of(plan, got[-1]) == models_of(alone, end)
    assert groups_of(plan, got[-1], alone.federation.ids) == groups_of(alone, end, alone.federation.ids)
    assert not any(m.row.get("skipped") for m in got)
    assert [m.row["left_out"] for m in got[1:]] == [3 * members(name)] * 3
    assert got[0].row["left_out"] == (3 if name in COLD_START else 0)


def test_a_round_with_too_few_answers_changes_nothing_and_says_so(name: str, toy: Federation) -> None:
    plan = plan_of(name, toy, rounds=3)
    everybody = dict.fromkeys((*toy.ids, "*"), "nan")
    when = "the run cannot begin" if name in COLD_START else "no client could do the first round"
    with pytest.raises(ShoalError, match=when):
        played(plan, Misbehaving(Serial(), everybody))
    first = played(replace(plan, rounds=1))[-1]
    later = played(plan, Misbehaving(Serial(), everybody), begin=first)
    assert all(m.row["skipped"] for m in later)
    assert bits(plan, later[-1]) == bits(plan, first)
    assert [e["kind"] for e in later[-1].events if e["kind"] == "round skipped"] == ["round skipped"]


def test_partial_participation_and_every_selection(name: str, toy: Federation) -> None:
    for selection in ("random", "round-robin-then-random", "all"):
        plan = plan_of(name, toy, rounds=3, selection=selection, clients_per_round=4)
        expected = CHAINS.get(name, [members(name) * (12 if selection == "all" else 4)] * 4)[:3]
        if name in (*FIRST_EVERYBODY, *CUT_EVERYBODY):
            expected[0 if name in FIRST_EVERYBODY else 1] = 12
        results = played(replace(plan, eval_every=3))
        assert [m.row["trained"] for m in results[1:]] == ([1, 1, 1] if name == "central" else expected)


def test_a_newcomer_gets_a_model(name: str, toy: Federation) -> None:
    run = shoal.run(name, toy, small_net, rounds=2, engine=Serial(), lr=0.05, **OWN.get(name, {}))
    x, y = make_toy(seed=9).client("c03")("train")
    if name == "given":  # groups that are given cannot be guessed from samples
        with pytest.raises(ShoalError, match="has no tag 'truth'"):
            run.assign(x, y)
        return
    got = run.assign(x, y)
    assert got.group >= 0
    assert got.model(shoal_tensor(x)).shape == (len(y), 3)


def test_serving_fits_the_layout(name: str, toy: Federation) -> None:
    plan = plan_of(name, toy, rounds=1)
    for result in played(plan):
        serving = plan.algorithm.serve(result.state)
        assert serving.models_KP.shape[1] == plan.layout.size
        assert serving.which(toy.ids).max(initial=-1) < max(len(serving.models_KP), 1)


def test_init_draws_the_same_start_for_all(name: str, toy: Federation) -> None:
    plan = plan_of(name, toy, rounds=0)
    state = played(plan)[0].state
    expected = plan.layout.init(Key(3).at(0)("init"))
    start = getattr(state, "w0_P", None)
    assert np.array_equal(plan.algorithm.serve(state).models_KP[0] if start is None else start, expected)


def shoal_tensor(x: Any) -> Any:
    import torch

    return torch.from_numpy(np.asarray(x, np.float32))
