"""From what is asked for to a plan: what selection will do is said beforehand."""

from __future__ import annotations

import pytest

import shoal
from shoal.backends import Serial
from shoal.setup.prepare import engine_key, prepare

MANY = {"partition": "permuted:groups=4:clients=40", "groups": 4, "alpha": 2}


def note(name: str, **pairs: object) -> str | None:
    return prepare(name, "digits", None, {**MANY, **pairs} if name == "flexcfl" else pairs).note


def test_clients_that_no_round_will_select_are_counted_before_the_run() -> None:
    # Of 40 clients, 4 a round, (1 - 4/40)^10 = 0.349 are never selected in ten rounds: 14. All after 40 / 4 rounds.
    said = note("flexcfl", clients_per_round=4, rounds=10) or ""
    assert "4 of 40 clients a round about 14 will have none after 10 rounds" in said
    assert "everybody within 10 rounds" in said


def test_nothing_is_said_where_everybody_gets_a_model() -> None:
    few = {"clients_per_round": 4}
    assert note("flexcfl", rounds=10, selection="all") is None
    assert note("flexcfl", rounds=10, cold_start="eager", **few) is None
    assert note("flexcfl", rounds=100, **few) is None  # 40 * 0.9^100 = 0.001
    assert note("flexcfl", rounds=10, selection="round-robin-then-random", **few) is None
    assert "about 4 will have none" in (note("flexcfl", rounds=9, selection="round-robin-then-random", **few) or "")
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
