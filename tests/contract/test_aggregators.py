"""Laws of every aggregator and transform of the registries. A new one is covered the moment it is declared."""

from __future__ import annotations

import dataclasses
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import small_net
from tests.contract.test_algorithms import CHAINS, OWN

import shoal
from shoal.aggregators import AGGREGATORS, TRANSFORMS, Aggregator, parse_aggregator, per_group
from shoal.algorithms import ALGORITHMS
from shoal.backends import Serial
from shoal.data.federation import Federation
from shoal.layout import Layout
from shoal.seeds import Key
from shoal.types import Answers, Array

ARGUMENTS = {
    "server-optimiser": "server-optimiser:adam:0.1",
    "clip": "clip:0.05",
    "gaussian-noise": "gaussian-noise:0.1",
}
ARGUMENTS |= {"random-mask": "random-mask:0.5"}  # what must be given
NO_MEAN = ("server-optimiser",)  # does not go where all clients agree to go

LAYOUT = Layout.of(small_net, np.zeros((1, 6), np.float32))
CLIENTS = tuple(f"c{i}" for i in range(6))
KEY = Key(5).at(2)("aggregate")

WORDS = [ARGUMENTS.get(name, name) for name in AGGREGATORS] + [
    f"{ARGUMENTS.get(name, name)}+weighted-mean" for name in TRANSFORMS
]


@pytest.fixture(params=WORDS)
def rule(request: pytest.FixtureRequest) -> Aggregator:
    return parse_aggregator(request.param)


def models(k: int) -> Array:
    return np.random.default_rng(0).normal(size=(k, LAYOUT.size)).astype(np.float32)


def answers(which: Any = 0, rows_NP: Array | None = None) -> Answers:
    rng = np.random.default_rng(1)
    rows_NP = rng.normal(size=(len(CLIENTS), LAYOUT.size)).astype(np.float32) if rows_NP is None else rows_NP
    rows_NP[:, LAYOUT.counters] = np.arange(len(rows_NP))[:, None]
    which_N = np.broadcast_to(which, len(rows_NP)).astype(int)
    return Answers(CLIENTS[: len(rows_NP)], which_N, {"update": rows_NP, "count": np.arange(1, len(rows_NP) + 1)})


def some(got: Answers, pick: list[int]) -> Answers:
    fields = {name: rows[pick] for name, rows in got.fields.items()}
    return Answers(tuple(got.cohort[i] for i in pick), got.which_N[pick], fields)


def test_what_goes_in_is_not_changed_and_the_same_comes_out_again(rule: Aggregator) -> None:
    lift, models_KP, got = per_group(rule, LAYOUT), models(2), answers([0, 1] * 3)
    s = lift.init(models_KP)
    before = [models_KP.tobytes(), got["update"].tobytes(), {n: v.tobytes() for n, v in s.items()}]
    new_KP, new_s = lift.apply(models_KP, got, s, KEY)
    again_KP, again_s = lift.apply(models_KP, got, s, KEY)
    assert before == [models_KP.tobytes(), got["update"].tobytes(), {n: v.tobytes() for n, v in s.items()}]
    assert new_KP.tobytes() == again_KP.tobytes()
    assert {n: v.tobytes() for n, v in new_s.items()} == {n: v.tobytes() for n, v in again_s.items()}
    assert (new_KP.shape, new_KP.dtype) == (models_KP.shape, models_KP.dtype)
    assert {n: (v.shape, v.dtype) for n, v in new_s.items()} == {n: (v.shape, v.dtype) for n, v in s.items()}
    assert np.isfinite(new_KP).all()


def test_without_answers_nothing_changes(rule: Aggregator) -> None:
    lift, models_KP = per_group(rule, LAYOUT), models(3)
    s = lift.init(models_KP)
    new_KP, new_s = lift.apply(models_KP, answers(1), s, KEY)
    assert new_KP[[0, 2]].tobytes() == models_KP[[0, 2]].tobytes()
    assert new_KP[1].tobytes() != models_KP[1].tobytes()
    assert all(new_s[n][[0, 2]].tobytes() == s[n][[0, 2]].tobytes() for n in s)
    none_KP, _ = lift.apply(models_KP, some(answers(0), []), s, KEY)
    assert none_KP.tobytes() == models_KP.tobytes()


