"""FedProx's resampling of FEMNIST: ten letters, three classes per client. Li et al., MLSys 2020."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.data.dataset import Dataset
from shoal.data.federation import Federation
from shoal.data.partition.assemble import assemble, at_least_one, check_classes
from shoal.data.partition.registry import partition
from shoal.seeds import Key
from shoal.types import Array


def letters(
    targets: Array, classes: int, clients: int, per_client: int, overlap: bool, rng: np.random.Generator
) -> list[Array]:
    """FedProx's resampling of FEMNIST: size LogNormal(4, 1) + 5, per class max(2, int(size / c)) samples in order.

    `overlap=False` goes on where the previous client of the class stopped and starts again when what is left does not
    suffice. `overlap=True` imitates the original script, whose inverted comparison goes back to the start whenever
    there *is* room, so that clients share images; where that would leave a client nothing of a class, it also starts
    again. No client holds a sample twice.

    >>> parts = letters(np.arange(4000) % 10, 10, 5, 3, True, np.random.default_rng(0))
    >>> parts[0][0] == 0 and len(np.intersect1d(parts[0], parts[1])) > 0
    True
    """
    rows = [np.flatnonzero(targets == label) for label in range(classes)]
    sizes = rng.lognormal(4, 1, clients) + 5
    at = [0] * classes
    parts: list[Array] = []
    for u in range(clients):
        part = []
        for label in ((u + j) % classes for j in range(per_client)):
            k, own = max(2, int(sizes[u] / per_client)), rows[label]
            room = at[label] + k < len(own) if overlap else at[label] + k <= len(own)
            if room == overlap or at[label] >= len(own):
                at[label] = 0
            part.append(own[at[label] : at[label] + k])
            at[label] += k
        parts.append(np.concatenate(part))
    return parts


@partition("letters")
@dataclass(frozen=True, kw_only=True)
class Letters:
    """FedProx's FEMNIST: `letters` on all images pooled, then each client's samples shuffled and cut 90/10.

    Args:
        clients: How many there are to be.
        classes: Of a client.
        overlap: Whether clients share images, as in the original script.

    >>> from shoal.data.datasets.digits import digits
    >>> len(Letters(clients=20)(digits(), Key(1)).ids)
    20
    """

    clients: int = 200
    classes: int = 3
    overlap: bool = False
    covers: ClassVar[bool] = False
    disjoint: ClassVar[bool] = False

    def __post_init__(self) -> None:
        at_least_one(clients=self.clients, classes=self.classes)

    def __call__(self, dataset: Dataset, key: Key) -> Federation:
        check_classes(self.classes, dataset)
        rng = key("sizes").rng()
        parts = letters(dataset.y, dataset.classes, self.clients, self.classes, self.overlap, rng)
        return assemble(dataset, parts, None, key)
