"""FedAvg+ and FedProx+: members that have nothing in common, not even what clients keep for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.algorithms.tiny import START, clients_of, close, engine_of
from tests.conftest import make_toy, small_net

import shoal
from shoal.algorithms.ensemble import row, stacked
from shoal.backends import Serial
from shoal.seeds import Key
from shoal.selection import All
from shoal.solvers import SGD


def test_every_member_has_a_momentum_of_its_own() -> None:
    # bob alone, x = 1 of class 0, one step a round, lr 1, momentum 1/2, kept. All members start at (1, 1) and go the
    # same way: 1/2 in round 1; in round 2 w0 - w1 = 1, the gradient is 1/(1 + e) and v = 1/4 + 1/(1 + e). A momentum
    # that members share would have grown by every one of them.
    engine = engine_of(clients_of({"bob": (1.0, 0, 3)}))
    solver = SGD(lr=1.0, batch=10, momentum=0.5, momentum_memory="kept")
    method = shoal.FedAvgPlus(members=3, select=All(), solver=solver)
    state, _ = method.init(engine, Key(0).at(0))
    for t in (1, 2):
        state, _ = method.step(state, engine, Key(0).at(t))
        engine.commit()
    v = 0.25 + 1 / (1 + np.e)
    close(state.w_KP, [np.array(START) + (0.5 + v) * np.array([1.0, -1.0])] * 3)
    kept = engine.snapshot()[0]["bob"]
    assert sorted(kept) == ["velocity", "velocity 1", "velocity 2"]
    for velocity in kept.values():
        close(velocity, [-v, v])


@pytest.mark.parametrize(("name", "alone", "own"), [("fedavg+", "fedavg", {}), ("fedprox+", "fedprox", {"mu": 0.5})])
def test_the_first_member_is_the_method_alone_bit_for_bit(name: str, alone: str, own: dict[str, Any]) -> None:
    toy = make_toy()
    common: dict[str, Any] = {"momentum": 0.9, "momentum_memory": "kept", "clients_per_round": 7, "lr": 0.01, **own}
    many = shoal.run(name, toy, small_net, rounds=4, seed=3, engine=Serial(), members=3, **common)
    one = shoal.run(alone, toy, small_net, rounds=4, seed=3, engine=Serial(), **common)
    assert many.serving.models_KP[0].tobytes() == one.serving.models_KP[0].tobytes()
    assert many.serving.models_KP[1].tobytes() != one.serving.models_KP[0].tobytes()


def test_a_member_takes_its_row_of_everything_and_gives_it_back() -> None:
    whole = shoal.FedAvgPlus.state(np.arange(6.0).reshape(3, 2), {"m": np.array([[7.0], [8.0], [9.0]])})
    one = row(whole, 1)
    assert (one.w_KP.tolist(), one.server["m"].tolist()) == ([[2.0, 3.0]], [[8.0]])
    again = stacked([row(whole, k) for k in range(3)])
    assert (again.w_KP.tolist(), again.server["m"].tolist()) == (whole.w_KP.tolist(), whole.server["m"].tolist())
