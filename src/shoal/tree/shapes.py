"""Shapes and kinds of inputs, by which a model is tried on data that lie elsewhere."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shoal.errors import BadInput
from shoal.tree.inputs import Sequences, Tree, batch, leaves, take, tree_map
from shoal.tree.ragged import Ragged

Shape = tuple[int, ...] | dict[str, tuple[int, ...]]  # of one input; by name where there are several arrays
Kind = str | dict[str, str]  # the dtype of its numbers, likewise


def shape_of(x: Tree) -> Shape:
    """The shape of one input as a model is given it; the arrays of a tuple are called `0`, `1` and so on.

    Where a batch of sequences is as long as its longest, 0 stands for the length.

    Args:
        x: Inputs.

    Returns:
        A shape, or shapes by name.

    >>> shape_of(np.zeros((5, 1, 8, 8))), shape_of({"age": np.zeros(5), "scan": np.zeros((5, 8, 8))})
    ((1, 8, 8), {'age': (), 'scan': (8, 8)})
    >>> shape_of(Sequences(Ragged.of([np.array([7, 8])])))
    {'input_ids': (0,), 'attention_mask': (0,)}
    """
    if not isinstance(x, Sequences):
        found: Shape = tree_map(lambda leaf: tuple(leaf.shape[1:]), by_name(x))
        return found
    sizes_N = next((leaf.sizes for leaf in leaves(x) if isinstance(leaf, Ragged)), np.ones(1))
    one = take(x, [int(np.argmax(sizes_N))])  # the longest, and half of it
    short, long = shape_of(batch(replace(one, rows=tree_map(halved, one.rows)))), shape_of(batch(one))
    if isinstance(short, dict) and isinstance(long, dict) and short.keys() == long.keys():
        return {name: common(sizes, long[name]) for name, sizes in short.items()}
    if isinstance(short, dict) or isinstance(long, dict):
        raise BadInput("the collate function makes other kinds of longer sequences; let it make one kind")
    return common(short, long)


def common(short: tuple[int, ...], long: tuple[int, ...]) -> tuple[int, ...]:
    """What two shapes have in common, 0 where they differ."""
    if len(short) != len(long):
        raise BadInput("the collate function makes other kinds of longer sequences; let it make one kind")
    return tuple(n if n == m else 0 for n, m in zip(short, long, strict=True))


def kind_of(x: Tree) -> Kind:
    """The dtypes of inputs as a model is given them, named as `shape_of` names shapes.

    Args:
        x: Inputs.

    Returns:
        A dtype, or dtypes by name.

    >>> kind_of((np.zeros(3), np.zeros(3, np.int64)))
    {'0': 'float64', '1': 'int64'}
    """
    found: Kind = tree_map(lambda leaf: leaf.dtype.name, by_name(batch(take(x, slice(0, 1)))))
    return found


def zeros(shape: Shape, kind: Kind) -> Tree:
    """One input of a shape, of zeros; what has any length has length 1.

    Args:
        shape: As `shape_of` gives it.
        kind: As `kind_of` gives it.

    Returns:
        An input with an axis for the batch.

    >>> zeros({"0": (2,), "1": (0, 3)}, {"0": "float32", "1": "int64"})[1].shape
    (1, 1, 3)
    """
    if not isinstance(shape, dict) or not isinstance(kind, dict):
        assert not isinstance(shape, dict) and not isinstance(kind, dict)
        return np.zeros((1, *(n or 1 for n in shape)), kind)
    made = {name: np.zeros((1, *(n or 1 for n in sizes)), kind[name]) for name, sizes in shape.items()}
    return placed(made)


def told(shape: Shape) -> str:
    """A shape in words.

    >>> told((1, 8, 8)), told({"input_ids": (0,), "age": ()})
    ('1x8x8', 'input_ids: any length, age: a single number')
    """
    if isinstance(shape, dict):
        return ", ".join(f"{name}: {told(sizes)}" for name, sizes in shape.items())
    if 0 in shape:
        return " x ".join(str(n) if n else "any length" for n in shape)
    return "x".join(map(str, shape)) or "a single number"


def placed(x: Tree) -> Tree:
    """The other side of `by_name`."""
    return tuple(x[str(i)] for i in range(len(x))) if isinstance(x, dict) and "0" in x else x


def by_name(x: Tree) -> Tree:
    """The arrays of a tuple as a dict."""
    return {str(i): leaf for i, leaf in enumerate(x)} if isinstance(x, tuple) else x


def halved(leaf: Tree) -> Tree:
    """Every row half as long, rounded up."""
    return Ragged.of([row[: -(-len(row) // 2)] for row in leaf], leaf.index.dtype) if isinstance(leaf, Ragged) else leaf
