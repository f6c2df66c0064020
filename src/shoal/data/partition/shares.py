"""Dealing by shares: a matrix says what part of each class every client gets; samples are cut accordingly.

C classes, N clients. Whatever the shares, every sample of a class goes to exactly one client.
"""

from __future__ import annotations

import numpy as np

from shoal.data.dataset import Dataset
from shoal.data.federation import Federation
from shoal.data.partition.assemble import assemble, samples_needed
from shoal.errors import BadInput
from shoal.seeds import Key
from shoal.types import Array


def counts_of(sizes_C: Array, shares_CN: Array) -> Array:
    """Whole numbers of samples, cumulated shares rounded down: rows sum exactly to the class sizes.

    >>> counts_of(np.array([10]), np.array([[0.25, 0.25, 0.5]])).tolist()
    [[2, 3, 5]]
    """
    ends_CN = np.cumsum(shares_CN, axis=1)
    total_C = ends_CN[:, -1:]
    if np.any((total_C[:, 0] <= 0) & (sizes_C > 0)):
        raise ValueError("a class with samples has no share at all")
    ends_CN = np.divide(ends_CN, total_C, out=np.zeros_like(ends_CN), where=total_C > 0)
    ends_CN = np.floor(ends_CN * sizes_C[:, None] + 1e-9).astype(np.int64)
    return np.diff(ends_CN, axis=1, prepend=0)


def fill_to_minimum(counts_CN: Array, shares_CN: Array, least: int, allowed_CN: Array) -> Array | None:
    """Bring every client to `least` samples; None if that cannot be done.

    A client that has too few takes single samples of the classes it has most of by its shares (of those allowed),
    each from the client that has most samples of the class and can spare one.

    >>> counts = np.array([[5, 0], [3, 0]])
    >>> fill_to_minimum(counts, np.array([[0.9, 0.1], [1.0, 0.0]]), 2, np.ones((2, 2), bool)).tolist()
    [[3, 2], [3, 0]]
    """
    counts_CN = counts_CN.copy()
    total_N = counts_CN.sum(0)
    if total_N.sum() < least * len(total_N):
        return None
    for n in np.flatnonzero(total_N < least):
        for c in sorted(np.flatnonzero(allowed_CN[:, n]).tolist(), key=lambda c: (-shares_CN[c, n], c)):
            while total_N[n] < least:
                spare_N = np.where(total_N > least, counts_CN[c], 0)
                giver = int(np.argmax(spare_N))
                if spare_N[giver] == 0:
                    break
                counts_CN[c, giver] -= 1
                counts_CN[c, n] += 1
                total_N[giver] -= 1
                total_N[n] += 1
        if total_N[n] < least:
            return None
    return counts_CN


def deal(y: Array, rows: Array, counts_CN: Array, rng: np.random.Generator) -> list[Array]:
    """Index arrays of the clients: each class shuffled and cut at the counts.

    >>> y = np.array([0, 0, 1, 1, 1])
    >>> parts = deal(y, np.arange(5), np.array([[2, 0], [1, 2]]), np.random.default_rng(0))
    >>> [sorted(y[p].tolist()) for p in parts]
    [[0, 0, 1], [1, 1]]
    """
    pieces: list[list[Array]] = [[] for _ in range(counts_CN.shape[1])]
    for c, counts_N in enumerate(counts_CN):
        own = rng.permutation(rows[y[rows] == c])
        for piece, part in zip(pieces, np.split(own, np.cumsum(counts_N)[:-1]), strict=True):
            piece.append(part)
    return [rng.permutation(np.concatenate(piece)) for piece in pieces]


def class_sizes(y: Array, classes: int) -> Array:
    return np.bincount(y, minlength=classes)


def by_shares(
    dataset: Dataset,
    shares_CN: Array,
    key: Key,
    *,
    least: int = 1,
    allowed_CN: Array | None = None,
    truth: Array | None = None,
) -> Federation:
    """The federation in which client n has the part shares[c, n] of class c, of the given test part as well.

    Clients with fewer than `least` training samples, or without a test sample, are brought up by `fill_to_minimum`;
    where the test part is too small for that, it stays as the shares have it.
    """
    allowed = np.ones(shares_CN.shape, bool) if allowed_CN is None else allowed_CN
    train_rows, test_rows = dataset.train_rows, dataset.test_rows
    given = dataset.first_test is not None
    counts = counts_of(class_sizes(dataset.y[train_rows], dataset.classes), shares_CN)
    goals = (
        [least] if given else [max(2, samples_needed(least)), samples_needed(least)]
    )  # two samples: one to train, one to test
    filled = next(
        (f for f in (fill_to_minimum(counts, shares_CN, goal, allowed) for goal in goals) if f is not None), None
    )
    if filled is None:
        raise BadInput(
            f"{len(train_rows)} samples of {dataset.name} do not give each of {shares_CN.shape[1]} clients {least};"
            " use fewer clients"
        )
    train = deal(dataset.y, train_rows, filled, key("train").rng())
    if not given:
        return assemble(dataset, train, None, key, truth=truth)
    tests = counts_of(class_sizes(dataset.y[test_rows], dataset.classes), shares_CN)
    more = fill_to_minimum(tests, shares_CN, 1, allowed)
    test = deal(dataset.y, test_rows, tests if more is None else more, key("test").rng())
    return assemble(dataset, train, test, key, truth=truth)
