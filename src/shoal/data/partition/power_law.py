"""FedProx's power law on MNIST. Li et al., MLSys 2020; FedGroup's Table I varies the classes per client."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.data.dataset import Dataset
from shoal.data.federation import Federation
from shoal.data.partition.assemble import assemble, at_least_one, check_classes
from shoal.data.partition.registry import partition
from shoal.errors import BadInput
from shoal.seeds import Key
from shoal.types import Array

BASE = 10  # samples every client has at least, spread over its classes


def power_law(
    targets: Array, classes: int, clients: int, per_client: int, rng: np.random.Generator, sigma: float = 2.0
) -> list[Array]:
    """The MNIST partition of FedProx, for any number of classes per client.

    (a) Every user first takes max(1, 10 // c) samples of each of its c classes, consecutively. (b) With
    z ~ LogNormal(0, sigma) of shape (C, clients / C, c), user u then takes int((N_l - M_l) z[l, u div C, j] / sum z[l])
    more samples of class l = (u + j) mod C, M_l being all that (a) took of the class, but only if they stay strictly
    inside the class. For 10 classes, 1000 users, c = 2 and sigma = 2 this is the original; what (b) leaves over is
    unused. With clients not divisible by C the sum runs over the entries in use.

    >>> parts = power_law(np.arange(400) % 4, 4, 8, 2, np.random.default_rng(0))
    >>> min(len(p) for p in parts) >= 10, sum(len(p) for p in parts) <= 400
    (True, True)
    """
    rows = [np.flatnonzero(targets == label) for label in range(classes)]
    base = max(1, BASE // per_client)
    users = [(u, j, (u + j) % classes) for u in range(clients) for j in range(per_client)]
    taken = base * np.bincount([label for _, _, label in users], minlength=classes)
    tight = int(np.argmax(taken / np.maximum([len(own) for own in rows], 1e-9)))
    if taken[tight] > len(rows[tight]):
        fit = int(clients * len(rows[tight]) / taken[tight])
        raise BadInput(
            f"power-law for {clients} clients needs {taken[tight]} samples of class {tight}, there are"
            f" {len(rows[tight])}; "
            + (f"use at most {fit // classes * classes or fit} clients" if fit else "use another partition")
        )
    used = np.zeros((classes, -(-clients // classes), per_client))
    z = rng.lognormal(0, sigma, used.shape)
    for u, j, label in users:
        used[label, u // classes, j] = 1
    share = z * used / np.maximum((z * used).sum((1, 2), keepdims=True), np.finfo(float).tiny)

    at = np.zeros(classes, np.int64)
    parts: list[list[Array]] = [[] for _ in range(clients)]
    for u, _, label in users:  # (a)
        parts[u].append(rows[label][at[label] : at[label] + base])
        at[label] += base
    for u, j, label in users:  # (b)
        k = int((len(rows[label]) - taken[label]) * share[label, u // classes, j])
        if at[label] + k < len(rows[label]):
            parts[u].append(rows[label][at[label] : at[label] + k])
            at[label] += k
    return [np.concatenate(part) for part in parts]


@partition("power-law")
@dataclass(frozen=True, kw_only=True)
class PowerLaw:
    """FedProx's MNIST: all images pooled, `power_law`, then each client's samples shuffled and cut 90/10.

    Args:
        clients: How many there are to be.
        classes: Of a client.
        sigma: Spread of the sizes; the script has 2, and 1.55 gives the spread that FedProx states.

    >>> from shoal.data.datasets.digits import digits
    >>> len(PowerLaw(clients=50)(digits(), Key(1)).ids)
    50
    """

    clients: int = 1000
    classes: int = 2
    sigma: float = 2.0
    covers: ClassVar[bool] = False
    disjoint: ClassVar[bool] = True

    def __post_init__(self) -> None:
        at_least_one(clients=self.clients, classes=self.classes)
        if self.sigma < 0:
            raise BadInput(f"sigma must be at least 0, not {self.sigma}")

    def __call__(self, dataset: Dataset, key: Key) -> Federation:
        check_classes(self.classes, dataset)
        rng = key("sizes").rng()
        parts = power_law(dataset.y, dataset.classes, self.clients, self.classes, rng, self.sigma)
        return assemble(dataset, parts, None, key)
