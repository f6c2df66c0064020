"""CFL's tree of splits: nodes have names (the root is 0), a split names its two sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.measures import cosine_to
from shoal.types import Array


@dataclass(frozen=True)
class Node:
    """A split: the node that was split, its two sides, and the number that its model had."""

    name: int
    children: tuple[int, ...]
    group: int


def path(tree: Sequence[Node], node: int) -> list[int]:
    """The splits above a node, from the root down, by their number.

    >>> path([Node(0, (1, 2), 0), Node(2, (3, 4), 1)], 4)
    [0, 1]
    """
    parent = {child: (s, split.name) for s, split in enumerate(tree) for child in split.children}
    found: list[int] = []
    while node in parent:
        s, node = parent[node]
        found.append(s)
    return found[::-1]


def walk(updates_NP: Array, sides_2P: Array, at: slice = slice(None)) -> list[int]:
    """The side of a split that each update is more similar to, ties to the first.

    >>> walk(np.array([[0.0, 1.0]]), np.array([[1.0, 0.0], [0.0, 2.0]]))
    [1]
    """
    return [int(np.argmax(row_2)) for row_2 in cosine_to(updates_NP[:, at], sides_2P[:, at])]
