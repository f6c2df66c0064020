"""FedAvg, FedProx and the ends of the scale against numbers worked out by hand, and the laws between them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.conftest import small_net
from torch import nn

import shoal
from shoal.backends import Serial
from shoal.data.federation import Federation
from shoal.engine import Engine
from shoal.layout import Layout
from shoal.seeds import Key
from shoal.selection import All
from shoal.solvers import SGD, Proximal
from shoal.types import Algorithm, Array


def line() -> nn.Module:
    """Two classes, one input, no bias: scores (w0 x, w1 x)."""
    layer = nn.Linear(1, 2, bias=False)
    nn.init.zeros_(layer.weight)
    return layer


def pair() -> Federation:
    """Ann has one sample x = 1 of class 0, Bob three samples x = 1 of class 1."""
    none = (np.zeros((0, 1), np.float32), np.zeros(0, int))
    one = np.ones((1, 1), np.float32)
    return Federation.from_arrays({"ann": (one, [0], *none), "bob": (np.repeat(one, 3, 0), [1, 1, 1], *none)})


def after_one_round(algorithm: Algorithm, federation: Federation) -> Array:
    engine = Engine(Serial(), Layout.of(line, federation.sample(), "float64"))
    engine.set_federation(federation)
    state, _ = algorithm.init(engine, Key(0).at(0))
    state, _ = algorithm.step(state, engine, Key(0).at(1))
    w_P: Array = state.w_KP[0]
    return w_P


def test_fedavg_weighs_by_samples() -> None:
    # From w = 0 the first step of either client has p = (1/2, 1/2). Ann: gradient (-1/2, 1/2), update lr (1/2, -1/2).
    # Bob, one batch of three equal samples: update lr (-1/2, 1/2). Weights 1/4 and 3/4, lr = 0.8:
    # w = 0.8 (1/4 (1/2) - 3/4 (1/2)) = -0.2 for class 0, +0.2 for class 1.
    algorithm = shoal.FedAvg(select=All(), solver=SGD(lr=0.8, batch=10))
    np.testing.assert_allclose(after_one_round(algorithm, pair()), [-0.2, 0.2], rtol=1e-12)


def test_fedprox_pulls_the_second_step_back() -> None:
    # Bob alone, batch 3, two epochs, lr 1, mu 2: after step one w1 = 1/2, w0 = -1/2. Step two: p1 = 1/(1 + e^-1),
    # data gradient of w1: -(1 - p1) = -0.2689414; penalty 2 (1/2) = 1: w1 = 1/2 + 0.2689414 - 1 = -0.2310586.
    bob = pair().keep(["bob"])
    algorithm = shoal.FedProx(mu=2.0, select=All(), solver=SGD(lr=1.0, batch=3, epochs=2))
    np.testing.assert_allclose(after_one_round(algorithm, bob), [0.2310585786, -0.2310585786], rtol=1e-9)


def test_mu_zero_is_fedavg_bit_for_bit(toy: Federation) -> None:
    mine: list[tuple[str, dict[str, Any]]] = [("fedavg", {}), ("fedprox", {"mu": 0})]
    runs = [
        shoal.run(name, toy, small_net, rounds=5, engine=Serial(), clients_per_round=4, epochs=2, momentum=0.9, **own)
        for name, own in mine
    ]
    assert runs[0].serving.models_KP.tobytes() == runs[1].serving.models_KP.tobytes()
    rows = [[{**row, "time": 0} for row in run.history] for run in runs]
    assert rows[0] == rows[1]


def test_a_positive_mu_is_not(toy: Federation) -> None:
    a = shoal.run("fedavg", toy, small_net, rounds=2, engine=Serial(), epochs=3).serving.models_KP
    b = shoal.run("fedprox", toy, small_net, rounds=2, engine=Serial(), epochs=3, mu=0.1).serving.models_KP
    assert not np.array_equal(a, b)


def test_one_client_is_central_bit_for_bit(toy: Federation) -> None:
    alone = toy.keep(["c05"])
    runs = [shoal.run(n, alone, small_net, rounds=4, engine=Serial()) for n in ("fedavg", "central", "local")]
    assert runs[0].serving.models_KP.tobytes() == runs[1].serving.models_KP.tobytes()
    # `local` adds the update in single precision, FedAvg in double: equal up to the last digit.
    np.testing.assert_allclose(runs[2].serving.models_KP, runs[0].serving.models_KP, rtol=1e-6, atol=1e-7)


def test_central_trains_on_everything(toy: Federation) -> None:
    run = shoal.run("central", toy, small_net, rounds=1, engine=Serial(), epochs=2)
    assert run.history[1]["trained"] == 1
    assert run.history[1]["traffic"]["train"]["forward"] == 2 * toy.roster.sizes_N.sum()


def test_local_models_are_each_clients_own(toy: Federation) -> None:
    together = shoal.run("local", toy, small_net, rounds=3, engine=Serial())
    alone = shoal.run("local", toy.keep(["c07"]), small_net, rounds=3, engine=Serial())
    row = together.serving.table.ids.index("c07")  # type: ignore[union-attr]
    assert together.serving.models_KP[row].tobytes() == alone.serving.models_KP[0].tobytes()


def test_local_and_cfl_refuse_a_table_that_would_not_fit(toy: Federation) -> None:
    with pytest.raises(shoal.ShoalError, match="local would keep 12 models of 116 numbers"):
        shoal.run("local", toy, small_net, rounds=1, engine=Serial(), table_limit=1000)
    with pytest.raises(shoal.ShoalError, match="cfl would keep 12 updates of 116 numbers"):
        shoal.run("cfl", toy, small_net, rounds=1, engine=Serial(), table_limit=1000)


def test_a_partial_round_does_not_count(toy: Federation) -> None:
    run = shoal.run(
        "local", toy, small_net, rounds=4, engine=Serial(), selection="round-robin-then-random", clients_per_round=4
    )
    assert [r["partial"] for r in run.history[1:]] == [True, True, False, False]
    best = run.history.best()
    assert best is not None
    assert best["round"] >= 3


def test_an_object_is_as_good_as_a_name(toy: Federation) -> None:
    named = shoal.run("fedprox", toy, small_net, rounds=2, engine=Serial(), mu=0.5, lr=0.1, clients_per_round=5)
    made = shoal.FedAvg(select=shoal.Random(5), solver=SGD(lr=0.1).plus(Proximal(0.5)))
    given = shoal.run(made, toy, small_net, rounds=2, engine=Serial())
    assert named.serving.models_KP.tobytes() == given.serving.models_KP.tobytes()


def test_of_pooled_data_no_model_travels(toy: Federation) -> None:
    engine = Engine(Serial(), Layout.of(small_net, toy.sample()))
    engine.set_federation(toy)
    state, _ = shoal.Central().init(engine, Key(0).at(0))
    _, record = shoal.Central().step(state, engine, Key(0).at(1))
    assert record.not_transmitted
