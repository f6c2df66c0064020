"""Models that are one object, by hand: who trains which one after whom, and what is left of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from tests.algorithms.tiny import clients_of, close, engine_of

import shoal
from shoal.algorithms.ifca import State
from shoal.errors import BadInput
from shoal.seeds import Key
from shoal.selection import All
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
    assert record.trained is None and state.group.get(engine.clients.ids, -1).tolist() == [0, 1, 0]
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


@pytest.mark.parametrize("more", [{"weighting": "samples"}, {"start": "one_model"}, {"migration": "aligned"}])
def test_what_it_would_leave_out_is_refused(more: dict[str, str]) -> None:
    with pytest.raises(BadInput, match="one_object=true averages nothing"):
        shoal.IFCA(one_object=True, **more)  # type: ignore[arg-type]
