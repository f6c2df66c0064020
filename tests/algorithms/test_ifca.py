"""IFCA under drift, by hand: who keeps a histogram, who has shifted, who chooses anew."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.algorithms.tiny import clients_of, engine_of
from tests.conftest import make_toy, small_net
from tests.support import Misbehaving
from torch import nn

import shoal
from shoal.backends import Serial
from shoal.engine import Engine
from shoal.errors import BadInput
from shoal.layout import Layout
from shoal.seeds import Key
from shoal.selection import All
from shoal.solvers import SGD
from shoal.tasks import Losses

TWO = {"ann": (1.0, 0, 3), "bob": (1.0, 1, 2)}
SWAPPED = {"ann": (1.0, 1, 3), "bob": (1.0, 1, 2)}  # ann's samples have the other class


def test_who_has_trained_keeps_its_histogram_and_is_asked_whether_it_shifted() -> None:
    method = shoal.IFCA(groups=2, migration="aligned", select=All(), solver=SGD(lr=0.5))
    engine = engine_of(clients_of(TWO))
    state, _ = method.init(engine, Key(0).at(0))
    state, record = method.step(state, engine, Key(0).at(1))
    engine.commit()
    assert record.measures == {"shifted": 0, "migrated": 0}  # nobody had a group before
    kept = {client: memory["histogram"].tolist() for client, memory in engine.snapshot()[0].items()}
    assert kept == {"ann": [3, 0], "bob": [0, 2]}
    engine.set_federation(clients_of(SWAPPED))
    _, record = method.step(state, engine, Key(0).at(2))
    engine.commit()
    assert record.measures["shifted"] == 1
    assert engine.snapshot()[0]["ann"]["histogram"].tolist() == [0, 3]


def test_of_draws_that_are_as_good_the_first_is_taken() -> None:
    # One client chooses one of two models: the other has a share of 0 in every draw.
    engine = Engine(Serial(), Layout.of(small_net, make_toy().sample()))
    engine.set_federation(make_toy().keep(["c00"]))
    plain, picked = (shoal.IFCA(groups=2, init_min_share=s).init(engine, Key(0).at(0)) for s in (0.0, 0.5))
    assert picked[1].measures == {"init_share": 0.0} and plain[1].measures == {}
    assert picked[0].theta_KP.tobytes() == plain[0].theta_KP.tobytes()


def trained_before() -> nn.Module:
    """The same weights whatever the seed, as of a model that was trained before."""
    net = small_net()
    with torch.no_grad():
        for number, weights in enumerate(net.parameters()):
            weights.copy_(torch.linspace(-0.1, 0.1 + number, weights.numel()).reshape(weights.shape))
    return net


def test_models_that_begin_alike_are_told_of_and_dealt_out_if_asked() -> None:
    engine = Engine(Serial(), Layout.of(trained_before, make_toy().sample()))
    engine.set_federation(make_toy())
    clients = len(engine.clients)
    alike = shoal.IFCA(groups=2, select=All(), solver=SGD(lr=0.1))
    state, record = alike.init(engine, Key(0).at(0))
    assert [event["kind"] for event in record.events] == ["models alike"]
    state, _ = alike.step(state, engine, Key(0).at(1))
    assert set(state.group.get(state.group.ids, -1).tolist()) == {0}  # ties go to the first

    dealt = shoal.IFCA(groups=2, start="one_model", select=All(), solver=SGD(lr=0.1))
    state, record = dealt.init(engine, Key(0).at(0))
    assert not record.events and (state.theta_KP == state.theta_KP[0]).all()
    state, record = dealt.step(state, engine, Key(0).at(1))
    assert np.bincount(state.group.get(state.group.ids, -1)).tolist() == [clients - clients // 2, clients // 2]
    assert (state.theta_KP[0] != state.theta_KP[1]).any()
    losses = engine.map(Losses("train"), engine.clients.ids, state.theta_KP, None, Key(1))["losses"]
    state, _ = dealt.step(state, engine, Key(0).at(2))  # from now on they choose
    assert state.group.get(engine.clients.ids, -1).tolist() == losses.argmin(1).tolist()


def test_one_model_has_no_draws_to_repeat() -> None:
    with pytest.raises(BadInput, match="leave one of them out"):
        shoal.IFCA(groups=2, start="one_model", init_min_share=0.1).init(engine_of(clients_of(TWO)), Key(0).at(0))
    with pytest.raises(shoal.ShoalError, match=r"init_min_share=0\.6 of all clients cannot choose each of 2 models"):
        shoal.IFCA(groups=2, init_min_share=0.6).init(engine_of(clients_of(TWO)), Key(0).at(0))


def test_one_model_among_one_is_no_tie() -> None:
    _, record = shoal.IFCA(groups=1).init(engine_of(clients_of(TWO)), Key(0).at(0))
    assert not record.events


def test_without_migration_nothing_is_kept() -> None:
    method, engine = shoal.IFCA(groups=2, select=All(), solver=SGD(lr=0.5)), engine_of(clients_of(TWO))
    state, record = method.init(engine, Key(0).at(0))
    assert record.measures == {}
    _, record = method.step(state, engine, Key(0).at(1))
    engine.commit()
    assert record.measures == {}
    assert all("histogram" not in memory for memory in engine.snapshot()[0].values())


def test_who_shifted_takes_the_model_of_least_loss_at_once() -> None:
    # Model 0 says class 0, model 1 says class 1: ann had 0 and bob 1. When ann's samples are of class 1 it moves to 1
    # before it trains; bob stays.
    method = shoal.IFCA(groups=2, migration="counts", select=lambda clients, key: ("bob",), solver=SGD(lr=0.5))
    engine = engine_of(clients_of(TWO))
    state, _ = method.init(engine, Key(0).at(0))
    theta_KP = np.array([[1.0, -1.0], [-1.0, 1.0]])
    state = shoal.IFCA.state(theta_KP, state.group.put(("ann", "bob"), np.array([0, 1])), state.server)
    state, record = method.step(state, engine, Key(0).at(1))  # both keep their histograms
    engine.commit()
    assert record.measures == {"shifted": 0, "migrated": 0}
    engine.set_federation(clients_of({**TWO, "ann": (1.0, 1, 9)}))  # other counts, too
    state, record = method.step(state, engine, Key(0).at(2))
    assert record.measures == {"shifted": 1, "migrated": 1}
    assert state.group.get(("ann", "bob"), -1).tolist() == [1, 1]


# --------------------------------------------------------------------------------------------------- the first models


def test_a_start_that_nobody_tries_is_the_first_draw() -> None:
    method = shoal.IFCA(groups=2, init_min_share=0.2, select=All(), solver=SGD(lr=0.5))
    dead = engine_of(clients_of(TWO), Misbehaving(Serial(), dict.fromkeys(TWO, "raises")), min_answers=0)
    state, record = method.init(dead, Key(0).at(0))
    assert record.measures == {"init_share": 0.0}
    assert state.theta_KP.tolist() == dead.layout.init_many(2, Key(0).at(0)("init")).tolist()
    assert dead.drain().diagnostics["losses"].down == 2 * 2  # both clients were asked once, not fifty times


def test_with_weighting_first_a_model_moves_by_one_update_of_those_who_chose_it() -> None:
    # Both choose model 0 (the models are alike) and move it along (1, -1): ann by 0.25, bob by 0.5; the mean is 0.375.
    both = clients_of({"ann": (1.0, 0, 1), "bob": (2.0, 0, 1)})
    moved = []
    for t in range(1, 12):
        method, engine = shoal.IFCA(groups=2, weighting="first", select=All(), solver=SGD(lr=0.5)), engine_of(both)
        state, _ = method.init(engine, Key(0).at(0))
        state = shoal.IFCA.state(np.ones((2, 2)), state.group, state.server)
        state, record = method.step(state, engine, Key(0).at(t))
        assert state.theta_KP[1].tolist() == [1.0, 1.0]
        assert record.trained is not None and len(record.trained) == 2
        moved.append(round(float(state.theta_KP[0, 0]) - 1, 9))
    assert set(moved) == {0.25, 0.5}
