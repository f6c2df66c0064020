"""FedGroup's cold starts and rounds against numbers worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.algorithms.tiny import START, clients_of, close, engine_of, seed_that_selects
from tests.conftest import make_toy, small_net
from tests.support import Misbehaving

import shoal
from shoal.backends import Serial
from shoal.data.federation import Federation
from shoal.errors import BadInput, ShoalError, TooFewAnswers
from shoal.seeds import Key
from shoal.selection import All, Random
from shoal.solvers import SGD, Proximal

# With lr 0.8 one step of pre-training moves w_0 = (1, 1) by 0.4 x (1, -1) for class 0 and by 0.4 x (-1, 1) for class 1:
# ann 0.4, bob 1.2, cyd -0.8, dan -0.4 (times (1, -1)). Sizes are unequal, and must not matter in the cold start.
FOUR = {"ann": (1.0, 0, 1), "bob": (3.0, 0, 3), "cyd": (2.0, 1, 1), "dan": (1.0, 1, 5)}
AWAY = np.array([1.0, -1.0])
ONE_STEP: dict[str, Any] = {"pretrain_steps": 1, "solver": SGD(lr=0.8, batch=10)}


def started(federation: Federation, seed: int = 0, **own: Any) -> tuple[Any, Any, Any]:
    """The method, its engine and its state after `init`."""
    method, engine = shoal.FedGroup(**{"groups": 2, "select": All(), **ONE_STEP, **own}), engine_of(federation)
    state, _ = method.init(engine, Key(seed).at(0))
    engine.commit()
    return method, engine, state


# ----------------------------------------------------------------------------------------------------- group cold start


@pytest.mark.parametrize("measure", ["edc", "madc"])
def test_a_group_begins_at_w0_plus_the_plain_mean_of_its_updates(measure: str) -> None:
    # Groups {ann, bob} and {cyd, dan}; directions (0.4 + 1.2) / 2 = 0.8 and -(0.8 + 0.4) / 2 = -0.6, times (1, -1).
    # Weighted by samples they would be 1.0 and -0.4667.
    _, engine, state = started(clients_of(FOUR), measure=measure)
    assert dict(zip(state.group.ids, state.group.rows.tolist(), strict=True)) == {
        "ann": 0,
        "bob": 0,
        "cyd": 1,
        "dan": 1,
    }
    close(state.w0_P, START)
    close(state.directions_KP, [0.8 * AWAY, -0.6 * AWAY])
    close(state.w_KP, [[1.8, 0.2], [0.4, 1.6]])
    memories, vectors_VP = engine.snapshot()
    kept = memories["bob"]  # w_0 and the directions are on the client from now on, and its label counts
    close(vectors_VP[list(kept["w0"].rows)], [START])
    close(vectors_VP[list(kept["directions"].rows)], [0.8 * AWAY, -0.6 * AWAY])
    assert kept["histogram"].tolist() == [3, 0]


def test_start_from_w0_keeps_the_directions_and_drops_the_mean() -> None:
    _, _, state = started(clients_of(FOUR), start_from_w0=True)
    close(state.w_KP, [START, START])
    close(state.directions_KP, [0.8 * AWAY, -0.6 * AWAY])


def test_rcc_has_a_group_per_random_client() -> None:
    # bob and dan are drawn: groups 0 and 1, with their own updates as directions; nobody else has a group yet.
    federation = clients_of(FOUR)
    seed = seed_that_selects(federation, ("bob", "dan"), "cold start")
    _, _, state = started(federation, seed, centres="random")
    assert (state.group.ids, state.group.rows.tolist()) == (("bob", "dan"), [0, 1])
    close(state.directions_KP, [1.2 * AWAY, -0.4 * AWAY])
    close(state.w_KP, [[2.2, -0.2], [0.6, 1.4]])


def test_lazy_leaves_the_others_for_later_and_eager_asks_them_at_once() -> None:
    # alpha m = 2: bob and cyd are clustered, a group each; ann's update has cosine 1 with bob's, dan's with cyd's.
    federation = clients_of(FOUR)
    seed = seed_that_selects(federation, ("bob", "cyd"), "cold start")
    _, _, lazy = started(federation, seed, alpha=1)
    _, _, eager = started(federation, seed, alpha=1, cold_start="eager")
    assert (lazy.group.ids, lazy.group.rows.tolist()) == (("bob", "cyd"), [0, 1])
    assert (eager.group.ids, eager.group.rows.tolist()) == (("ann", "bob", "cyd", "dan"), [0, 0, 1, 1])
    for state in (lazy, eager):  # who joins moves neither models nor directions
        close(state.directions_KP, [1.2 * AWAY, -0.8 * AWAY])
        close(state.w_KP, [[2.2, -0.2], [0.2, 1.8]])


def test_one_round_is_fedavg_inside_the_groups() -> None:
    # From w_0 (start_from_w0) every first step is that of pre-training: group 0 takes the mean by samples,
    # (1 * 0.4 + 3 * 1.2) / 4 = 1.0, group 1 -(1 * 0.8 + 5 * 0.4) / 6 = -0.46667, times (1, -1).
    method, engine, state = started(clients_of(FOUR), start_from_w0=True)
    after, record = method.step(state, engine, Key(0).at(1))
    close(after.w_KP, [[2.0, 0.0], [1 - 2.8 / 6, 1 + 2.8 / 6]])
    assert (len(record.trained), record.relayed, record.measures) == (4, 0, {})
    close(after.directions_KP, state.directions_KP)


# --------------------------------------------------------------------------------------------------------- pre-training


def test_pre_training_knows_no_proximal_term_and_keeps_no_momentum() -> None:
    # bob alone, lr 1, x = 1 of class 0, two steps: w0 - w1 = 1 after the first, p0 = 1/(1 + e^-1) = 0.7310586 in the
    # second: (1/2 + 0.2689414) (1, -1). A term of strength 2 would take 2 (1/2) away again; momentum is part of the
    # solver, but none is kept on the client.
    solver = SGD(lr=1.0, batch=10).plus(Proximal(2.0))
    federation = clients_of({"bob": (1.0, 0, 3)})
    for own in ({"solver": solver}, {"solver": SGD(lr=1.0, batch=10), "mu": 2.0}):
        _, _, state = started(federation, groups=1, pretrain_steps=2, **own)
        close(state.directions_KP, [(0.5 + 1 / (1 + np.e)) * AWAY])
    kept = SGD(lr=1.0, batch=10, momentum=0.5, momentum_memory="kept")
    _, engine, _ = started(federation, groups=1, solver=kept)
    assert "velocity" not in engine.snapshot()[0]["bob"]
    decays = SGD(lr=1.0, batch=10, epochs=3, lr_decay=0.5, momentum=0.5, momentum_memory="kept").plus(Proximal(2.0))
    assert shoal.FedGroup(solver=decays, mu=1.0).before == SGD(lr=1.0, batch=10, epochs=3, momentum=0.5, steps=50)


def test_one_epoch_instead_of_steps() -> None:
    # One sample a batch, three samples: an epoch is three steps of bob's, whatever `epochs` or `steps` of a round say.
    # d = w0 - w1 grows by 2 (1 - p0(d)): 1, then 1 + 2/(1 + e), and so on.
    federation = clients_of({"bob": (1.0, 0, 3)})
    d = 0.0
    for _ in range(3):
        d += 2 / (1 + np.exp(d))
    for solver in (SGD(lr=1.0, batch=1, epochs=7), SGD(lr=1.0, batch=1, steps=9)):
        _, _, state = started(federation, groups=1, pretrain="epoch", solver=solver)
        close(state.directions_KP, [d / 2 * AWAY])


@pytest.mark.parametrize("round", [0, 3])
def test_a_newcomer_of_any_round_pre_trains_at_the_full_rate(round: int) -> None:
    # With lr_decay = 0 local training stands still from round 2 on. Pre-training does not: dan's update is like
    # direction 1. Had it stood still, its cosine with both directions would be 0 and the tie would go to group 0.
    federation = clients_of(FOUR)
    method, engine, state = started(federation, solver=SGD(lr=0.8, batch=10, lr_decay=0.0))
    got = method.assign(state, ("ann", "dan"), engine, Key(0).at(round))
    assert (got.cohort, got.which_N.tolist()) == (("ann", "dan"), [0, 1])


def test_a_client_that_migrates_pre_trains_at_the_full_rate() -> None:
    # The same at home: ann holds class 1 from round 2 on, shifts, and finds direction 1.
    method, engine, state = started(clients_of(FOUR), migration="aligned", solver=SGD(lr=0.8, batch=10, lr_decay=0.0))
    engine.set_federation(clients_of({**FOUR, "ann": (1.0, 1, 1)}))
    after, record = method.step(state, engine, Key(0).at(2))
    assert after.group.get(("ann",), -1).tolist() == [1]
    assert record.measures == {"shifted": 1, "migrated": 1}
    assert record.events == ({"kind": "migrated", "client": "ann", "from": 0, "to": 1},)


# ------------------------------------------------------------------------------------------------- clients that fail


def rcc(federation: Federation, bad: dict[str, str], **front: Any) -> Any:
    method = shoal.FedGroup(groups=2, centres="random", select=All(), **ONE_STEP)
    return method.init(engine_of(federation, Misbehaving(Serial(), bad), **front), Key(1).at(0))[0]


def test_rcc_asks_another_client_for_each_that_fails() -> None:
    federation, order = clients_of(FOUR), Key(1).at(0)("cold start")
    ranked = [set(Random(k)(federation.roster, order)) for k in range(5)]  # those of the k smallest hashes
    first, third = sorted(ranked[2])[0], (ranked[3] - ranked[2]).pop()
    assert set(rcc(federation, {first: "raises"}).group.ids) == ranked[3] - {first}
    assert set(rcc(federation, {first: "raises", third: "nan"}).group.ids) == ranked[4] - {first, third}
    assert rcc(federation, {first: "raises"}).w_KP.shape == (2, 2)


@pytest.mark.parametrize("min_answers", [0, 1])
def test_rcc_that_does_not_find_m_clients_says_so(min_answers: int) -> None:
    nobody = dict.fromkeys(FOUR, "nan")
    with pytest.raises(TooFewAnswers, match=r"^2 random clients are to begin a group each, and 0 could$"):
        rcc(clients_of(FOUR), nobody, min_answers=min_answers)
    with pytest.raises(TooFewAnswers, match=r"and 1 could$"):
        rcc(clients_of(FOUR), {c: "nan" for c in FOUR if c != "cyd"}, min_answers=min_answers)


@pytest.mark.parametrize("groups", [3, "auto"])
def test_nobody_who_can_pre_train_is_one_sentence(groups: Any) -> None:
    toy = make_toy()
    methods: list[dict[str, Any]] = [{}, {"centres": "random"}, {"measure": "madc"}, {"criterion": "gap"}]
    for own in methods:
        bad = Misbehaving(Serial(), dict.fromkeys(toy.ids, "nan"))
        with pytest.raises(ShoalError) as e:
            shoal.run("fedgroup", toy, small_net, rounds=1, engine=bad, min_answers=0, groups=groups, **own)
        assert "\n" not in str(e.value)
        assert "cold start" in str(e.value) or "the run cannot begin" in str(e.value)


# ---------------------------------------------------------------------------------------------------- number of groups


@pytest.mark.parametrize("criterion", ["cosine", "euclidean", "gap", "elbow"])
@pytest.mark.parametrize("clients", [1, 2, 3, 4])
def test_auto_takes_what_fewer_than_five_clients_allow(clients: int, criterion: str) -> None:
    few = make_toy().keep([f"c{i:02d}" for i in range(clients)])
    run = shoal.run("fedgroup", few, small_net, rounds=1, engine=Serial(), groups="auto", criterion=criterion)
    assert len(run.groups) == clients
    assert 1 <= len(run.models) <= max(clients - 1, 1)
    rcc = shoal.run("fedgroup", few, small_net, rounds=1, engine=Serial(), groups="auto", centres="random")
    assert len(rcc.models) == clients


def test_a_given_number_above_the_clients_is_refused() -> None:
    few = make_toy().keep(["c00", "c01"])
    with pytest.raises(BadInput, match=r"^groups=3 but the federation has 2 clients$"):
        shoal.run("fedgroup", few, small_net, rounds=1, engine=Serial(), groups=3)


def test_the_solver_of_a_round_has_the_proximal_term_where_mu_asks_for_one() -> None:
    solver = SGD(lr=0.8)
    assert shoal.FedGroup(solver=solver).local == solver
    assert shoal.FedGroup(solver=solver, mu=0.5).local == solver.plus(Proximal(0.5))


def test_groups_are_numbered_and_kept_by_their_first_clients() -> None:
    # Directions in the order of their groups: the first client's group comes first, whichever class it holds.
    _, _, state = started(clients_of({**FOUR, "ann": (1.0, 1, 1), "dan": (1.0, 0, 5)}))
    assert state.group.get(("ann", "bob", "cyd", "dan"), -1).tolist() == [0, 1, 0, 1]
    close(state.directions_KP, [-0.6 * AWAY, 0.8 * AWAY])  # -(0.4 + 0.8) / 2 and (1.2 + 0.4) / 2


# ---------------------------------------------------------------------------------------------------------- diagnostics


def slope(x: float, label: int, w_P: Any) -> float:
    """The gradient of a client with samples x of one class, along (1, -1): -x (1 - p) for class 0, x (1 - p) for 1."""
    sign = 1 if label == 0 else -1
    return -sign * x / (1 + float(np.exp(sign * x * (w_P[0] - w_P[1]))))


def test_gradient_divergence_and_the_bound_by_hand() -> None:
    # Group 0 is ann and bob with shares 1/4 and 3/4: they lie 3/4 and 1/4 of their difference from the mean, so that
    # the group's delta is (1/4)(3/4) + (3/4)(1/4) = 3/8 of it at one point; group 1, cyd and dan, 1/6 and 5/6: 5/18.
    # Norms are sqrt(2) times what stands along (1, -1). Weights of the groups in delta: 4 and 6 of 10 samples.
    method, engine, state = started(clients_of(FOUR), diagnostics=True)
    after, record = method.step(state, engine, Key(0).at(1))
    points = (state.w_KP, after.w_KP)
    at = {c: [slope(x, label, w_KP["cd".count(c[0])]) for w_KP in points] for c, (x, label, _) in FOUR.items()}
    one, two = (
        max(abs(p - q) for p, q in zip(at[a], at[b], strict=True)) * np.sqrt(2)
        for a, b in (("ann", "bob"), ("cyd", "dan"))
    )
    found = record.measures
    close(np.array([found["delta_max"]]), [max(3 / 8 * one, 5 / 18 * two)])
    close(np.array([found["delta"]]), [0.4 * 3 / 8 * one + 0.6 * 5 / 18 * two])
    M = max(abs(g) for both in at.values() for g in both) * np.sqrt(2)
    apart_K = np.abs(after.w_KP - state.w_KP)[:, 0]
    L = max(abs(g - h) / apart_K["cd".count(c[0])] for c, (g, h) in at.items())
    close(np.array([found["M"], found["L"]]), [M, L])
    close(np.array([found["loss_bound"]]), [found["delta"] * M / L * (0.8 * L)])  # E = 1: (lr L + 1) - 1


def test_diagnostics_change_nothing_and_are_not_counted() -> None:
    some: dict[str, Any] = {"rounds": 3, "engine": Serial(), "groups": 2, "eta_g": 0.1}
    plain, looked = (shoal.run("flexcfl", make_toy(), small_net, **some, diagnostics=on) for on in (False, True))
    assert plain.serving.models_KP.tobytes() == looked.serving.models_KP.tobytes()
    assert plain.summary["bytes"] == looked.summary["bytes"]
    assert not any("delta" in row["measures"] for row in plain.history)
    for row in looked.history[1:]:
        assert 0 < row["measures"]["delta"] <= row["measures"]["delta_max"]
        assert row["measures"]["loss_bound"] > row["measures"]["M"] * 0.1  # eta_g (|G| - 1) M of it
