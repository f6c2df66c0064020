"""Groups that owners publish: a value that nobody had at the start has no model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.algorithms.tiny import clients_of, engine_of

import shoal
from shoal.errors import BadInput
from shoal.seeds import Key

TWO = {"ann": (1.0, 0, 1), "bob": (1.0, 1, 1)}


def tagged(**site: str) -> Any:
    return replace(clients_of(TWO), tags={client: {"site": value} for client, value in site.items()})


def test_a_value_that_is_new_is_one_sentence() -> None:
    engine = engine_of(tagged(ann="north", bob="south"))
    method = shoal.Given(by="site")
    state, record = method.init(engine, Key(0).at(0))
    assert (state.values, record.measures) == (("north", "south"), {"values": ["north", "south"]})
    assert state.group.get(("ann", "bob"), -1).tolist() == [0, 1]
    engine.set_federation(tagged(ann="south", bob="south"))
    assert method.assign(state, ("ann",), engine, Key(0).at(1)).which_N.tolist() == [1]
    engine.set_federation(tagged(ann="east", bob="south"))
    with pytest.raises(BadInput, match=r"^there is no group for site='east'; the groups are north, south$"):
        method.step(state, engine, Key(0).at(1))
