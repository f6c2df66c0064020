"""CFL's tree by hand: what a split keeps, where newcomers end up, and which model of its path a client takes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from tests.algorithms.tiny import START, clients_of, close, engine_of
from tests.support import Misbehaving

import shoal
from shoal.algorithms.parts.split_tree import Node, best_on_path, divide, leaf_names, path, walk_down
from shoal.backends import Serial
from shoal.seeds import Key
from shoal.solvers import SGD
from shoal.table import Table

FOUR = {"ann": (1.0, 0, 2), "bob": (1.0, 1, 2), "cyd": (1.0, 1, 2), "dan": (1.0, 0, 2)}
LEAVES = np.array([[1.0, 2.0], [3.0, 4.0]])


def two_clusters() -> Any:
    """A state with two clusters, {ann, dan} and {bob, cyd}, made by one split; every update is the client's number."""
    latest = Table().put(("ann", "bob", "cyd", "dan"), np.array([[1.0, 0.0], [2.0, 0.0], [4.0, 2.0], [8.0, 0.0]]))
    group = Table().put(("ann", "bob", "cyd", "dan"), np.array([0, 1, 1, 0]))
    tree, split_SP = (Node(0, (1, 2), 0),), np.array([[0.5, 0.5]])
    means_SP = np.array([[4.5, 0.0], [3.0, 1.0]])
    server = {"m": np.array([[10.0], [20.0]])}
    return shoal.CFL.state(LEAVES, group, latest, Table(), tree, split_SP, means_SP, Table(), server)


def test_what_a_split_keeps() -> None:
    # Cluster 1 (node 2) becomes nodes 3 and 4: bob goes on as 1, cyd is the new cluster 2, both from model (3, 4) and
    # with the server's memory of cluster 1. Means of one client each are its own update.
    after = divide(two_clusters(), 1, [("bob",), ("cyd",)])
    close(after.theta_KP, [[1, 2], [3, 4], [3, 4]])
    assert after.group.get(("ann", "bob", "cyd", "dan"), -1).tolist() == [0, 1, 2, 0]
    assert after.tree == (Node(0, (1, 2), 0), Node(2, (3, 4), 1))
    close(after.cached_SP, [[0.5, 0.5], [3, 4]])
    close(after.means_SP, [[4.5, 0], [3, 1], [2, 0], [4, 2]])
    close(after.server["m"], [[10], [20], [20]])


def test_means_are_of_each_side_and_who_is_on_neither_side_has_no_cluster() -> None:
    # ann and dan on one side: ((1 + 8) / 2, 0). Cluster 0 had both; without dan he has no cluster any more.
    state = replace(two_clusters(), group=Table().put(("ann", "bob", "cyd", "dan"), np.zeros(4, int)))
    after = divide(state, 0, [("ann", "dan"), ("cyd",)])
    close(after.means_SP[2:], [[4.5, 0], [4, 2]])
    assert after.group.get(("ann", "bob", "cyd", "dan"), -1).tolist() == [0, -1, 2, 0]
    assert after.tree[-1] == Node(1, (3, 4), 0)


def test_paths_and_leaves() -> None:
    tree = (Node(0, (1, 2), 0), Node(1, (3, 4), 0), Node(4, (5, 6), 2))
    assert leaf_names(tree) == [3, 2, 5, 6]
    assert [path(tree, leaf) for leaf in leaf_names(tree)] == [[0, 1], [0], [0, 1, 2], [0, 1, 2]]


def test_each_client_takes_the_best_model_of_its_path() -> None:
    # Scores of the right class less the other's: ann and dan (class 0) have -2 in leaf 0, 2 in the split's own model,
    # number 2 after the leaves; bob and cyd (class 1) have -1 in leaf 1 and -2 in the split's.
    engine = engine_of(clients_of(FOUR).with_validation(0.5, Key(1)))
    state = replace(
        two_clusters(), theta_KP=np.array([[-1.0, 1.0], [0.5, -0.5]]), cached_SP=np.array([[1.0, -1.0]]), server={}
    )
    assert best_on_path(state, engine, Key(0).at(1)).get(("ann", "bob", "cyd", "dan"), -1).tolist() == [2, 1, 1, 2]
    ledger = engine.drain()
    assert (ledger.counts, list(ledger.diagnostics)) == ({}, ["losses"])  # none of the method's own traffic


def test_a_path_of_two_splits() -> None:
    # After the leaves come the models of both splits, numbers 3 and 4. Scores of class 1 less class 0: leaves 0, 1 and
    # 2 have -1, -1 and -2, the first split 1, the second 2. bob and cyd are below both, ann and dan below the first.
    engine = engine_of(clients_of({c: (1.0, 1, 2) for c in FOUR}).with_validation(0.5, Key(1)))
    state = replace(
        divide(two_clusters(), 1, [("bob",), ("cyd",)]),
        theta_KP=np.array([[0.5, -0.5], [0.5, -0.5], [1.0, -1.0]]),
        cached_SP=np.array([[-0.5, 0.5], [-1.0, 1.0]]),
    )
    assert best_on_path(state, engine, Key(0).at(1)).get(("ann", "bob", "cyd", "dan"), -1).tolist() == [3, 4, 4, 3]


def test_newcomers_are_asked_only_at_the_splits_they_come_to() -> None:
    # All splits keep the model (1, 1), from which class 0 learns along (1, -1) and class 1 against it. The first split
    # sends eve to node 1, a leaf, and fay and hal to node 2, which the second one splits into 3 and 4, with its sides
    # the other way round: both go to 3. Leaves 1, 3, 4 are clusters 0, 1, 2. gus fails at once and is asked no more.
    people = {"eve": (1.0, 0, 1), "fay": (1.0, 1, 1), "gus": (1.0, 1, 1), "hal": (2.0, 1, 1)}
    engine = engine_of(clients_of(people), Misbehaving(Serial(), {"gus": "raises"}))
    away = np.array([1.0, -1.0])
    state = replace(
        two_clusters(),
        tree=(Node(0, (1, 2), 0), Node(2, (3, 4), 1)),
        cached_SP=np.array([START, START]),
        means_SP=np.array([away, -away, -away, away]),
    )
    got = walk_down(state, tuple(people), SGD(lr=0.8, batch=10), engine, Key(0).at(3))
    assert got.cohort == ("eve", "fay", "hal")
    assert got.which_N.tolist() == [0, 1, 1]
    assert [f.client for f in got.failed] == ["gus"]
