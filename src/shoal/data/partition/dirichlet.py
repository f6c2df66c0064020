"""Dirichlet shares: over clients (`dirichlet`), or over planted groups and inside them (`cluster-dirichlet`, WeCFL)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.data.dataset import Dataset
from shoal.data.federation import Federation
from shoal.data.partition.assemble import at_least_one, planted, samples_needed
from shoal.data.partition.registry import partition
from shoal.data.partition.shares import by_shares, class_sizes, counts_of
from shoal.errors import BadInput
from shoal.seeds import Key
from shoal.types import Array

TRIES = 1000


def shares(alpha: float, classes: int, parts: int, rng: np.random.Generator) -> Array:
    """For each class a draw of Dir(alpha) over the parts.

    >>> shares(0.1, 3, 5, np.random.default_rng(0)).sum(1).round(6).tolist()
    [1.0, 1.0, 1.0]
    """
    return rng.dirichlet(np.full(parts, alpha), size=classes)


@partition("dirichlet")
@dataclass(frozen=True, kw_only=True)
class Dirichlet:
    """For each class a draw of Dir(alpha) over the clients; the class is cut accordingly.

    At alpha = 0.1 and 200 clients a few clients would get nothing; a client below `least` training samples takes
    single ones of the classes it has the largest shares of, from whoever has most of them.

    Args:
        alpha: The smaller, the fewer classes a client has.
        clients: How many there are to be.
        least: Training samples of every client at least.

    >>> from shoal.data.datasets.digits import digits
    >>> int(Dirichlet(alpha=0.1, clients=50)(digits(), Key(1)).train.sizes.min()) >= 1
    True
    """

    alpha: float = 0.1
    clients: int = 200
    least: int = 1
    covers: ClassVar[bool] = True
    disjoint: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _positive(alpha=self.alpha)
        at_least_one(clients=self.clients, least=self.least)

    def __call__(self, dataset: Dataset, key: Key) -> Federation:
        drawn = shares(self.alpha, dataset.classes, self.clients, key("shares").rng())
        return by_shares(dataset, drawn, key, least=self.least)


@partition("cluster-dirichlet")
@dataclass(frozen=True, kw_only=True)
class ClusterDirichlet:
    """WeCFL's planted groups: each class is cut by Dir(alpha) over groups, inside a group by Dir(beta) over clients.

    Drawn again until every client has `least` training samples, at most 1000 times. Ma et al., 2022.

    Args:
        alpha: Of the draw over groups.
        beta: Of the draw over the clients of a group.
        groups: Planted groups, of equally many clients within one.
        clients: How many there are to be.
        least: Training samples of every client at least.

    >>> from shoal.data.datasets.digits import digits
    >>> fed = ClusterDirichlet(groups=3, clients=12, alpha=1.0)(digits(), Key(1))
    >>> fed.truth.tolist(), int(fed.train.sizes.min()) >= 10
    ([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2], True)
    """

    alpha: float = 0.1
    beta: float = 10.0
    groups: int = 10
    clients: int = 200
    least: int = 10
    covers: ClassVar[bool] = True
    disjoint: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _positive(alpha=self.alpha, beta=self.beta)
        at_least_one(groups=self.groups, clients=self.clients, least=self.least)
        planted(self.clients, self.groups)

    def __call__(self, dataset: Dataset, key: Key) -> Federation:
        truth = planted(self.clients, self.groups)
        sizes_C = class_sizes(dataset.y[dataset.train_rows], dataset.classes)
        least = self.least if dataset.first_test is not None else samples_needed(self.least)
        if least * self.clients > sizes_C.sum():
            raise BadInput(
                f"{self.clients} clients with at least {self.least} training samples need more than the"
                f" {sizes_C.sum()} of {dataset.name}; use fewer clients or a smaller least"
            )
        rng = key("shares").rng()
        for _ in range(TRIES):
            drawn = nested(self.alpha, self.beta, truth, dataset.classes, rng)
            if counts_of(sizes_C, drawn).sum(0).min() >= least:
                return by_shares(dataset, drawn, key, least=self.least, truth=truth)
        raise BadInput(
            f"in {TRIES} draws of cluster-dirichlet some client always had fewer than {self.least} training samples;"
            " use fewer clients or groups, a smaller least or a larger alpha"
        )


def nested(alpha: float, beta: float, truth: Array, classes: int, rng: np.random.Generator) -> Array:
    """Shares of the clients: Dir(alpha) over groups times Dir(beta) over the clients of a group.

    >>> nested(1.0, 1.0, np.array([0, 0, 1]), 2, np.random.default_rng(0)).sum(1).round(6).tolist()
    [1.0, 1.0]
    """
    members = np.bincount(truth)
    outer = shares(alpha, classes, len(members), rng)
    inner = [shares(beta, classes, n, rng) for n in members]
    return np.concatenate([outer[:, [g]] * part for g, part in enumerate(inner)], axis=1)


def _positive(**values: float) -> None:
    for name, value in values.items():
        if not 1e-6 <= value <= 1e6:
            raise BadInput(f"{name} must lie between 0.000001 and 1000000, not {value:g}")
