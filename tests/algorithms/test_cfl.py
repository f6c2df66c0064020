"""CFL's splits against numbers worked out by hand, and with partial participation how old an update may be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.algorithms.tiny import START, clients_of, close, engine_of

import shoal
from shoal.algorithms.parts.split_tree import Node
from shoal.seeds import Key
from shoal.selection import All
from shoal.solvers import SGD
from shoal.types import Cohort, Roster

# From w = (1, 1) with lr 0.8 updates are 0.4 x (1, -1) for class 0 and 0.4 x (-1, 1) for class 1:
# ann 0.4, bob 1.2, cyd -0.8, dan -0.4 times (1, -1). Their mean by samples is (0.4 + 3.6 - 0.8 - 2.0) / 10 = 0.12.
FOUR = {"ann": (1.0, 0, 1), "bob": (3.0, 0, 3), "cyd": (2.0, 1, 1), "dan": (1.0, 1, 5)}
AWAY = np.array([1.0, -1.0])
MEAN, MAX = 0.12 * np.sqrt(2), 1.2 * np.sqrt(2)  # the norms


def rounds(count: int, federation: Any = None, **own: Any) -> tuple[Any, list[Any], list[Any]]:
    """The engine, and the states and records of so many rounds."""
    engine = engine_of(federation or clients_of(FOUR))
    method = shoal.CFL(**{"select": All(), "solver": SGD(lr=0.8, batch=10), **own})
    state, record = method.init(engine, Key(0).at(0))
    states, records = [state], [record]
    for t in range(1, count + 1):
        state, record = method.step(states[-1], engine, Key(0).at(t))
        states.append(state)
        records.append(record)
    return engine, states, records


def test_a_cluster_is_split_below_eps1_and_from_eps2_on() -> None:
    for eps1, eps2, split in [
        (MEAN * 1.01, MAX * 0.99, True),
        (MEAN * 0.99, MAX * 0.99, False),  # not stationary
        (MEAN * 1.01, MAX * 1.01, False),  # congruent
    ]:
        _, states, records = rounds(1, eps1=eps1, eps2=eps2)
        assert len(states[1].theta_KP) == (2 if split else 1)
        seen = records[1].measures["clusters"]["0"]
        assert seen["clients"] == 4
        close(np.array([seen["mean_norm"], seen["max_norm"]]), [MEAN, MAX])


def test_one_client_is_asked_at_once_whether_there_is_validation_data() -> None:
    engine, _, _ = rounds(
        0, clients_of({c: (x, y, 4) for c, (x, y, _) in FOUR.items()}).with_validation(0.5, Key(1)), path_choice=True
    )
    asked = engine.drain()
    assert (asked.counts, asked.diagnostics["losses"].down) == ({}, 1)


def test_both_sides_average_the_updates_of_the_round_from_the_model_of_their_parent() -> None:
    # {ann, bob}: (1 * 0.4 + 3 * 1.2) / 4 = 1.0; {cyd, dan}: -(1 * 0.8 + 5 * 0.4) / 6 = -0.46667; plain means 0.8, -0.6.
    _, states, records = rounds(1, eps1=9.0, eps2=0.0)
    state = states[1]
    assert dict(zip(state.group.ids, state.group.rows.tolist(), strict=True)) == {
        "ann": 0,
        "bob": 0,
        "cyd": 1,
        "dan": 1,
    }
    close(state.theta_KP, [START + 1.0 * AWAY, START - 2.8 / 6 * AWAY])
    close(state.cached_SP, [START])  # the model that was split, for newcomers
    close(state.means_SP, [0.8 * AWAY, -0.6 * AWAY])
    assert state.tree == (Node(0, (1, 2), 0),)
    (event,) = records[1].events
    assert (event["kind"], event["group"], event["into"]) == ("split", 0, [0, 1])
    assert event["clients"] == [["ann", "bob"], ["cyd", "dan"]]
    assert event["cross"] == pytest.approx(-1.0)  # the two sides point in opposite directions


def test_at_a_fixed_round_the_cleanest_cut_is_made_and_no_other() -> None:
    # Round 1 divides the classes. In round 2 both clusters have two members, all alike: the cleaner cut is the one
    # with the smaller cosine across, and one cluster stays whole.
    _, states, records = rounds(3, split_rounds="1+2")
    assert [len(s.theta_KP) for s in states] == [1, 2, 3, 3]
    assert [len(r.events) for r in records] == [0, 1, 1, 0]


def test_a_newcomer_walks_to_the_side_it_is_like() -> None:
    method = shoal.CFL(solver=SGD(lr=0.8, batch=10))
    _, states, _ = rounds(1, eps1=9.0, eps2=0.0)
    there = engine_of(clients_of({"eve": (5.0, 1, 2), "fay": (0.5, 0, 2)}))
    got = method.assign(states[1], ("eve", "fay"), there, Key(0).at(1))
    assert (got.cohort, got.which_N.tolist()) == (("eve", "fay"), [1, 0])


def all_then_ann(clients: Roster, key: Key) -> Cohort:
    return clients.ids if key.round == 1 else ("ann",)


@pytest.mark.parametrize("max_age", [0, 1, 3])
def test_a_cluster_waits_when_an_update_is_older_than_max_age(max_age: int) -> None:
    # Bob trains in round 1 only. In round t his update is t - 1 rounds old: up to t = 1 + max_age that is young enough.
    engine = engine_of(clients_of({"ann": (1.0, 0, 2), "bob": (1.0, 1, 2)}))
    method = shoal.CFL(eps1=0.0, max_age=max_age, select=all_then_ann, solver=SGD(lr=0.1))
    state, _ = method.init(engine, Key(0).at(0))
    waits = {}
    for t in range(1, max_age + 4):
        state, record = method.step(state, engine, Key(0).at(t))
        waits[t] = [event["group"] for event in record.events if event["kind"] == "cluster waits"] == [0]
        assert ("0" in record.measures["clusters"]) != waits[t]
    assert waits == {t: t > 1 + max_age for t in waits}


def test_with_defaults_groups_are_found_and_clients_that_agree_stay_together() -> None:
    planted = shoal.run("cfl", "digits", rounds=15, lr=0.1, engine="serial", eval_every=15)
    assert planted.history[-1]["ari"] == 1.0
    alike = shoal.run("cfl", "digits", partition="iid", rounds=15, lr=0.1, engine="serial", eval_every=15)
    assert alike.history[-1]["groups"] == 1
    assert alike.history[15]["measures"]["clusters"]["0"]["verdict"] in ("moving", "refused")


def test_a_final_cluster_trains_on_and_is_not_split_again() -> None:
    # Round 1: stationary and every update below eps2, so final. In round 2 the thresholds would ask for a split.
    engine = engine_of(clients_of(FOUR))
    calm = shoal.CFL(eps1=9.0, eps2=9.0, select=All(), solver=SGD(lr=0.8, batch=10))
    state, _ = calm.init(engine, Key(0).at(0))
    state, record = calm.step(state, engine, Key(0).at(1))
    assert (state.final, record.measures["clusters"]["0"]["verdict"]) == ((0,), "final")
    eager = shoal.CFL(eps1=9.0, eps2=0.0, select=All(), solver=SGD(lr=0.8, batch=10))
    after, record = eager.step(state, engine, Key(0).at(2))
    assert len(after.theta_KP) == 1
    assert record.measures["clusters"]["0"]["verdict"] == "final"
    assert not np.array_equal(after.theta_KP, state.theta_KP)


def weights(**own: Any) -> list[np.ndarray]:
    """The models after three rounds."""
    keys: dict[str, Any] = {"algorithm": "cfl", "lr": 0.1, "rounds": 3, "engine": "serial", "eval_every": 3, **own}
    run = shoal.run(keys.pop("algorithm"), "digits", **keys)
    return [np.concatenate([p.detach().numpy().ravel() for p in model.parameters()]) for model in run.models]


def test_cfl_stands_on_a_proximal_method_and_on_a_server_optimiser() -> None:
    (plain,), (none,), (near,) = weights(eps1=0), weights(eps1=0, mu=0), weights(eps1=0, mu=1.0)
    assert np.array_equal(plain, none)
    assert np.array_equal(near, weights(algorithm="fedprox", mu=1.0, selection="all")[0])
    assert not np.array_equal(near, plain)
    rule = "server-optimiser:adam:lr=0.1"
    (adam,) = weights(eps1=0, aggregate=rule)
    assert np.array_equal(adam, weights(algorithm="fedavg", aggregate=rule, selection="all")[0])
    assert not np.array_equal(adam, plain)
    assert len(weights(split_rounds="1+2", aggregate=rule, mu=0.1)) == 3
