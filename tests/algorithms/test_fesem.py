"""FeSEM's and WeCFL's rounds against numbers worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.algorithms.tiny import START, clients_of, close, engine_of
from tests.conftest import make_toy, small_net
from tests.support import Misbehaving

import shoal
from shoal.algorithms.parts.em_steps import fill_empty, from_new_centres
from shoal.backends import Serial
from shoal.clusterers import Clusters
from shoal.errors import BadInput
from shoal.seeds import Key
from shoal.selection import All
from shoal.solvers import SGD
from shoal.types import Answers

# From w = (1, 1) with lr 0.8 updates are 0.4 x (1, -1) for class 0 and 0.4 x (-1, 1) for class 1:
# ann 0.4, bob 0.8, cyd -0.8, dan -0.4 times (1, -1).
FOUR = {"ann": (1.0, 0, 1), "bob": (2.0, 0, 3), "cyd": (2.0, 1, 1), "dan": (1.0, 1, 5)}
AWAY = np.array([1.0, -1.0])


def after_first_round(method: Any, federation: Any = None) -> tuple[Any, Any, Any]:
    engine = engine_of(federation or clients_of(FOUR))
    state, _ = method.init(engine, Key(0).at(0))
    state, record = method.step(state, engine, Key(0).at(1))
    return engine, state, record


@pytest.mark.parametrize(
    ("make", "centres"),
    [
        (shoal.FeSEM, [[0.6], [-0.6]]),  # plain means: (0.4 + 0.8) / 2 and -(0.8 + 0.4) / 2
        (shoal.WeCFL, [[0.7], [-2.8 / 6]]),  # by samples: (0.4 + 3 * 0.8) / 4 and -(0.8 + 5 * 0.4) / 6
    ],
)
def test_the_first_centres_are_means_of_the_clients_first_solutions(make: Any, centres: list[list[float]]) -> None:
    # Whatever two clients k-means begins with, it ends with the cut between -0.4 and 0.4.
    _, state, record = after_first_round(make(groups=2, select=All(), solver=SGD(lr=0.8, batch=10)))
    assert dict(zip(state.group.ids, state.group.rows.tolist(), strict=True)) == {
        "ann": 0,
        "bob": 0,
        "cyd": 1,
        "dan": 1,
    }
    close(state.Omega_KP, START + np.array(centres) * AWAY)
    close(state.first_KP, state.Omega_KP)  # kept for newcomers
    assert len(record.trained) == 4


def test_who_changes_its_centre_brings_its_own_solution() -> None:
    # Centres 0 and 4; b learnt 5 from centre 0, its solution 5 is nearer to 4, from which it is an update of 1.
    got = Answers(("a", "b"), np.array([0, 0]), {"update": np.array([[1.0], [5.0]]), "count": np.array([1, 1])})
    moved = from_new_centres(got, np.array([[0.0], [4.0]]), np.array([0, 1]))
    assert moved["update"].tolist() == [[1.0], [1.0]]
    assert moved.which_N.tolist() == [0, 1]
    assert got["update"].tolist() == [[1.0], [5.0]]  # not changed in place


def test_a_group_is_filled_again_only_if_it_is_empty() -> None:
    # Three clients around 0, 1 and 9 are all in group 0. Group 1 has nobody: it is given the one at 9. If somebody who
    # was not asked in this round is in group 1, nothing moves.
    rows_ND, found = np.array([[0.0], [1.0], [9.0]]), Clusters(np.zeros(3, int), np.array([[10 / 3], [50.0]]), 7.0)
    filled, moved = fill_empty(found, rows_ND, np.ones(3), np.array([0, 0, 0, -1]))
    assert (filled.labels_N.tolist(), filled.centres_KD.tolist(), moved) == ([0, 0, 1], [[0.5], [9.0]], [2])
    close(np.array(filled.F), (0.25 + 0.25 + 0) / 3)
    kept, moved = fill_empty(found, rows_ND, np.ones(3), np.array([0, 0, 0, 1]))
    assert kept is found
    assert moved == []


@pytest.mark.parametrize(("every", "measured"), [(0, []), (1, [1, 2, 3, 4]), (2, [2, 4]), (3, [3])])
def test_clusterability_is_measured_every_so_many_rounds(every: int, measured: list[int]) -> None:
    run = shoal.run("fesem", make_toy(), small_net, rounds=4, engine=Serial(), groups=2, clusterability_every=every)
    assert [row["round"] for row in run.history[1:] if "B_max" in row["measures"]] == measured


@pytest.mark.parametrize("start", ["kmeans", "random_models"])
def test_a_round_in_which_nobody_answers_changes_nothing(start: str) -> None:
    toy = make_toy()
    bad = Misbehaving(Serial(), dict.fromkeys(toy.ids, "nan"))
    run = shoal.run("fesem", toy, small_net, rounds=2, engine=bad, min_answers=0, groups=2, init=start)
    assert run.history.column("trained")[1:] == [0, 0]


def test_random_models_must_be_counted() -> None:
    with pytest.raises(BadInput, match="groups=auto needs init=directions"):
        shoal.run("fesem", make_toy(), small_net, rounds=1, engine=Serial(), groups="auto", init="random_models")
