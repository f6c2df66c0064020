"""Laws of FedGSP and its rivals: what they are where their difference from FedAvg is switched off."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.conftest import small_net
from tests.contract.test_algorithms import played
from tests.contract.test_laws import models, run
from tests.support import Misbehaving

import shoal
from shoal.aggregators import plain_mean
from shoal.algorithms.parts.chain_order import chains_of
from shoal.algorithms.parts.chains import sample, transfers_between
from shoal.backends import Serial
from shoal.clusterers import icg_sizes
from shoal.data.federation import Federation
from shoal.engine import Engine
from shoal.errors import BadInput
from shoal.seeds import Key
from shoal.setup.prepare import prepare
from shoal.table import Table
from shoal.tasks import LabelHistogram, Train
from shoal.types import Answers, Failure

PLAIN: dict[str, Any] = {"epochs": 1, "momentum": 0.0}


def equal_weights(federation: Federation, rounds: int = 3, **solver: Any) -> shoal.Run:
    """FedAvg in which every client counts the same."""
    method = shoal.FedAvg(
        select=shoal.All(), solver=shoal.SGD(**{"batch": 20, **PLAIN, **solver}), aggregate=plain_mean()
    )
    return shoal.run(method, federation, small_net, rounds=rounds, seed=2, engine=Serial())


# ----------------------------------------------------------------------------------------- between FedAvg and one chain


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("fedgsp", {"beta": 99}),
        ("fedgsp", {"beta": 12, "grouping": "random"}),
        ("naivegsp", {"groups": 12}),
        ("naivegsp+icg", {"groups": 400}),
    ],
)
def test_as_many_groups_as_clients_is_fedavg_with_equal_weights(
    name: str, own: dict[str, Any], toy: Federation
) -> None:
    got, want = run(name, toy, kappa=1, **own, **PLAIN), equal_weights(toy)
    assert got.serving.models_KP.tobytes() == want.serving.models_KP.tobytes()
    for figure in ("accuracy", "test_loss", "loss", "discrepancy", "trained"):
        assert got.history.column(figure) == want.history.column(figure)


@pytest.mark.parametrize("grouping", ["icg", "random"])
def test_one_group_is_one_model_going_from_client_to_client(grouping: str, toy: Federation) -> None:
    # f = 1: everybody in one chain. The same by hand: train on one client after the other from where the last ended.
    own: dict[str, Any] = {"beta": 1, "alpha": 0, "kappa": 1, "grouping": grouping}
    pairs = {"rounds": 2, "seed": 2, "selection": "all", "batch": 20, **PLAIN, **own}
    plan = prepare("fedgsp", toy, small_net, pairs).plan
    results = played(plan)
    engine = Engine(Serial(), plan.layout)
    engine.set_federation(toy)
    w_P = results[0].state.w_KP[0]
    for r in (1, 2):
        key, at = Key(2).at(r), w_P
        for i in key("order").rng().permutation(12):
            step = engine.map(Train(plan.algorithm.solver), (toy.ids[i],), at[None], np.zeros(1, int), key("train"))  # type: ignore[arg-type]
            at = at + step["update"][0]
        w_P = (w_P.astype(np.float64) + (at - w_P).astype(np.float64)).astype(np.float32)  # the mean of one chain
        assert results[r].state.w_KP[0].tobytes() == w_P.tobytes()
        assert results[r].row["measures"]["clients"] == 12


def test_a_client_that_fails_in_a_chain_is_skipped_and_the_chain_goes_on(toy: Federation) -> None:
    # Random groups are dealt to all, so c04 sits in a chain; from whom it fails on, the chain is one without it.
    pairs = {"rounds": 2, "seed": 2, "groups": 3, "kappa": 1, "batch": 20}
    plan = prepare("naivegsp", toy, small_net, pairs).plan
    results = played(plan, Misbehaving(Serial(), {"c04": "raises"}))
    first = results[1]
    chains = chains_of(first.state.seat, toy.ids)
    assert sorted(c for chain in chains for c in chain) == list(toy.ids)
    assert [(e["kind"], e["client"], e["task"]) for e in first.events] == [("left out", "c04", "train")]
    engine = Engine(Serial(), plan.layout)
    engine.set_federation(toy)
    without = [tuple(c for c in chain if c != "c04") for chain in chains]
    start_KP = results[0].state.w_KP
    got = engine.chain(Train(plan.algorithm.solver), without, start_KP, np.zeros(3, int), Key(2).at(1)("train"))  # type: ignore[arg-type]
    want_P = start_KP[0] + got["update"].astype(np.float64).mean(0)
    floats = slice(0, plan.layout.counters.start)
    np.testing.assert_allclose(first.state.w_KP[0, floats], want_P[floats], rtol=1e-5, atol=1e-6)
    assert first.row["trained"] == 3


def test_every_engine_gives_the_same_bits(toy: Federation, pool: Any) -> None:
    for name in ("fedgsp", "fedfusion", "fedmmd"):
        own: dict[str, Any] = {"beta": 4, "kappa": 0.5} if name == "fedgsp" else {}
        plan = prepare(name, toy, small_net, {"rounds": 3, "seed": 5, **own}).plan
        ends = [plan.algorithm.serve(played(plan, backend)[-1].state).models_KP for backend in (Serial(), pool)]
        assert ends[0].tobytes() == ends[1].tobytes(), name


# ------------------------------------------------------------------------------------------------------------- groups


def test_groups_grow_are_drawn_anew_and_sampled(toy: Federation) -> None:
    found = run("fedgsp", toy, rounds=6, beta=2, alpha=1, kappa=0.5)
    # f(r) = 2 floor(ln r + 1) = 2, 2, 4, 4, 4, 4; half of them train, L = 12 / f clients in each.
    measures = [row["measures"] for row in found.history[1:]]
    assert [m["groups"] for m in measures] == [2, 2, 4, 4, 4, 4]
    assert found.history.column("trained")[1:] == [1, 1, 2, 2, 2, 2]
    assert [m["clients"] for m in measures] == [6] * 6
    assert len({m["z"] for m in measures}) == 6  # other groups every time
    assert all(m["cpd"] >= 0 for m in measures)


def test_groups_that_stay_stay(toy: Federation) -> None:
    for name in ("naivegsp", "naivegsp+icg"):
        plan = prepare(name, toy, small_net, {"rounds": 4, "groups": 5, "kappa": 0.4}).plan
        seats = [m.state.seat for m in played(plan)[1:]]
        assert all(np.array_equal(seats[0].rows, s.rows) and s.ids == toy.ids for s in seats)
        # ICG: L = 2, 12 kept, two unused; they are extra members of two groups, so nobody stays out.
        sizes = np.bincount(seats[0].rows[:, 0])
        assert sorted(sizes.tolist()) == [2, 2, 2, 3, 3]
    assert icg_sizes(12, 5).unused == 2


def test_a_newcomer_takes_the_last_seat_of_the_smallest_group(toy: Federation) -> None:
    pairs = {"rounds": 3, "groups": 3, "kappa": 1, "drift": "join:clients=c03@2"}
    results = played(prepare("naivegsp", toy, small_net, pairs).plan)
    before, after = results[1].state.seat, results[2].state.seat
    assert "c03" not in before
    sizes = np.bincount(before.rows[:, 0])
    group, place = after.get(("c03",), -1)[0]
    assert group == sizes.argmin()
    assert place == before.rows[:, 1].max() + 1
    assert chains_of(after, toy.ids)[group][-1] == "c03"


def test_random_groups_reveal_nothing_and_icg_asks_once_or_every_round(toy: Federation) -> None:
    def asked(name: str, **own: Any) -> list[int]:
        rows = run(name, toy, kappa=1, **own).history
        return [row["traffic"].get("describe", {}).get("bytes_up", 0) for row in rows]

    once = 12 * 3 * 8  # clients, classes, bytes of a number
    assert asked("naivegsp", groups=3) == [0, 0, 0, 0]
    assert asked("fedgsp", beta=3) == [0, once, 0, 0]
    assert asked("fedgsp", beta=3, describe="round") == [0, once, once, once]


def test_noise_on_label_counts_changes_groups_and_is_reproducible(toy: Federation) -> None:
    plain = models("fedgsp", toy, beta=4, kappa=1)
    noisy = models("fedgsp", toy, beta=4, kappa=1, epsilon=0.2)
    assert noisy.tobytes() == models("fedgsp", toy, beta=4, kappa=1, epsilon=0.2).tobytes()
    assert noisy.tobytes() != plain.tobytes()
    engine = Engine(Serial(), prepare("fedgsp", toy, small_net, {}).plan.layout)
    engine.set_federation(toy)
    clear = engine.map(LabelHistogram(), toy.ids, None, None, Key(1))["histogram"]
    told = engine.map(LabelHistogram(epsilon=0.2), toy.ids, None, None, Key(1))["histogram"]
    assert (told != clear).mean() > 0.5
    assert told.min() >= 0


def test_models_handed_on_directly_travel_once(toy: Federation) -> None:
    # Three chains of four. By way of the server 2 L = 8 transfers each; from client to client L + 1 = 5.
    own: dict[str, Any] = {"beta": 3, "alpha": 0, "kappa": 1, "rounds": 1}
    relay, direct = (run("fedgsp", toy, transfer=how, **own) for how in ("relay", "direct"))
    assert relay.serving.models_KP.tobytes() == direct.serving.models_KP.tobytes()
    one = relay.plan.layout.bytes
    ways = [(r.history[1]["traffic"]["train"]["down"], r.history[1]["traffic"]["train"]["up"]) for r in (relay, direct)]
    assert ways == [(12, 12), (3, 12)]
    assert relay.history.bytes() - direct.history.bytes() == 9 * one


def test_who_fails_hands_nothing_on() -> None:
    got = Answers(("0",), np.zeros(1, int), failed=(Failure("b", "late"), Failure("d", "late")))
    assert (
        transfers_between([("a", "b", "c"), ("d",)], got) == 1
    )  # a gets it from the server, b fails, c gets it from a


def test_sampling_takes_at_least_one_group_and_all_of_them_in_turn() -> None:
    groups = [(str(i),) for i in range(10)]
    assert [len(sample(groups, kappa, Key(0))) for kappa in (0.01, 0.3, 1.0)] == [1, 3, 10]
    seen = {g for r in range(60) for g in sample(groups, 0.3, Key(0).at(r))}
    assert seen == set(groups)


def test_places_decide_the_order() -> None:
    seat = Table().put(("a", "b", "c", "d"), np.array([(0, 1), (1, 0), (0, 0), (1, 5)]))
    assert chains_of(seat, ("a", "b", "c", "d")) == [("c", "a"), ("b", "d")]
    assert chains_of(seat, ("a", "d")) == [("a",), ("d",)]


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ({"kappa": 0}, "kappa is a share"),
        ({"kappa": 1.5}, "kappa is a share"),
        ({"epsilon": 0}, "epsilon must be above 0"),
        ({"alpha": -1}, "at least 0"),
        ({"beta": 0}, "at least 1"),
        ({"growth": "fast"}, "growth=fast is not possible"),
    ],
)
def test_what_cannot_be_is_one_sentence(own: dict[str, Any], said: str, toy: Federation) -> None:
    with pytest.raises(BadInput, match=said) as e:
        run("fedgsp", toy, **own)
    assert "\n" not in str(e.value)


# ------------------------------------------------------------------------------------------------------------- rivals


def test_adagrad_of_little_adaptivity_is_fedavg(toy: Federation) -> None:
    # v >= tau^2 dwarfs D^2: w + 2 tau D / (sqrt(tau^2 + sum D^2) + tau) = w + D up to (D / tau)^2.
    got = models("fedadagrad", toy, tau=1e6, server_lr=2e6)
    np.testing.assert_allclose(got, models("fedavg", toy), rtol=1e-5, atol=1e-6)
    assert not np.allclose(models("fedadagrad", toy), models("fedavg", toy), atol=1e-3)


def test_ida_that_sees_no_distances_is_fedavg(toy: Federation) -> None:
    got = models("ida", toy, eps=1e9, weighting="samples")
    np.testing.assert_allclose(got, models("fedavg", toy), rtol=1e-5, atol=1e-6)
    plain = models("ida", toy, eps=1e9, **PLAIN)
    np.testing.assert_allclose(plain, equal_weights(toy).serving.models_KP, rtol=1e-5, atol=1e-6)
    assert not np.allclose(models("ida", toy), got, atol=1e-4)


@pytest.mark.parametrize("own", [{}, {"sees": "features"}], ids=["outputs", "features"])
def test_a_small_mmd_term_is_near_fedavg_and_a_large_one_is_not(own: dict[str, Any], toy: Federation) -> None:
    plain = models("fedavg", toy)
    np.testing.assert_allclose(models("fedmmd", toy, lam=1e-9, **own), plain, atol=1e-4)
    assert not np.allclose(models("fedmmd", toy, lam=1, **own), plain, atol=1e-2)


def test_gamma_moves_a_tenth_of_the_way(toy: Federation) -> None:
    # After the first round: previous 0, so 0.1 of the mean of the clients' gammas; with smoothing=0 all of it.
    for operator in ("multi", "single"):
        free = run("fedfusion", toy, rounds=1, operator=operator, smoothing=0)
        slow = run("fedfusion", toy, rounds=1, operator=operator)
        at = free.plan.layout.slices("fusion.gamma")[0]
        assert at.stop - at.start == (8 if operator == "multi" else 1)
        assert np.abs(free.serving.models_KP[0, at]).max() > 1e-4
        np.testing.assert_allclose(slow.serving.models_KP[0, at], 0.1 * free.serving.models_KP[0, at], rtol=1e-5)
        rest = np.delete(np.arange(free.plan.layout.size), np.arange(at.start, at.stop))
        assert np.array_equal(slow.serving.models_KP[0, rest], free.serving.models_KP[0, rest])


def test_fusion_needs_a_model_in_two_halves(toy: Federation) -> None:
    from torch import nn

    for name, own in (("fedfusion", {}), ("fedmmd", {"sees": "features"})):
        with pytest.raises(BadInput, match="`features` and `head`"):
            shoal.run(name, toy, lambda: nn.Linear(6, 3), rounds=1, engine=Serial(), **own)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="conv has no gamma"):
        run("fedfusion", toy, gamma=0.5)
