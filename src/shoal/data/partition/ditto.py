"""Ditto's partition of Fashion-MNIST, used by FlexCFL. Li et al., ICML 2021."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.data.dataset import Dataset
from shoal.data.federation import Federation
from shoal.data.partition.assemble import assemble, at_least_one, check_classes, holdout
from shoal.data.partition.registry import partition
from shoal.seeds import Key
from shoal.types import Array


def ditto(
    train_targets: Array, test_targets: Array, classes: int, clients: int, per_client: int, rng: np.random.Generator
) -> tuple[list[Array], list[Array]]:
    """Ditto's Fashion-MNIST: positions in the training and in the test labels.

    Sizes LogNormal(3, 1) + 10 rescaled to the number of training samples; shares LogNormal(1, 1) normalised over the
    client's classes; per class int(share size) + 1 training and int(share size / r) + 1 test samples, r being the
    ratio of the two parts (6 for Fashion-MNIST). Where a class is exhausted its pointer goes back to the start, so
    that some samples belong to two clients, and others to none.

    >>> train, test = ditto(np.arange(600) % 10, np.arange(100) % 10, 10, 5, 5, np.random.default_rng(0))
    >>> len(train), min(map(len, test)) >= 5
    (5, True)
    """
    pools = [[np.flatnonzero(y == label) for label in range(classes)] for y in (train_targets, test_targets)]
    sizes = rng.lognormal(3, 1, clients) + 10
    sizes *= len(train_targets) / sizes.sum()
    shares = rng.lognormal(1, 1, (clients, per_client))
    shares /= shares.sum(1, keepdims=True)
    ratio = len(train_targets) / max(1, len(test_targets))
    at = np.zeros((2, classes), np.int64)
    parts: tuple[list[Array], list[Array]] = ([], [])
    for u in range(clients):
        for which, divisor in enumerate((1.0, ratio)):
            part = []
            for j in range(per_client):
                label = (u + j) % classes
                own, k = pools[which][label], int(shares[u, j] * sizes[u] / divisor) + 1
                if at[which, label] + k > len(own):
                    at[which, label] = 0
                part.append(own[at[which, label] : at[which, label] + k])
                at[which, label] += k
            parts[which].append(np.concatenate(part))
    return parts


@partition("ditto")
@dataclass(frozen=True, kw_only=True)
class Ditto:
    """Ditto's Fashion-MNIST: training samples from the training part, test samples from the test part.

    A data set without a given test part first sets a tenth of its samples aside at random.

    Args:
        clients: How many there are to be.
        classes: Of a client.

    >>> from shoal.data.datasets.digits import digits
    >>> len(Ditto(clients=30)(digits(), Key(1)).ids)
    30
    """

    clients: int = 500
    classes: int = 5
    covers: ClassVar[bool] = False
    disjoint: ClassVar[bool] = False

    def __post_init__(self) -> None:
        at_least_one(clients=self.clients, classes=self.classes)

    def __call__(self, dataset: Dataset, key: Key) -> Federation:
        check_classes(self.classes, dataset)
        train_rows, test_rows = holdout(dataset, key("holdout"))
        y = dataset.y
        train, test = ditto(
            y[train_rows], y[test_rows], dataset.classes, self.clients, self.classes, key("sizes").rng()
        )
        return assemble(dataset, [train_rows[p] for p in train], [test_rows[p] for p in test], key)
