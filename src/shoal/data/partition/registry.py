"""The partitions by name, filled by the declaration on each class: `@partition("name")`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from shoal.data.dataset import Dataset
from shoal.data.federation import Federation
from shoal.registry import Registry
from shoal.seeds import Key


class Partition(Protocol):
    """Deals a data set to clients.

    `covers` promises that every sample is given to somebody, `disjoint` that no training sample is given twice.

    >>> from shoal.data import partition_named
    >>> partition_named("iid").covers, partition_named("iid").disjoint
    (True, True)
    """

    @property
    def covers(self) -> bool: ...

    @property
    def disjoint(self) -> bool: ...

    def __call__(self, dataset: Dataset, key: Key) -> Federation: ...


partition = PARTITIONS = Registry[Callable[..., Partition]]("partition", home="shoal.data.partition")
