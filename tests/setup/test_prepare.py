"""From what is asked for to a plan: what selection will do is said beforehand."""

from __future__ import annotations

import pytest

import shoal
from shoal.backends import Serial
from shoal.selection import All, Random
from shoal.setup.prepare import build_plan, engine_key, prepare
from shoal.setup.resolve import resolve
from shoal.types import Algorithm

MANY = {"partition": "permuted:groups=4:clients=40", "groups": 4, "alpha": 2}


def note(name: str, **pairs: object) -> str | None:
    return prepare(name, "digits", None, {**MANY, **pairs} if name == "flexcfl" else pairs).note


def test_clients_that_no_round_will_select_are_counted_before_the_run() -> None:
    # Of 40 clients, 4 a round, (1 - 4/40)^10 = 0.349 are never selected in ten rounds. alpha m = 2 * 4 have a group
    # from the start: of the other 32 there are 11 without. All have one after 40 / 4 rounds.
    said = note("flexcfl", clients_per_round=4, rounds=10) or ""
    assert "4 of 40 clients a round about 11 will have none after 10 rounds" in said
    assert said.endswith("; selection=round-robin-then-random with rounds=10 or more asks everybody")


def test_who_has_a_group_from_the_start_is_not_counted() -> None:
    # 40 clients: alpha m = 10 * 4 are all of them. RCC: 4 are not, 36 * 0.349 = 13. auto: alpha 5 = 50, again all.
    some = {"clients_per_round": 4, "rounds": 10}
    assert note("flexcfl", alpha=10, **some) is None
    assert "about 13 will have none" in (note("flexcfl", alpha=10, centres="random", **some) or "")
    assert note("flexcfl", alpha=10, groups="auto", **some) is None


def test_a_round_that_is_to_ask_more_than_there_are_asks_all() -> None:
    asked = build_plan(resolve("fedavg", "digits", None, {"clients_per_round": 30, "rounds": 1}))
    assert asked.note == "clients_per_round=30, and there are 20: a round asks all of them"
    few, everybody = (
        shoal.run("fedavg", "digits", rounds=1, engine="serial", **own)
        for own in ({"clients_per_round": 30}, {"selection": "all"})
    )
    assert few.serving.models_KP.tobytes() == everybody.serving.models_KP.tobytes()


@pytest.mark.parametrize(
    ("algorithm", "min_answers", "possible"),
    [
        (shoal.FedAvg(select=All()), 20, True),
        (shoal.FedAvg(select=Random(3)), 4, False),
        (shoal.FedAvg(select=Random(3)), 3, True),
        (shoal.FedGSP(beta=12, kappa=0.5), 10, True),  # groups grow with the rounds, up to one for each client
        (shoal.FedGSP(beta=12, kappa=0.5), 11, False),
    ],
)
def test_answers_are_asked_of_the_clients_or_groups_of_the_method(
    algorithm: Algorithm, min_answers: int, possible: bool
) -> None:
    asked = resolve(algorithm, "digits", None, {"min_answers": min_answers, "rounds": 5})
    if possible:
        build_plan(asked)
        return
    with pytest.raises(shoal.ShoalError, match=f"min_answers={min_answers} can never be reached"):
        build_plan(asked)


def test_nothing_is_said_where_everybody_gets_a_model() -> None:
    few = {"clients_per_round": 4}
    assert note("flexcfl", rounds=10, selection="all") is None
    assert note("flexcfl", rounds=10, cold_start="eager", **few) is None
    assert note("flexcfl", rounds=100, **few) is None  # 40 * 0.9^100 = 0.001
    assert note("flexcfl", rounds=10, selection="round-robin-then-random", **few) is None
    in_order = note("flexcfl", rounds=9, selection="round-robin-then-random", **few) or ""
    assert "about 3 will have none" in in_order  # the last 4 of 40, of which 8 / 40 have a group from the start
    assert in_order.endswith("; rounds=10 asks everybody")  # not a selection that it has
    assert note("fedavg", rounds=1, **few) is None


def test_a_back_end_of_the_users_own_may_have_a_name() -> None:
    class Mine(Serial):
        name = "my cluster"

    assert (engine_key(Mine()), engine_key(Serial()), engine_key("ray")) == (
        {},
        {"engine": "serial"},
        {"engine": "ray"},
    )


def test_a_run_says_it_when_it_begins(caplog: pytest.LogCaptureFixture) -> None:
    shoal.run("local", rounds=1, clients_per_round=5, engine="serial")
    assert "local gives a client its model when it is first selected" in caplog.text
