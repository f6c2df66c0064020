"""FeSEM's and WeCFL's rounds against numbers worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.algorithms.tiny import START, clients_of, close, engine_of
from tests.conftest import make_toy, small_net
from tests.support import Misbehaving

import shoal
from shoal.algorithms.parts.em_steps import fill_empty, from_new_centres
from shoal.backends import Serial
from shoal.clusterers import Clusters
from shoal.engine import Engine
from shoal.errors import BadInput
from shoal.loop.rounds import run_rounds
from shoal.seeds import Key
from shoal.selection import All
from shoal.setup.prepare import prepare
from shoal.solvers import SGD
from shoal.types import Answers

# From w = (1, 1) with lr 0.8 updates are 0.4 x (1, -1) for class 0 and 0.4 x (-1, 1) for class 1:
# ann 0.4, bob 0.8, cyd -0.8, dan -0.4 times (1, -1).
FOUR = {"ann": (1.0, 0, 1), "bob": (2.0, 0, 3), "cyd": (2.0, 1, 1), "dan": (1.0, 1, 5)}
AWAY = np.array([1.0, -1.0])


def after_first_round(method: Any, federation: Any = None) -> tuple[Any, Any, Any]:
    engine = engine_of(federation or clients_of(FOUR))
    state, _ = method.init(engine, Key(0).at(0))
    state, record = method.step(state, engine, Key(0).at(1))
    return engine, state, record


@pytest.mark.parametrize(
    ("make", "centres"),
    [
        (shoal.FeSEM, [[0.6], [-0.6]]),  # plain means: (0.4 + 0.8) / 2 and -(0.8 + 0.4) / 2
        (shoal.WeCFL, [[0.7], [-2.8 / 6]]),  # by samples: (0.4 + 3 * 0.8) / 4 and -(0.8 + 5 * 0.4) / 6
    ],
)
def test_the_first_centres_are_means_of_the_clients_first_solutions(make: Any, centres: list[list[float]]) -> None:
    # Whatever two clients k-means begins with, it ends with the cut between -0.4 and 0.4.
    _, state, record = after_first_round(make(groups=2, select=All(), solver=SGD(lr=0.8, batch=10)))
    assert dict(zip(state.group.ids, state.group.rows.tolist(), strict=True)) == {
        "ann": 0,
        "bob": 0,
        "cyd": 1,
        "dan": 1,
    }
    close(state.Omega_KP, START + np.array(centres) * AWAY)
    close(state.first_KP, state.Omega_KP)  # kept for newcomers
    assert len(record.trained) == 4


def test_who_changes_its_centre_brings_its_own_solution() -> None:
    # Centres 0 and 4; b learnt 5 from centre 0, its solution 5 is nearer to 4, from which it is an update of 1.
    got = Answers(("a", "b"), np.array([0, 0]), {"update": np.array([[1.0], [5.0]]), "count": np.array([1, 1])})
    moved = from_new_centres(got, np.array([[0.0], [4.0]]), np.array([0, 1]))
    assert moved["update"].tolist() == [[1.0], [1.0]]
    assert moved.which_N.tolist() == [0, 1]
    assert got["update"].tolist() == [[1.0], [5.0]]  # not changed in place


def test_a_group_is_filled_again_only_if_it_is_empty() -> None:
    # Three clients around 0, 1 and 9 are all in group 0. Group 1 has nobody: it is given the one at 9. If somebody who
    # was not asked in this round is in group 1, nothing moves.
    rows_ND, found = np.array([[0.0], [1.0], [9.0]]), Clusters(np.zeros(3, int), np.array([[10 / 3], [50.0]]), 7.0)
    filled, moved = fill_empty(found, rows_ND, np.ones(3), np.array([0, 0, 0, -1]))
    assert (filled.labels_N.tolist(), filled.centres_KD.tolist(), moved) == ([0, 0, 1], [[0.5], [9.0]], [2])
    close(np.array(filled.F), (0.25 + 0.25 + 0) / 3)
    kept, moved = fill_empty(found, rows_ND, np.ones(3), np.array([0, 0, 0, 1]))
    assert kept is found
    assert moved == []


@pytest.mark.parametrize(("every", "measured"), [(0, []), (1, [1, 2, 3, 4]), (2, [2, 4]), (3, [3])])
def test_clusterability_is_measured_every_so_many_rounds(every: int, measured: list[int]) -> None:
    run = shoal.run("fesem", make_toy(), small_net, rounds=4, engine=Serial(), groups=2, clusterability_every=every)
    assert [row["round"] for row in run.history[1:] if "B_max" in row["measures"]] == measured


@pytest.mark.parametrize("start", ["kmeans", "random_models"])
def test_a_round_in_which_nobody_answers_changes_nothing(start: str) -> None:
    toy = make_toy()
    bad = Misbehaving(Serial(), dict.fromkeys(toy.ids, "nan"))
    run = shoal.run("fesem", toy, small_net, rounds=2, engine=bad, min_answers=0, groups=2, init=start)
    assert run.history.column("trained")[1:] == [0, 0]


@pytest.mark.parametrize("name", ["fesem", "wecfl"])
def test_with_fewer_answers_than_groups_the_next_round_is_the_first(name: str) -> None:
    toy = make_toy()
    faults = dict.fromkeys(toy.ids[2:], "nan")  # two of twelve clients answer
    plan = prepare(name, toy, small_net, {"rounds": 2, "groups": 3}).plan
    told = []
    for result in run_rounds(plan, Engine(Misbehaving(Serial(), faults), plan.layout)):
        told.append(result)
        if result.round == 1:
            faults.clear()
    (skipped,) = (e["reason"] for e in told[1].events if e["kind"] == "round skipped")
    assert skipped == "2 clients answered 'train', 3 groups begin with as many"
    assert (told[2].row["trained"], told[2].row["groups"]) == (12, 3)


def test_random_models_must_be_counted() -> None:
    with pytest.raises(BadInput, match="groups=auto needs init=directions"):
        shoal.run("fesem", make_toy(), small_net, rounds=1, engine=Serial(), groups="auto", init="random_models")


def test_with_weighting_first_a_centre_is_the_solution_of_one_of_its_clients() -> None:
    # First solutions 0.4 and 0.8 in group 0, -0.8 and -0.4 in group 1: one of each instead of 0.6 and -0.6.
    method = shoal.FeSEM(groups=2, weights="first", select=All(), solver=SGD(lr=0.8, batch=10))
    _, state, record = after_first_round(method)
    along_K = (state.Omega_KP - START) @ AWAY / 2
    assert [round(x, 9) for x in np.abs(along_K)] in ([0.4, 0.4], [0.4, 0.8], [0.8, 0.4], [0.8, 0.8])
    close(state.Omega_KP, START + along_K[:, None] * AWAY)
    assert sorted(np.sign(along_K)) == [-1, 1]
    assert len(record.trained) == 4  # all trained, and all are in the record


def before(**own: Any) -> shoal.FeSEM:
    some = {"groups": 2, "start": "random_models", "when": "before", "select": All(), "solver": SGD(lr=0.8, batch=10)}
    return shoal.FeSEM(**(some | own))  # type: ignore[arg-type]


def test_the_e_step_before_training_looks_at_old_solutions_and_leaves_clients_where_they_trained() -> None:
    # Centres (1, 1) and (3, -1) = START + 2 AWAY; w_0 = START. Last solutions, along AWAY from START: ann 1.5 (nearer
    # to 2), bob 0.5 (nearer to 0); cyd and dan never trained: w_0, centre 0. Where a client trained is its group,
    # whatever it learnt; centre 0 is the plain mean of bob, cyd, dan, whose updates are those of the first round:
    # (0.8 - 0.8 - 0.4) / 3.
    method, engine = before(), engine_of(clients_of(FOUR))
    state, _ = method.init(engine, Key(0).at(0))
    centres_KP = np.array([START, START + 2 * AWAY])
    old = state.old.put(("ann", "bob"), START + np.array([[1.5], [0.5]]) * AWAY)
    group = state.group.put(("ann", "bob"), np.array([0, 1]))
    state = type(state)(centres_KP, group, np.array(START), state.first_KP, state.server, old)
    state, record = method.step(state, engine, Key(0).at(1))
    assert state.group.get(("ann", "bob", "cyd", "dan"), -1).tolist() == [1, 0, 0, 0]
    close(state.Omega_KP[0], START - 0.4 / 3 * AWAY)
    # ann trains from (3, -1): scores 3 and -1, p = 1 / (1 + exp(-4)), one step of 0.8 (1 - p) along AWAY.
    close(state.Omega_KP[1], START + (2 + 0.8 / (1 + np.exp(4.0))) * AWAY)
    close(state.old.get(("bob",), 0.0)[0], START + 0.8 * AWAY)  # what it learnt now
    assert record.measures["moved"] == 2
    assert record.measures["F"] <= record.measures["F_before"]


def test_who_shifted_goes_to_the_centre_nearest_to_its_last_solution_at_once() -> None:
    # As above, but only dan is selected: ann, whose samples have another class now, goes by its last solution to centre
    # 1 at once; bob, who did not shift, waits until it is selected.
    def only(*names: str) -> Any:
        return before(migration="aligned", select=lambda clients, key: names)

    engine = engine_of(clients_of(FOUR))
    state, _ = only("dan").init(engine, Key(0).at(0))
    state, record = only("ann", "bob").step(state, engine, Key(0).at(1))  # both keep their histograms
    engine.commit()
    assert (record.measures["shifted"], record.measures["migrated"]) == (0, 0)
    weight, label, count = FOUR["ann"]
    engine.set_federation(clients_of({**FOUR, "ann": (weight, 1 - label, count)}))
    old = state.old.put(("ann", "bob"), START + np.array([[1.5], [0.5]]) * AWAY)
    group = state.group.put(("ann", "bob"), np.array([0, 1]))
    centres_KP = np.array([START, START + 2 * AWAY])
    state = replace(state, Omega_KP=centres_KP, group=group, w0_P=np.array(START), old=old)
    state, record = only("dan").step(state, engine, Key(0).at(2))
    assert (record.measures["shifted"], record.measures["migrated"]) == (1, 1)
    assert state.group.get(("ann", "bob", "dan"), -1).tolist() == [1, 1, 0]


def test_migration_needs_last_solutions_and_leaves_nothing_behind_without() -> None:
    with pytest.raises(BadInput, match="needs e_step=before"):
        shoal.run("fesem", make_toy(), small_net, rounds=1, engine=Serial(), groups=2, migration="aligned")
    engine = engine_of(clients_of(FOUR))
    state, _ = before().init(engine, Key(0).at(0))
    _, record = before().step(state, engine, Key(0).at(1))
    engine.commit()
    assert "shifted" not in record.measures
    assert all("histogram" not in memory for memory in engine.snapshot()[0].values())


def test_the_server_s_model_is_none_of_the_centres_before_which_clients_are_assigned() -> None:
    toy = make_toy()
    apart, together = (
        shoal.run("fesem", toy, small_net, rounds=0, engine=Serial(), groups=3, init="random_models", e_step=when).state
        for when in ("before", "after")
    )
    assert (together.Omega_KP[0] == together.w0_P).all()
    assert (apart.w0_P == together.w0_P).all()
    assert not any((centre_P == apart.w0_P).all() for centre_P in apart.Omega_KP)


def test_old_solutions_are_kept_only_where_they_are_looked_at_and_survive_a_resume(tmp_path: Any) -> None:
    own: dict[str, Any] = {"groups": 3, "init": "random_models", "e_step": "before", "clients_per_round": 5}
    whole = shoal.run("fesem", make_toy(), small_net, rounds=4, engine=Serial(), **own)
    assert len(whole.state.old) > 5
    assert len(shoal.run("fesem", make_toy(), small_net, rounds=2, engine=Serial(), groups=3).state.old) == 0
    shoal.run("fesem", "digits", rounds=2, engine="serial", out=tmp_path / "x", **own)
    resumed = shoal.resume(tmp_path / "x", rounds=4)
    straight = shoal.run("fesem", "digits", rounds=4, engine="serial", **own)
    assert resumed.serving.models_KP.tobytes() == straight.serving.models_KP.tobytes()


def test_one_e_step_before_training_is_one() -> None:
    with pytest.raises(BadInput, match="give em_steps=1"):
        shoal.run("wecfl", make_toy(), small_net, rounds=1, engine=Serial(), groups=2, e_step="before")


def test_weighting_is_another_name_of_weights() -> None:
    toy = make_toy()
    a, b = (
        shoal.run("fesem", toy, small_net, rounds=2, engine=Serial(), groups=2, **{key: "samples"})  # type: ignore[arg-type]
        for key in ("weights", "weighting")
    )
    assert a.serving.models_KP.tobytes() == b.serving.models_KP.tobytes()
    with pytest.raises(BadInput, match="weights is given twice"):
        shoal.run("fesem", toy, small_net, rounds=1, engine=Serial(), weights="samples", weighting="first")


# ------------------------------------------------------------------------------------------- the E step in general form


def test_by_cosine_clients_are_told_apart_by_the_direction_of_their_solutions() -> None:
    # Solutions (1, 1) + a (1, -1) with a = 0.4, 0.8, -0.8, -0.4. Groups of directions: ann and bob, cyd and dan; F is
    # the mean of 2 (1 - cos half the angle between the two), and both pairs are mirror images of each other.
    method = shoal.FeSEM(groups=2, distance="cosine", select=All(), solver=SGD(lr=0.8, batch=10))
    _, state, record = after_first_round(method)
    assert state.group.get(("ann", "bob", "cyd", "dan"), -1).tolist() == [0, 0, 1, 1]
    angle = np.arctan(0.8) - np.arctan(0.4)  # of (1 + a, 1 - a) from (1, 1): arctan a
    close(np.array(record.measures["F"]), 2 * (1 - np.cos(angle / 2)))
    close(state.Omega_KP, START + np.array([[0.6], [-0.6]]) * AWAY)  # models are plain means all the same
    assert record.representation.measure == "cosine"


def test_by_updates_clients_go_to_the_group_of_the_nearest_mean_update() -> None:
    # Updates 0.4, 0.8, -0.8, -0.4 along (1, -1): the first groups and centres 0.6 and -0.6 are those of the models.
    # Next round: dan's samples have class 0 now. It trains from START - 0.6 (1, -1), where scores differ by -1.2: p of
    # class 0 is 1 / (1 + exp(1.2)), its update 0.8 (1 - p) = 0.615 > 0 is nearer to 0.6 than to -0.6, though its model,
    # at -0.6 + 0.615 = 0.015 from START, lies half way.
    method = shoal.FeSEM(groups=2, represent="update", select=All(), solver=SGD(lr=0.8, batch=10))
    engine, state, record = after_first_round(method)
    close(state.G_KD, np.array([[0.6], [-0.6]]) * AWAY)
    assert record.representation.what == "updates"
    engine.set_federation(clients_of({**FOUR, "dan": (1.0, 0, 5)}))
    state, record = method.step(state, engine, Key(0).at(2))
    assert state.group.get(("ann", "bob", "cyd", "dan"), -1).tolist() == [0, 0, 1, 0]
    assert record.measures["moved"] == 1
    # ann: x = 1 at +1.2: 0.8 (1 - p) = 0.8 / (1 + exp(1.2)); bob: x = 2 at 2.4: 1.6 / (1 + exp(2.4)); dan as above.
    mean = (0.8 / (1 + np.exp(1.2)) + 1.6 / (1 + np.exp(2.4)) + 0.8 / (1 + np.exp(-1.2))) / 3
    close(state.G_KD[0], mean * AWAY)


OTHER: list[dict[str, Any]] = [
    {"represent": "update"},
    {"distance": "cosine"},
    {"represent": "update", "distance": "cosine", "when": "before"},
]


@pytest.mark.parametrize("own", OTHER)
def test_newcomers_are_compared_as_the_others_were(own: dict[str, Any]) -> None:
    # eve learns 0.2 (1, -1) from w_0 and fay -0.2 (1, -1): the side of ann and bob, and that of cyd and dan.
    method = shoal.FeSEM(**{"groups": 2, "select": All(), "solver": SGD(lr=0.8, batch=10), **own})
    _, state, _ = after_first_round(method)
    engine = engine_of(clients_of({"eve": (0.5, 0, 2), "fay": (0.5, 1, 2)}))
    assert method.assign(state, ("eve", "fay"), engine, Key(0).at(2)).which_N.tolist() == [0, 1]


@pytest.mark.parametrize("own", OTHER)
def test_other_representations_find_planted_groups_and_resume(own: dict[str, Any], tmp_path: Any) -> None:
    keys = {"e_step" if key == "when" else key: value for key, value in own.items()}
    some: dict[str, Any] = {"groups": 4, "lr": 0.1, "epochs": 5, "seed": 1, "engine": "serial", **keys}
    run = shoal.run("fesem", "digits", rounds=2, out=tmp_path / "x", **some)
    assert run.summary["ari"] == 1.0
    resumed, straight = shoal.resume(tmp_path / "x", rounds=3), shoal.run("fesem", "digits", rounds=3, **some)
    assert resumed.serving.models_KP.tobytes() == straight.serving.models_KP.tobytes()


def test_random_models_have_no_updates() -> None:
    with pytest.raises(BadInput, match="represent=update needs init=directions"):
        shoal.run("fesem", make_toy(), small_net, rounds=1, engine=Serial(), init="random_models", represent="update")
