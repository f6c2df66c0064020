"""Pre-training that counts, by hand: what is left of a client's epochs, and who goes on in which round."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.algorithms.tiny import clients_of, close, engine_of, seed_that_selects

import shoal
from shoal.algorithms.parts.reuse_pretraining import GoingOn, rest_of
from shoal.errors import BadInput
from shoal.seeds import Key
from shoal.selection import All
from shoal.solvers import SGD, Proximal
from shoal.table import Table
from shoal.tasks import Nearest, Train

TWO = {"ann": (1.0, 0, 1), "bob": (1.0, 1, 1)}
AWAY = np.array([1.0, -1.0])
REUSE: dict[str, Any] = {"groups": 2, "pretrain": "epoch", "reuse_pretraining": True, "select": All()}
# lr 1, one sample x = 1 of class 0: d = w0 - w1 grows by 2 / (1 + e^d), first by 1, then by 2 / (1 + e) = 0.5379.
FIRST, SECOND = 0.5, 1 / (1 + np.e)  # times (1, -1)


def method(**own: Any) -> Any:
    return shoal.FedGroup(**{**REUSE, "solver": SGD(lr=1.0, epochs=2), **own})


def test_what_is_left_is_the_solver_of_a_round_for_an_epoch_less_and_keeps_no_momentum() -> None:
    kept = SGD(lr=1.0, epochs=3, momentum=0.9, momentum_memory="kept", lr_decay=0.5)
    assert rest_of(method(solver=kept, mu=2.0)) == SGD(lr=1.0, epochs=2, momentum=0.9, lr_decay=0.5).plus(Proximal(2.0))


@pytest.mark.parametrize("own", [{"pretrain": "steps"}, {"solver": SGD(steps=5)}, {"solver": SGD(epochs=0)}])
def test_it_needs_epochs(own: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match=r"^reuse_pretraining needs "):
        rest_of(method(**own))


@pytest.mark.parametrize("from_w0", [False, True])
def test_the_second_epoch_counts_in_the_cold_start(from_w0: bool) -> None:
    # A group each: from the mean of pre-training goes on what came after it, from w_0 both: the same models. The
    # directions are those of pre-training alone.
    state, record = method(start_from_w0=from_w0).init(engine_of(clients_of(TWO)), Key(0).at(0))
    close(state.directions_KP, [FIRST * AWAY, -FIRST * AWAY])
    close(state.w_KP, [1 + (FIRST + SECOND) * AWAY, 1 - (FIRST + SECOND) * AWAY])
    assert record.measures["reused"] == 2


def started(cold_start: str = "lazy", newcomers: str = "nearest") -> tuple[Any, Any, Any, Any]:
    """ann and bob are clustered; cyd, who is like ann, comes later unless all are asked at once."""
    federation = clients_of({**TWO, "cyd": (1.0, 0, 3)})
    seed = seed_that_selects(federation, ("ann", "bob"), "cold start")
    made, engine = method(alpha=1, cold_start=cold_start, newcomers=newcomers), engine_of(federation)
    state, record = made.init(engine, Key(seed).at(0))
    engine.commit()
    return made, engine, state, record


@pytest.mark.parametrize(("newcomers", "reused"), [("nearest", 3), ("random", 2)])
def test_who_joins_at_once_goes_on_at_once(newcomers: str, reused: int) -> None:
    # With the nearest rule ann's group holds her one sample and cyd's three, that went FIRST + SECOND from w_0; it
    # begins at FIRST, ann adds SECOND: FIRST + (1 SECOND + 3 (FIRST + SECOND)) / 4.
    _, _, state, record = started("eager", newcomers)
    assert record.measures["reused"] == reused
    assert len(state.group.ids) == 3
    if newcomers == "nearest":
        close(state.w_KP[0], 1 + (FIRST + SECOND + 3 * FIRST / 4) * AWAY)


@pytest.mark.parametrize(("newcomers", "reused"), [("nearest", [1, 0]), ("random", [None, None])])
def test_newcomers_train_as_they_join(newcomers: str, reused: list[int | None]) -> None:
    made, engine, state, _ = started(newcomers=newcomers)
    engine.drain()
    for round, number in enumerate(reused, 1):
        state, record = made.step(state, engine, Key(0).at(round))
        assert record.measures.get("reused") == number
        assert record.trained.cohort == ("ann", "bob", "cyd")
        assert engine.drain().counts["train"].up == 3 - (number or 0)  # nobody trains twice


def test_only_who_has_no_group_goes_on() -> None:
    before, rest = SGD(lr=1.0), SGD(lr=1.0, epochs=1)
    vectors_KP = np.array([[1.0, 1.0], AWAY, -AWAY])

    def around() -> GoingOn:
        engine = engine_of(clients_of(TWO))
        return GoingOn(engine, before, rest, Table().put(("ann",), np.array([0])))

    new = around()
    assert "update" in new.map(Nearest(before), ("bob",), vectors_KP, None, Key(0).at(1)).fields
    assert new.newcomers(Key(0)).cohort == ("bob",)
    for cohort in (("ann",), ("ann", "bob")):  # ann looks for another group, and trains in this round as all do
        known = around()
        assert "update" not in known.map(Nearest(before), cohort, vectors_KP, None, Key(0).at(1)).fields
        assert known.newcomers(Key(0)).cohort == ()
        got = known.map(Train(before), ("bob",), vectors_KP[:1], np.zeros(1, int), Key(0).at(1))
        close(got["update"], [-FIRST * AWAY])


def test_a_round_of_nobody_but_newcomers_needs_no_other_answer() -> None:
    # cyd alone is selected and joins: nobody is left to train, and the engine would want one answer at least.
    made, engine, state, _ = started()
    alone = replace(made, select=lambda clients, key: ("cyd",))
    _, record = alone.step(state, engine, Key(0).at(1))
    assert (record.trained.cohort, record.measures["reused"]) == (("cyd",), 1)
