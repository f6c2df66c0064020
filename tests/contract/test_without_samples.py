"""A client without training samples is there and has no part in anything: nobody waits for it, nothing is another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from tests.algorithms.tiny import clients_of, engine_of
from tests.contract.test_algorithms import ALIASES, groups_of, models_of, plan_of, played

import shoal
from shoal.algorithms import ALGORITHMS
from shoal.data.federation import Federation, OnDemand
from shoal.seeds import Key
from shoal.selection import All
from shoal.solvers import SGD
from shoal.tree import Tree
from shoal.types import Array

UNION, TAGS = "central", "given"  # need what data on demand do not have
NAMES = sorted(set(ALGORITHMS) - set(ALIASES) - {UNION, TAGS})


@dataclass(frozen=True)
class Give:
    """The data of a client; of one that is not known nothing to train on, and the tests of the first."""

    known: Federation

    def __call__(self, client: str) -> Callable[[str], tuple[Tree, Array]]:
        if client in self.known.ids:
            return self.known.client(client)
        first = self.known.client(self.known.ids[0])
        return lambda split: (first(split)[0][:0], first(split)[1][:0]) if split == "train" else first(split)


def crowd(known: Federation, *empty: str) -> OnDemand:
    ids = tuple(sorted((*known.ids, *empty)))
    sizes_N = np.array([known.roster.size(c) if c in known.ids else 0 for c in ids])
    return OnDemand("crowd", ids, sizes_N, known.classes, Give(known), known.sample().shape[1:])


@pytest.mark.parametrize("name", NAMES)
def test_it_changes_no_model_and_every_round_counts(name: str, toy: Federation) -> None:
    without, within = plan_of(name, crowd(toy)), plan_of(name, crowd(toy, "a nobody", "zz nobody"))
    for one, other in zip(played(without), played(within), strict=True):
        assert models_of(without, one) == models_of(within, other)
        assert groups_of(without, one, toy.ids) == groups_of(within, other, toy.ids)
        assert [one.row.get(key) for key in ("accuracy", "partial", "loss")] == [
            other.row.get(key) for key in ("accuracy", "partial", "loss")
        ]
    assert other.row["partial"] is False


def test_cfl_splits_without_it_and_lets_it_come_later() -> None:
    # From w = (1, 1) with lr 0.8 ann learns 0.4 (1, -1), cyd -0.4 (1, -1). The mean by samples is 0, so that the two
    # are split. bob has no samples and is of no side; once it has the sample of cyd it goes to the side of cyd.
    two = {"ann": (1.0, 0, 1), "cyd": (1.0, 1, 1)}
    engine = engine_of(clients_of(two))
    engine.set_federation(crowd(clients_of(two), "bob"))
    method = shoal.CFL(eps1=0.1, eps2=0.1, select=All(), solver=SGD(lr=0.8, batch=10))
    state, _ = method.init(engine, Key(0).at(0))
    state, record = method.step(state, engine, Key(0).at(1))
    assert [event["kind"] for event in record.events] == ["split"]
    state, _ = method.step(state, engine, Key(0).at(2))
    assert state.group.get(("ann", "bob", "cyd"), -1).tolist() == [0, -1, 1]
    engine.set_federation(clients_of({**two, "bob": (1.0, 1, 1)}))
    state, _ = method.step(state, engine, Key(0).at(3))
    assert state.group.get(("ann", "bob", "cyd"), -1).tolist() == [0, 1, 1]
