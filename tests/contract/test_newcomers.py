"""A newcomer that fails while it looks for its group has none, and nobody else is disturbed by that."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conftest import small_net
from tests.support import Misbehaving

from shoal.algorithms import ALGORITHMS
from shoal.backends import Serial
from shoal.data.federation import Federation
from shoal.engine import Engine
from shoal.layout import Layout
from shoal.seeds import Key

OWN: dict[str, dict[str, Any]] = {"cfl": {"split_rounds": "1"}, "flhc": {"rounds_before": 1}}
NAMES = [name for name in ALGORITHMS if name not in ("given", "fedfusion")]  # tags, and a model of its own


def engine_of(toy: Federation, faults: dict[str, str]) -> Engine:
    engine = Engine(Misbehaving(Serial(), faults), Layout.of(small_net, toy.sample()))
    engine.set_federation(toy)
    return engine


@pytest.mark.parametrize("name", NAMES)
def test_who_fails_gets_no_group(name: str, toy: Federation) -> None:
    method, known = ALGORITHMS[name](**OWN.get(name, {})), toy.keep(list(toy.ids[:10]))
    engine = engine_of(known, {})
    state, _ = method.init(engine, Key(0).at(0))
    for t in (1, 2):
        state, _ = method.step(state, engine, Key(0).at(t))
    asked = engine_of(toy, {"c10": "nan", "c11": "raises"})
    got = method.assign(state, ("c10", "c11"), asked, Key(0).at(3)("assign"))
    ledger = asked.drain()
    if ledger.counts or ledger.diagnostics:  # it asked them
        assert got.cohort == ()
        assert len(got.which_N) == 0
    else:
        assert (got.cohort, got.which_N.tolist()) == (("c10", "c11"), [0, 0])


@pytest.mark.parametrize("name", [name for name in NAMES if ALGORITHMS.traits(name).get("single_model")])
def test_a_method_with_one_model_has_one(name: str, toy: Federation) -> None:
    method, engine = ALGORITHMS[name](), engine_of(toy, {})
    state, _ = method.init(engine, Key(0).at(0))
    assert len(method.serve(state).models_KP) == 1
    assert len(method.serve(method.step(state, engine, Key(0).at(1))[0]).models_KP) == 1
