"""CFL's tree of splits: nodes have names (the root is 0), a split names its two sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.algorithms.parts.newcomers import on_trial
from shoal.measures import cosine_to
from shoal.seeds import Key
from shoal.table import Table
from shoal.tasks import Losses, Train
from shoal.types import Answers, Array, Cohort, Engine, Failure, Solver


@dataclass(frozen=True)
class Node:
    """A split: the node that was split, its two sides, and the number that its model had."""

    name: int
    children: tuple[int, ...]
    group: int


def leaf_names(tree: Sequence[Node]) -> list[int]:
    """The node of every leaf, by the number of its model.

    Args:
        tree: The splits, in order.

    Returns:
        Names of nodes; a split gives its number to its first side, and the next new one to the other.

    >>> leaf_names([Node(0, (1, 2), 0), Node(2, (3, 4), 1)])
    [1, 3, 4]
    """
    leaves = [0]
    for node in tree:
        leaves[node.group] = node.children[0]
        leaves.append(node.children[1])
    return leaves


def path(tree: Sequence[Node], node: int) -> list[int]:
    """The splits above a node, from the root down, by their number.

    Args:
        tree: The splits, in order.
        node: The name of a node.

    Returns:
        Places in the tree.

    >>> path([Node(0, (1, 2), 0), Node(2, (3, 4), 1)], 4)
    [0, 1]
    """
    parent = {child: (s, split.name) for s, split in enumerate(tree) for child in split.children}
    found: list[int] = []
    while node in parent:
        s, node = parent[node]
        found.append(s)
    return found[::-1]


def divide(state: Any, k: int, sides: Sequence[Cohort]) -> Any:
    """CFL's state after a split: side 0 goes on as cluster k, side 1 as a new last one, both from the model of k.

    Args:
        state: Of CFL.
        k: The cluster that is split.
        sides: The clients of its two sides; who was in the cluster and is in neither has no cluster any more.

    Returns:
        The state with one model more, and the split at the end of its tree.
    """
    node, top = leaf_names(state.tree)[k], 1 + 2 * len(state.tree)  # the root is 0, a split makes the next two nodes
    means = [state.latest.get(side, 0.0).astype(np.float64).mean(0).astype(state.theta_KP.dtype) for side in sides]
    others, model_1P = np.flatnonzero(state.group.rows != k), state.theta_KP[k : k + 1]
    group = Table(tuple(state.group.ids[i] for i in others), state.group.rows[others])
    for side, number in zip(sides, (k, len(state.theta_KP)), strict=True):
        group = group.put(side, np.full(len(side), number))
    return replace(
        state,
        theta_KP=np.concatenate([state.theta_KP, model_1P]),
        group=group,
        tree=(*state.tree, Node(node, (top, top + 1), k)),
        cached_SP=np.concatenate([state.cached_SP, model_1P]),
        means_SP=np.concatenate([state.means_SP, np.stack(means)]),
        server={name: np.concatenate([rows, rows[k : k + 1]]) for name, rows in state.server.items()},
    )


def walk_down(state: Any, cohort: Cohort, solver: Solver, engine: Engine, key: Key) -> Answers:
    """Newcomers at every split train from its model and take the side with the more similar mean update; ties: side 0.

    Args:
        state: Of CFL.
        cohort: The newcomers.
        solver: What they train with.
        engine: Asks them.
        key: Of this question.

    Returns:
        The cluster of each who came to one: who failed on the way, or has no samples, did not.
    """
    here = dict.fromkeys(cohort, 0)  # the node at which each newcomer stands
    failed: tuple[Failure, ...] = ()
    for s, node in enumerate(state.tree):
        at = tuple(c for c in cohort if here[c] == node.name)
        if not at:
            continue
        zeros_N = np.zeros(len(at), int)
        train = Train(on_trial(solver))
        got = engine.map(train, at, state.cached_SP[s][None], zeros_N, key(f"split {s}"), min_answers=0)
        failed += got.failed
        for client, side in zip(got.cohort, nearer_side(got, state.means_SP[2 * s : 2 * s + 2], engine), strict=True):
            here[client] = node.children[side]
    leaves = {name: k for k, name in enumerate(leaf_names(state.tree))}
    kept = tuple(c for c in cohort if here[c] in leaves)
    return Answers(kept, np.array([leaves[here[c]] for c in kept], int), {}, failed)


def nearer_side(got: Answers, sides_2P: Array, engine: Engine) -> list[int]:
    """The side of a split whose mean update each answer is more similar to."""
    at = engine.layout.trainable
    return [int(np.argmax(row_2)) for row_2 in cosine_to(got["update"][:, at], sides_2P[:, at])]


def best_on_path(state: Any, engine: Engine, key: Key) -> Table:
    """For every client the model of its path, leaf to root, with the least loss on its validation data.

    Args:
        state: Of CFL.
        engine: Asks the clients.
        key: Of this question.

    Returns:
        The number of each client's model: leaves first, then those of the splits.
    """
    known = tuple(c for c in engine.clients.ids if c in state.group)
    models_KP = np.concatenate([state.theta_KP, state.cached_SP])
    got = engine.map(Losses("val", diagnostic=True), known, models_KP, None, key, min_answers=0)
    leaves, chosen = leaf_names(state.tree), []
    for leaf, losses_K in zip(state.group.get(got.cohort, 0).tolist(), got["losses"], strict=True):
        above = [len(state.theta_KP) + s for s in path(state.tree, leaves[leaf])]
        chosen.append(min([leaf, *above], key=lambda k: losses_K[k]))
    return Table().put(known, state.group.get(known, 0)).put(got.cohort, np.array(chosen, int))