def test_groups_do_not_see_each_other(rule: Aggregator) -> None:
    lift, models_KP, got = per_group(rule, LAYOUT), models(2), answers([0, 0, 1, 1, 1, 0])
    both_KP, _ = lift.apply(models_KP, got, lift.init(models_KP), KEY)
    for k, pick in enumerate(([0, 1, 5], [2, 3, 4])):
        alone_KP, _ = lift.apply(models_KP, some(got, pick), lift.init(models_KP), KEY)
        assert alone_KP[k].tobytes() == both_KP[k].tobytes()


def test_the_order_of_clients_is_rounding_at_most(rule: Aggregator) -> None:
    lift, models_KP, got = per_group(rule, LAYOUT), models(1), answers()
    there, _ = lift.apply(models_KP, got, lift.init(models_KP), KEY)
    back, _ = lift.apply(models_KP, some(got, [5, 3, 4, 0, 2, 1]), lift.init(models_KP), KEY)
    np.testing.assert_allclose(there, back, rtol=1e-5, atol=1e-6)


def test_where_all_agree_the_model_goes_there(rule: Aggregator, request: pytest.FixtureRequest) -> None:
    word = request.node.callspec.params["rule"].partition(":")[0]
    if word in NO_MEAN or word in TRANSFORMS:
        pytest.skip("by nature not the mean of what clients say")
    models_KP, rows_NP = models(1), np.tile(models(2)[1], (4, 1))
    new_KP, _ = per_group(rule, LAYOUT).apply(models_KP, answers(0, rows_NP), {}, KEY)
    np.testing.assert_allclose(
        new_KP[0, : LAYOUT.counters.start], (models_KP[0] + rows_NP[0])[: LAYOUT.counters.start], rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(new_KP[0, LAYOUT.counters], models_KP[0, LAYOUT.counters] + 3, rtol=1e-6)


def test_it_is_a_record(rule: Aggregator) -> None:
    assert pickle.loads(pickle.dumps(rule)) == rule
    assert hash(rule) == hash(pickle.loads(pickle.dumps(rule)))


@pytest.mark.parametrize("word", WORDS)
def test_it_runs_by_name_and_resumes_to_the_same_bits(word: str, toy: Federation, tmp_path: Path) -> None:
    def run(folder: Path, rounds: int) -> shoal.Run:
        pairs: dict[str, Any] = {"aggregate": word, "lr": 0.05, "clients_per_round": 5, "seed": 2}
        return shoal.run("fedavg", toy, small_net, rounds=rounds, engine=Serial(), out=folder, **pairs)

    whole = run(tmp_path / "whole", 4)
    run(tmp_path / "part", 2)
    part = shoal.resume(tmp_path / "part", federation=toy, model=small_net, engine=Serial(), rounds=4)
    assert part.serving.models_KP.tobytes() == whole.serving.models_KP.tobytes()
    assert f'aggregate = "{word}"' in (tmp_path / "whole" / "config.toml").read_text()
    plain = shoal.run("fedavg", toy, small_net, rounds=4, engine=Serial(), lr=0.05, clients_per_round=5, seed=2)
    assert (plain.serving.models_KP.tobytes() == whole.serving.models_KP.tobytes()) == (word == "weighted-mean")


TAKERS = [name for name, cls in ALGORITHMS.items() if any(f.name == "aggregate" for f in dataclasses.fields(cls))]


@pytest.mark.parametrize("name", TAKERS)
def test_every_algorithm_with_a_place_for_it_takes_any(name: str, toy: Federation) -> None:
    def models(**more: Any) -> bytes:
        pairs: dict[str, Any] = {"lr": 0.05, "selection": "all", "seed": 2, **OWN.get(name, {}), **more}
        if name in CHAINS:
            pairs.pop("selection")
        return shoal.run(name, toy, small_net, rounds=3, engine=Serial(), **pairs).serving.models_KP.tobytes()

    plain, robust = models(), models(aggregate="clip:0.05+trimmed-mean:0.2")
    assert plain != robust
    assert robust == models(aggregate="clip:0.05+trimmed-mean:0.2")
