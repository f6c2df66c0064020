"""What samples are learned towards: classes, labels, tokens or floats, checked as they are given and never recast."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from shoal.errors import BadInput
from shoal.records import IGNORED
from shoal.types import Array

MAX_CLASSES = 1_000_000


def checked_targets(client: str, y_N: Array) -> Array:
    """The targets of a client: whole numbers in 64 bits, floats as they are, or one sentence.

    Args:
        client: Whose.
        y_N: One per sample: a number, or an array of them.

    Returns:
        The same.

    >>> [checked_targets("ann", np.array(y)).dtype.name for y in ([0.5, 2.0], [0, 2], [True, False])]
    ['float64', 'int64', 'int64']
    """
    if not y_N.size:
        return y_N.astype(np.int64)
    if y_N.dtype.kind == "f":
        if not np.isfinite(y_N).all():
            raise BadInput(f"the targets of client {client!r} hold a value that is not finite")
        if max(float(y_N.max()), -float(y_N.min())) > float(np.finfo(np.float32).max):
            raise BadInput(f"the targets of client {client!r} hold a value beyond 3.4e+38; scale them down")
        return y_N if y_N.dtype in (np.float32, np.float64) else y_N.astype(np.float32)
    if y_N.dtype.kind not in "biu":
        raise BadInput(f"the labels of client {client!r} must be whole numbers from 0 on, or floats for a regression")
    counted = y_N if y_N.ndim == 1 else y_N[y_N != IGNORED]
    if counted.min(initial=0) < 0:
        ignored = "" if y_N.ndim == 1 else f", or {IGNORED} where none counts"
        raise BadInput(f"the labels of client {client!r} must be whole numbers from 0 on{ignored}; floats may be any")
    if counted.max(initial=0) >= MAX_CLASSES:
        raise BadInput(
            f"client {client!r} has label {int(counted.max())}; labels number the classes from 0 on and must be below "
            f"{MAX_CLASSES:,}, and targets that are no classes are floats"
        )
    return y_N.astype(np.int64)


def joined_targets(ys: Sequence[Array]) -> Array:
    """The targets of all clients in one array, if they are of one kind and shape.

    Args:
        ys: Of each client.

    Returns:
        One after the other.

    >>> joined_targets([np.array([0, 1]), np.array([2])]).tolist()
    [0, 1, 2]
    """
    some = [y for y in ys if len(y)]
    shapes = {y.shape[1:] for y in some}
    if len(shapes) > 1:
        raise BadInput(f"targets of the clients have different shapes: {', '.join(map(str, sorted(shapes)))}")
    if len({y.dtype.kind for y in some}) > 1:
        raise BadInput("some clients have whole numbers as targets and others floats; give all as one kind")
    return np.concatenate(some)


def classes_of(y: Array, classes: int | None) -> int:
    """How many classes targets have; of vectors of 0 and 1 how many labels, of floats how many numbers per sample.

    Args:
        y: All targets.
        classes: What a user says; None: one more than the largest, or as many as a vector has.

    Returns:
        The number.

    >>> classes_of(np.array([0, 2]), None), classes_of(np.array([[0, 1], [1, 1]]), None), classes_of(np.ones(3), None)
    (3, 2, 1)
    """
    if y.dtype.kind == "f" or (y.ndim == 2 and classes is None and np.isin(y, (0, 1)).all()):
        return prod(y.shape[1:]) if classes is None else classes
    top = int(y.max()) + 1
    if classes is not None and classes < top:
        raise BadInput(f"label {top - 1} does not fit into {classes} classes")
    return top if classes is None else classes
