"""The mini-batches of a local training: which samples each step sees."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from shoal.types import Array

if TYPE_CHECKING:
    from shoal.solvers.sgd import SGD

__all__ = ["batch_order", "batches"]


def batches(n: int, solver: SGD, rng: np.random.Generator, pairs: bool = False) -> Iterator[Array]:
    """Index arrays of the mini-batches: consecutive slices of each epoch's order, the last one may be short.

    With `pairs` (batch normalisation) a last batch of a single sample is joined to the one before it.

    Args:
        n: Samples.
        solver: Says epochs or steps, the batch and whether to shuffle.
        rng: Draws the orders.
        pairs: No batch of one sample.

    Yields:
        The places of the samples, batch by batch.

    >>> from shoal.solvers import SGD
    >>> [b.tolist() for b in batches(5, SGD(batch=2, shuffle=False), np.random.default_rng(0))]
    [[0, 1], [2, 3], [4]]
    >>> [len(b) for b in batches(5, SGD(batch=2, steps=4), np.random.default_rng(0), pairs=True)]
    [2, 3, 2, 3]
    """
    order, cuts = batch_order(n, solver, rng, pairs)
    for i, j in pairwise(cuts):
        yield order[i:j]


def batch_order(n: int, solver: SGD, rng: np.random.Generator, pairs: bool = False) -> tuple[Array, Array]:
    """All mini-batches in two arrays: batch s is `order[cuts[s]:cuts[s + 1]]`.

    Args:
        n: Samples.
        solver: Says epochs or steps, the batch and whether to shuffle.
        rng: Draws the orders.
        pairs: No batch of one sample.

    Returns:
        The places of the samples in order, and where batches begin and end.

    >>> from shoal.solvers import SGD
    >>> order, cuts = batch_order(3, SGD(batch=2, epochs=2, shuffle=False), np.random.default_rng(0))
    >>> order.tolist(), cuts.tolist()
    ([0, 1, 2, 0, 1, 2], [0, 2, 3, 5, 6])
    """
    starts = np.arange(0, n, solver.batch)
    if pairs and len(starts) > 1 and n - starts[-1] == 1:
        starts = starts[:-1]
    steps = len(starts) * solver.epochs if solver.steps is None else solver.steps if n else 0
    epochs = -(-steps // max(len(starts), 1))
    if not steps:
        return np.zeros(0, np.int64), np.zeros(1, np.int64)
    order_EN = np.tile(np.arange(n), (epochs, 1))
    if solver.shuffle:
        rng.permuted(order_EN, axis=1, out=order_EN)
    order = order_EN.reshape(-1)
    cuts = (np.arange(epochs)[:, None] * n + starts).reshape(-1)[: steps + 1]
    if len(cuts) == steps:
        cuts = np.append(cuts, epochs * n)
    return order[: cuts[-1]], cuts
