"""FedGSP's rounds against numbers worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.algorithms.tiny import START, clients_of, close, engine_of
from tests.conftest import make_toy, small_net
from tests.support import Misbehaving

import shoal
from shoal.algorithms.fedgsp import State
from shoal.backends import Serial
from shoal.errors import BadInput
from shoal.seeds import Key
from shoal.solvers import SGD
from shoal.store.codec import decode, encode, records_of

FOUR = {"ann": (1.0, 0, 1), "bob": (3.0, 0, 3), "cyd": (1.0, 1, 1), "dan": (3.0, 1, 3)}
AWAY = np.array([1.0, -1.0])


def after_one_round(**own: Any) -> tuple[Any, Any]:
    engine = engine_of(clients_of(FOUR))
    method = shoal.FedGSP(**{"kappa": 1.0, "solver": SGD(lr=0.8, batch=10), **own})
    state, _ = method.init(engine, Key(0).at(0))
    return method.step(state, engine, Key(0).at(1))


def test_groups_are_averaged_with_equal_weights() -> None:
    # ann and bob, a group each, move by 0.4 and 1.2 times (1, -1): the mean is 0.8, by samples it would be 1.
    engine = engine_of(clients_of({name: FOUR[name] for name in ("ann", "bob")}))
    method = shoal.FedGSP(beta=2, kappa=1.0, solver=SGD(lr=0.8, batch=10))
    state, _ = method.init(engine, Key(0).at(0))
    state, record = method.step(state, engine, Key(0).at(1))
    close(state.w_KP, [START + 0.8 * AWAY])
    assert record.measures["groups"] == record.measures["clients"] == 2


def test_icg_puts_unlike_clients_together() -> None:
    # Label counts (1, 0), (3, 0), (0, 1), (0, 3): clusters of alike clients are {ann, bob} and {cyd, dan}, and each of
    # the two groups takes one of either.
    state, record = after_one_round(beta=2, alpha=0.0)
    assert {c: state.V.get((c,), 0)[0].tolist() for c in FOUR} == {
        "ann": [1, 0],
        "bob": [3, 0],
        "cyd": [0, 1],
        "dan": [0, 3],
    }
    assert (record.measures["groups"], record.measures["clients"]) == (2, 4)
    assert len(record.trained) == 2  # an answer per chain
    assert sorted(record.trained["count"].tolist()) in ([2, 6], [4, 4])  # nobody twice, nobody left out


@pytest.mark.parametrize(("transfer", "handed"), [("relay", 0), ("direct", 2)])
def test_two_chains_of_two_hand_on_two_models(transfer: str, handed: int) -> None:
    assert after_one_round(beta=2, alpha=0.0, transfer=transfer)[1].peer_transfers == handed


@pytest.mark.parametrize("growth", ["linear", "log", "exp"])
def test_a_rate_beyond_all_bounds_is_a_group_per_client(growth: str) -> None:
    run = shoal.run("fedgsp", make_toy(), small_net, rounds=3, engine=Serial(), alpha=1e308, beta=2, growth=growth)
    assert [row["measures"]["groups"] for row in run.history[1:]] == [2, 12, 12]
    with pytest.raises(BadInput, match="a number alpha"):
        shoal.FedGSP(alpha=float("inf"))


def test_a_round_in_which_nobody_answers_changes_nothing() -> None:
    toy = make_toy()
    for name in ("fedgsp", "naivegsp", "naivegsp+icg"):
        bad = Misbehaving(Serial(), dict.fromkeys(toy.ids, "nan"))
        run = shoal.run(name, toy, small_net, rounds=2, engine=bad, min_answers=0)
        start = shoal.run(name, toy, small_net, rounds=0, engine=Serial())
        assert run.serving.models_KP.tobytes() == start.serving.models_KP.tobytes()


# ------------------------------------------------------------------------------------------------- the size of groups


def test_the_number_of_groups_is_found_at_the_start_and_stays() -> None:
    # 12 clients: 10 * 12 / 368 is 0.3, so beta = 1; seven leave, which would make no other; 60 clients: 1.6, so 2, and
    # 30 of them would be 0.8, so 1: after they left in round 2, f(3) is still 2 floor(2 ln 3 + 1) = 6.
    for clients, want in ((12, [1, 2, 3]), (60, [2, 4, 6])):
        pairs: dict[str, Any] = {"rounds": 3, "drift": "leave:0.5@2"}
        run = shoal.run("fedgsp", make_toy(clients=clients), small_net, engine=Serial(), **pairs)
        assert [row["measures"]["groups"] for row in run.history[1:]] == want
        assert [row["measures"]["seated"] for row in run.history[1:]] == [clients, clients // 2, clients // 2]


def test_everybody_is_seated_unless_groups_are_to_be_equal() -> None:
    # Five groups of 12: two clients each and two left over.
    for own, seated in (({}, 12), ({"seats": "equal"}, 10), ({"grouping": "random"}, 12)):
        run = shoal.run("fedgsp", make_toy(), small_net, rounds=1, engine=Serial(), beta=5, kappa=1.0, **own)  # type: ignore[arg-type]
        assert run.history[1]["measures"] | {"cpd": 0, "z": 0} == {
            "groups": 5, "alone": 0, "seated": seated, "clients": seated, "cpd": 0, "z": 0
        }  # fmt: skip


def test_chains_of_one_client_are_told_once() -> None:
    # f = 4, 8, 12 for 12 clients: 8 groups hold 4 times two and 4 times one, which is not more than half; 12 hold one.
    run = shoal.run("fedgsp", make_toy(), small_net, rounds=5, engine=Serial(), beta=4)
    assert [row["measures"]["alone"] for row in run.history[1:]] == [0, 4, 12, 12, 12]
    engine, events = engine_of(clients_of(FOUR)), []
    method = shoal.FedGSP(beta=4, solver=SGD(lr=0.1))
    state, _ = method.init(engine, Key(0).at(0))
    for r in (1, 2):
        state, record = method.step(state, engine, Key(0).at(r))
        events += [(r, e["kind"], e["alone"], e["groups"]) for e in record.events]
    assert events == [(1, "chains of one", 4, 4)]


def test_a_state_of_former_times_goes_on() -> None:
    # Checkpoints written before groups were found by themselves hold neither beta nor whether a warning was given.
    state, _ = after_one_round(beta=2, alpha=0.0)
    arrays: dict[str, Any] = {}
    tree = encode(state, arrays)
    for name in ("beta", "warned"):
        del tree["fields"][name]
    old = decode(tree, arrays, records_of(State))
    method = shoal.FedGSP(beta=2, alpha=0.0, kappa=1.0, solver=SGD(lr=0.8, batch=10))
    engine = engine_of(clients_of(FOUR))
    again, same = (method.step(s, engine, Key(0).at(2))[0] for s in (old, state))
    assert again.w_KP.tobytes() == same.w_KP.tobytes()
