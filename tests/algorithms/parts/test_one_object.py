"""Models that are one object, by hand: who trains which one after whom, and what is left of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from tests.algorithms.tiny import clients_of, close, engine_of
from tests.support import Misbehaving

import shoal
from shoal.algorithms.ifca import State
from shoal.backends import Serial
from shoal.errors import BadInput
from shoal.seeds import Key
from shoal.selection import All, Random
from shoal.solvers import SGD
from shoal.table import Table
from shoal.types import Array

RATE = 0.5
CLIENTS = {"ann": (1.0, 0, 1), "bob": (1.0, 1, 1), "cat": (1.0, 0, 1)}
A, B, C = (1.0, 0.0), (0.0, 1.0), (-5.0, -5.0)  # good for class 0, good for class 1, a coin


def stepped(weights: Sequence[float], *classes: int) -> Array:
    """What one client after the other makes of it, each with one step on a sample of 1 of its class."""
    w: Array = np.array(weights, float)
    for label in classes:
        p = np.exp(w) / np.exp(w).sum()
        w = w + RATE * (np.eye(2)[label] - p)
    return w


def test_rounds_by_hand() -> None:
    engine = engine_of(clients_of(CLIENTS))
    method = shoal.IFCA(groups=3, one_object=True, select=All(), solver=SGD(lr=RATE))
    state = State(np.array([A, B, C]), Table(), {})

    state, record = method.step(state, engine, Key(0).at(1))  # ann and cat take A, one after the other, and bob B
    assert record.measures == {"objects": 2} and state.group.get(engine.clients.ids, -1).tolist() == [0, 1, 0]
    of_bob = stepped(B, 1)  # the last that the server was filled with: it is A and B from now on
    close(state.theta_KP, [of_bob, of_bob, C])

    state, _ = method.step(
        state, engine, Key(0).at(2)
    )  # that is bad for class 0: ann and cat take C, and bob the first
    assert state.group.get(engine.clients.ids, -1).tolist() == [2, 0, 2]
    close(state.theta_KP, [stepped(C, 0, 0)] * 3)

    state, _ = method.step(state, engine, Key(0).at(3))  # one model for all from now on, from client to client
    assert state.group.get(engine.clients.ids, -1).tolist() == [0, 0, 0]
    close(state.theta_KP, [stepped(C, 0, 0, 0, 1, 0)] * 3)


def test_of_two_models_that_nobody_had_chosen_the_last_is_kept() -> None:
    engine = engine_of(clients_of(CLIENTS))
    method = shoal.IFCA(groups=4, one_object=True, select=All(), solver=SGD(lr=RATE))
    state = State(np.array([C, A, B, (-4.0, -4.0)]), Table().put(("bob",), np.array([0])), {})  # the first is the one
    state, record = method.step(state, engine, Key(0).at(2))
    assert record.measures == {"objects": 2} and state.group.get(engine.clients.ids, -1).tolist() == [1, 2, 1]
    close(state.theta_KP, [stepped(B, 1), stepped(B, 1), stepped(B, 1), (-4.0, -4.0)])


def test_who_fails_chose_nothing_and_nobody_changes_nothing() -> None:
    method = shoal.IFCA(groups=3, one_object=True, select=All(), solver=SGD(lr=RATE))
    state = State(np.array([A, B, C]), Table(), {})
    some = engine_of(clients_of(CLIENTS), Misbehaving(Serial(), {"bob": "boast"}))  # of its samples, when it trained
    after, _ = method.step(state, some, Key(0).at(1))
    assert after.group.ids == ("ann", "cat")
    close(after.theta_KP, [stepped(A, 0, 0), B, C])  # B is nobody's: it is not the one object

    none = engine_of(clients_of(CLIENTS), Misbehaving(Serial(), dict.fromkeys(CLIENTS, "boast")), min_answers=0)
    after, record = method.step(state, none, Key(0).at(1))
    assert not len(after.group) and after.theta_KP is state.theta_KP and record.measures == {"objects": 0}


def test_who_was_not_selected_keeps_its_choice() -> None:
    federation = clients_of(CLIENTS)
    method = shoal.IFCA(groups=3, one_object=True, select=Random(2), solver=SGD(lr=RATE))
    state = State(np.array([A, B, C]), Table().put(("ann", "bob", "cat"), np.array([1, 1, 1])), {})
    after, _ = method.step(state, engine_of(federation), Key(0).at(2))
    chosen = after.group.get(federation.ids, -1)
    cohort = Random(2)(federation.roster, Key(0).at(2)("select"))
    assert [k for c, k in zip(federation.ids, chosen, strict=True) if c not in cohort] == [1]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"weighting": "samples"}, "leave weighting out"),
        ({"start": "one_model"}, "leave init out"),
        ({"migration": "aligned"}, "leave migration out"),
    ],
)
def test_what_it_would_leave_out_is_refused(more: dict[str, str], says: str) -> None:
    with pytest.raises(BadInput, match=says):
        shoal.IFCA(one_object=True, **more)  # type: ignore[arg-type]
