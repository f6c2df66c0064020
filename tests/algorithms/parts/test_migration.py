"""Who has shifted, and where they go, by hand; nobody has a group yet: nobody is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from tests.algorithms.tiny import clients_of, engine_of

from shoal.algorithms.parts.migration import migrate, shifted_clients
from shoal.engine import Engine
from shoal.seeds import Key
from shoal.solvers import SGD
from shoal.table import Table
from shoal.tasks import StoreDirections
from shoal.types import Answers

FOUR = {"ann": (1.0, 0, 2), "bob": (1.0, 0, 2), "cyd": (1.0, 1, 2), "dan": (1.0, 1, 2)}
VECTORS_KP = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0]])  # w_0, and directions towards class 0 and class 1


@dataclass(frozen=True)
class State:
    group: Table
    w_KP: Any = (0, 1)  # two groups


@dataclass(frozen=True)
class Assigns:
    """Gives some newcomers a group, and leaves the others out."""

    to: dict[str, int]

    def assign(self, state: State, cohort: tuple[str, ...], engine: Engine, key: Key) -> Answers:
        known = tuple(c for c in cohort if c in self.to)
        return Answers(known, np.array([self.to[c] for c in known], int))


def test_nobody_warm_is_nobody_shifted() -> None:
    engine = engine_of(clients_of({"ann": (1.0, 0, 1)}))
    for warm in ((), ("gone",)):
        got = shifted_clients(engine, warm, "aligned", Key(0).at(1))
        assert (got.cohort, got.which_N.shape, got["shifted"].shape, got["choice"].shape) == ((), (0,), (0,), (0,))
    assert engine.drain().counts == {}


@pytest.mark.parametrize(
    ("to", "groups", "moved"),
    [
        ({"ann": 1}, [1, 1, 1, 1], ["ann", "bob"]),
        ({"ann": 0}, [0, 1, 1, 1], ["bob"]),  # chosen anew, the same: no migration
        ({}, [0, 1, 1, 1], ["bob"]),  # nobody could assign ann: she stays where she was
    ],
)
def test_who_shifted_goes_to_the_nearest_direction_or_is_a_newcomer_again(
    to: dict[str, int], groups: list[int], moved: list[str]
) -> None:
    """bob and cyd have the directions, ann and dan only their histograms. ann and bob turn from class 0 to class 1."""
    engine, names = engine_of(clients_of(FOUR)), tuple(FOUR)
    engine.map(StoreDirections(), ("bob", "cyd"), VECTORS_KP, None, Key(0).at(0))
    assert shifted_clients(engine, ("ann", "dan"), "aligned", Key(0).at(0)).cohort == ()
    engine.commit()
    engine.set_federation(clients_of({**FOUR, "ann": (1.0, 1, 2), "bob": (1.0, 1, 2)}))
    state = State(Table().put(names, np.array([0, 0, 1, 1])))
    algorithm: Any = Assigns(to)
    after, measures, events = migrate(algorithm, "aligned", SGD(lr=0.8, steps=1), state, engine, Key(0).at(1))
    assert after.group.get(names, -1).tolist() == groups
    assert measures == {"shifted": 2, "migrated": len(moved)}
    assert events == tuple({"kind": "migrated", "client": c, "from": 0, "to": 1} for c in moved)
    assert migrate(algorithm, "off", SGD(), state, engine, Key(0).at(1)) == (state, {}, ())
