"""FL+HC's clustering against numbers worked out by hand, and where nobody can be clustered."""

from __future__ import annotations

import numpy as np
from sklearn.cluster import AgglomerativeClustering
from tests.algorithms.tiny import START, clients_of, close, engine_of
from tests.support import Misbehaving

import shoal
from shoal.backends import Serial
from shoal.measures import choose_k
from shoal.seeds import Key
from shoal.selection import All
from shoal.solvers import SGD
from shoal.types import Array

# From w = (1, 1) with lr 0.8 updates are 0.4 x (1, -1) for class 0 and 0.4 x (-1, 1) for class 1:
# ann 0.4, bob 1.2, cyd -0.8, dan -0.4 times (1, -1).
FOUR = {"ann": (1.0, 0, 1), "bob": (3.0, 0, 3), "cyd": (2.0, 1, 1), "dan": (1.0, 1, 5)}
AWAY = np.array([1.0, -1.0])


def test_groups_by_cosine_go_on_from_the_model_of_the_clustering() -> None:
    # It is round 2, after rounds_before = 1: everybody trains and is clustered. Cosines are 1 inside {ann, bob} and
    # {cyd, dan} and -1 across: a threshold of 1 (cosine distance 0 or 2) makes two groups. Means of updates, plain: 0.8
    # and -0.6; models, by samples: (0.4 + 3.6) / 4 = 1 and -(0.8 + 2.0) / 6.
    engine = engine_of(clients_of(FOUR))
    method = shoal.FLHC(rounds_before=1, threshold=1.0, metric="cosine", select=All(), solver=SGD(lr=0.8, batch=10))
    state, _ = method.init(engine, Key(0).at(0))
    state, record = method.step(state, engine, Key(0).at(2))
    assert dict(zip(state.group.ids, state.group.rows.tolist(), strict=True)) == {
        "ann": 0,
        "bob": 0,
        "cyd": 1,
        "dan": 1,
    }
    close(state.w_cut_P, START)
    close(state.means_KP, [0.8 * AWAY, -0.6 * AWAY])
    close(state.w_KP, [START + AWAY, START - 2.8 / 6 * AWAY])
    assert record.representation is not None
    assert record.representation.measure == "cosine"


def test_before_its_rounds_are_over_it_is_one_model() -> None:
    engine = engine_of(clients_of(FOUR))
    method = shoal.FLHC(rounds_before=2, threshold=1.0, metric="cosine", select=All(), solver=SGD(lr=0.8, batch=10))
    state, _ = method.init(engine, Key(0).at(0))
    sizes = []
    for t in (1, 2, 3):
        state, _ = method.step(state, engine, Key(0).at(t))
        sizes.append(len(state.w_KP))
    assert sizes == [1, 1, 2]


def test_a_clustering_that_nobody_answers_waits_for_the_next_round() -> None:
    federation = clients_of(FOUR)
    dead = engine_of(federation, Misbehaving(Serial(), dict.fromkeys(FOUR, "raises")), min_answers=0)
    method = shoal.FLHC(rounds_before=1, threshold=1.0, metric="cosine", select=All(), solver=SGD(lr=0.8, batch=10))
    start, _ = method.init(dead, Key(0).at(0))
    state, record = method.step(start, dead, Key(0).at(2))
    close(state.w_KP, start.w_KP)
    assert record.trained is not None
    assert (len(state.means_KP), len(record.trained), record.measures) == (0, 0, {})
    state, _ = method.step(state, engine_of(federation), Key(0).at(3))
    assert len(state.means_KP) == len(state.w_KP) == 2


# Six clients on a line, at 0.4, 0.6, 0.8 and their opposites times (1, -1): two groups.
SIX = {
    f"{i}": (x, label, 1) for i, (x, label) in enumerate([(1.0, 0), (1.5, 0), (2.0, 0), (1.0, 1), (1.5, 1), (2.0, 1)])
}


def test_the_gap_criterion_cuts_its_uniform_samples_by_distances_of_their_own() -> None:
    # What the record holds is what scikit-learn's complete linkage gives on the updates and on each of the samples.
    engine, key = engine_of(clients_of(SIX)), Key(0).at(2)
    method = shoal.FLHC(rounds_before=1, criterion="gap", select=All(), solver=SGD(lr=0.8, batch=10))
    state, _ = method.init(engine, Key(0).at(0))
    state, record = method.step(state, engine, key)

    def cut(rows_ND: Array, k: int, rng: np.random.Generator) -> Array:
        return np.asarray(AgglomerativeClustering(k, linkage="complete").fit_predict(rows_ND))

    rows_ND = 0.4 * np.array([[1.0], [1.5], [2.0], [-1.0], [-1.5], [-2.0]]) * AWAY
    want = choose_k(rows_ND, range(1, 6), cut, "gap", key("cluster").rng())
    assert want.k == 2
    assert state.group.rows.tolist() == [0, 0, 0, 1, 1, 1]
    assert record.measures["gap"].keys() == {"1", "2", "3", "4", "5"}
    close(np.array([record.measures["gap"][str(k)] for k in range(1, 4)]), [want.values[k] for k in range(1, 4)])
