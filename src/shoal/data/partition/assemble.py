"""From index arrays to a federation: client ids, the cut into training and test samples, one check."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.data.dataset import Dataset
from shoal.data.federation import Federation
from shoal.data.samples import Ragged, View
from shoal.errors import BadInput
from shoal.seeds import Key
from shoal.types import Array, Cohort


def numbered_ids(n: int) -> Cohort:
    """Ids of n clients: zero-padded numbers, so that sorted order is numeric order.

    >>> numbered_ids(11)[:3]
    ('00', '01', '02')
    """
    width = len(str(n - 1))
    return tuple(f"{i:0{width}d}" for i in range(n))


def split_train_test(rows: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Shuffle; the first int(0.9 n) samples train, the rest test. A single sample is for training.

    >>> train, test = split_train_test(np.arange(10), np.random.default_rng(0))
    >>> len(train), len(test)
    (9, 1)
    """
    order = rng.permutation(rows)
    at = max(1, 9 * len(rows) // 10)
    return order[:at], order[at:]


def samples_needed(least: int) -> int:
    """The smallest number of samples of which `split_train_test` leaves so many for training.

    >>> samples_needed(9), samples_needed(10)
    (10, 12)
    """
    return next(n for n in range(least, 2 * least + 2) if max(1, 9 * n // 10) >= least)


def assemble(
    dataset: Dataset,
    train: Sequence[Array],
    test: Sequence[Array] | None,
    key: Key,
    *,
    ids: Cohort | None = None,
    views: tuple[View, ...] = (View(),),
    view: Array | None = None,
    truth: Array | None = None,
) -> Federation:
    """A federation of these clients; without test rows each client's samples are cut 90/10 in its own random order."""
    ids = numbered_ids(len(train)) if ids is None else ids
    poor = sum(len(rows) == 0 for rows in train)
    if poor:
        raise BadInput(f"{poor} of {len(train)} clients would get no sample of {dataset.name}; use fewer clients")
    if test is None:
        parts = [split_train_test(rows, key("split").of(name).rng()) for name, rows in zip(ids, train, strict=True)]
        train, test = [a for a, _ in parts], [b for _, b in parts]
    return Federation(
        name=dataset.name,
        ids=ids,
        x=dataset.x,
        y=dataset.y,
        train=Ragged.of(list(train)),
        test=Ragged.of(list(test)),
        classes=dataset.classes,
        inputs=dataset.inputs,
        views=views,
        view=view,
        truth=truth,
        class_names=dataset.class_names,
    )


def at_least_one(**counts: int) -> None:
    """One sentence for the first count below 1."""
    for name, n in counts.items():
        if n < 1:
            raise BadInput(f"{name} must be at least 1, not {n}")


def planted(clients: int, groups: int) -> Array:
    """The group of each client: blocks of equal size, within one.

    >>> planted(5, 2).tolist()
    [0, 0, 0, 1, 1]
    """
    if groups > clients:
        raise BadInput(f"{groups} groups need at least as many clients, not {clients}")
    return np.arange(clients) * groups // clients


def split_evenly(rows: Array, clients: int, rng: np.random.Generator) -> list[Array]:
    """A random split into parts of equal size, within one.

    >>> [len(part) for part in split_evenly(np.arange(5), 2, np.random.default_rng(0))]
    [3, 2]
    """
    return np.array_split(rng.permutation(rows), clients)


def holdout(dataset: Dataset, key: Key) -> tuple[Array, Array]:
    """Rows of the training and of the test part; without a given one a random tenth is set aside.

    >>> data = Dataset(name="tiny", x=np.zeros((20, 1)), y=np.zeros(20, np.int64), classes=1)
    >>> [len(rows) for rows in holdout(data, Key(1))]
    [18, 2]
    """
    if dataset.first_test is not None:
        return dataset.train_rows, dataset.test_rows
    order = key.rng().permutation(len(dataset))
    aside = max(1, len(order) // 10)
    return np.sort(order[aside:]), np.sort(order[:aside])


def check_classes(per_client: int, dataset: Dataset) -> None:
    """One sentence if a client is to have more classes than there are."""
    if per_client > dataset.classes:
        raise BadInput(f"{dataset.name} has {dataset.classes} classes; a client cannot have {per_client}")
