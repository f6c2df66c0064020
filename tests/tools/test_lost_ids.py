"""The notebook's rounds with ids are CFL's; with positions a second split takes other clients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.algorithms.tiny import clients_of, engine_of
from tools.lost_ids import NotebookRounds, State, play

import shoal
from shoal.seeds import Key
from shoal.solvers import SGD

KEYS: dict[str, Any] = {
    "data": "digits",
    "partition": "rotated:2:clients=6:angle=180",
    "rounds": 3,
    "lr": 0.1,
    "seed": 0,
}


def test_until_the_second_split_it_is_cfl() -> None:
    own: dict[str, Any] = {"criteria": "notebook", "eps1": 0.4, "eps2": 1.6, "aggregate": "plain-mean"}
    there = shoal.run("cfl", engine="serial", **KEYS, **own)
    for keep_ids in (True, False):
        found = play(KEYS, keep_ids)
        assert found["last_three_accuracy"] == pytest.approx(there.summary["last_three_accuracy"], abs=1e-4)
        assert (found["splits"], found["in_none"], found["in_several"]) == ([], 0, 0)


def test_the_second_split_takes_other_clients() -> None:
    """Ann and bob are one cluster, cyd, dan and eve the other, which is split: eve pulls the other way.

    With ids cyd and dan part from eve; their positions are 0, 1 and 2, so that cyd takes the place of eve,
    ann and bob are in two clusters, and dan and eve in none: they keep their models.
    """
    five = {"ann": (9.0, 0, 1), "bob": (9.0, 0, 1), "cyd": (9.0, 0, 1), "dan": (9.0, 0, 1), "eve": (9.0, 1, 1)}
    engine = engine_of(clients_of(five))
    start = State(np.zeros((5, 2)), ((0, 1), (2, 3, 4)), engine.clients.ids)
    found = {}
    for keep_ids in (True, False):
        method = NotebookRounds(keep_ids=keep_ids, solver=SGD(lr=0.8, batch=10))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("tools.lost_ids.EPS1", 9.0)
            found[keep_ids], _ = method.step(start, engine, Key(0).at(21))
    assert found[True].clusters == ((0, 1), (2, 3), (4,))
    assert found[False].clusters == ((0, 1), (0, 1), (2,))
    moved = np.abs(found[False].W_NP).sum(1) > 0
    assert moved.tolist() == [True, True, True, False, False]
    np.testing.assert_allclose(found[False].W_NP[0], 2 * found[True].W_NP[0])  # added twice
