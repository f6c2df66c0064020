"""Partitions by name: each deals a data set to clients. Frozen records; calling one gives a federation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from shoal.data.dataset import Dataset
from shoal.data.federation import Federation
from shoal.data.partition.classes import Classes, ClusterClasses
from shoal.data.partition.dirichlet import ClusterDirichlet, Dirichlet
from shoal.data.partition.ditto import Ditto
from shoal.data.partition.iid import IID
from shoal.data.partition.letters import Letters
from shoal.data.partition.planted import Permuted, Rotated
from shoal.data.partition.power_law import PowerLaw
from shoal.data.partition.writers import Writers
from shoal.seeds import Key


class Partition(Protocol):
    """Deals a data set to clients.

    `covers` promises that every sample is given to somebody, `disjoint` that no training sample is given twice.
    """

    @property
    def covers(self) -> bool: ...

    @property
    def disjoint(self) -> bool: ...

    def __call__(self, dataset: Dataset, key: Key) -> Federation: ...


PARTITIONS: dict[str, Callable[..., Partition]] = {
    "iid": IID,
    "power-law": PowerLaw,
    "letters": Letters,
    "ditto": Ditto,
    "dirichlet": Dirichlet,
    "cluster-dirichlet": ClusterDirichlet,
    "cluster-classes": ClusterClasses,
    "classes": Classes,
    "permuted": Permuted,
    "rotated": Rotated,
    "writers": Writers,
}

__all__ = [
    "IID",
    "PARTITIONS",
    "Classes",
    "ClusterClasses",
    "ClusterDirichlet",
    "Dirichlet",
    "Ditto",
    "Letters",
    "Partition",
    "Permuted",
    "PowerLaw",
    "Rotated",
    "Writers",
]
