"""Populations too large for memory: clients that are produced when they are needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoal.data.digest import check_ids, fingerprint
from shoal.errors import BadInput
from shoal.tree import Shape, Tree, take
from shoal.types import EVERYBODY, Array, ClientData, Cohort, Roster


@dataclass(frozen=True)
class Produced:
    """The samples of one client, made by a function of the split."""

    make: Callable[[str], tuple[Tree, Array]]

    def __call__(self, split: str) -> tuple[Tree, Array]:
        return self.make(split)

    def labels(self, split: str) -> Array:
        """The labels alone."""
        return self.make(split)[1]


@dataclass(frozen=True)
class OnDemand:
    """A federation whose clients are produced when they are needed: memory grows with the cohort only.

    `make` gives the data of a client. A dataclass instance is best: the fingerprint, by which `resume` knows the data,
    takes it by its class and fields. Of a plain function it sees module and name only, not what the function captures.

    Args:
        name: What the federation is called.
        ids: The clients, sorted.
        sizes_N: Training samples of each.
        classes: Number of classes.
        make: From a client to its data, which is a function from a split (`train`, `test`) to inputs and labels.
        shape: Of one input; of several arrays by name, of a tuple's by `"0"`, `"1"` and so on.
        truth: Planted group of each client, if there are any.

    >>> import numpy as np
    >>> def make(client):
    ...     return lambda split: (np.full((3, 2), float(client)), np.array([0, 1, 0]))
    >>> OnDemand("tiny", ("1", "2"), np.array([3, 3]), classes=2, make=make, shape=(2,)).client("2")("train")[0][0]
    array([2., 2.])
    """

    name: str
    ids: Cohort
    sizes_N: Array
    classes: int
    make: Callable[[str], Callable[[str], tuple[Tree, Array]]]
    shape: Shape
    truth: Array | None = None

    def __post_init__(self) -> None:
        check_ids(self.ids)
        sizes_N, n = np.asarray(self.sizes_N), len(self.ids)
        if (
            sizes_N is not self.sizes_N
            or sizes_N.shape != (n,)
            or sizes_N.dtype.kind not in "iu"
            or (sizes_N < 0).any()
        ):
            raise BadInput(
                f"sizes_N of {self.name} must be an array of a whole number from 0 up for each of {n} clients"
            )

    @property
    def in_memory(self) -> None:
        return None

    @cached_property
    def roster(self) -> Roster:
        return Roster(self.ids, self.sizes_N)

    def client(self, client: str) -> ClientData:
        if client == EVERYBODY:
            raise BadInput(
                f"{self.name} is produced on demand and has no union of all data; `central` needs one in memory"
            )
        return Produced(self.make(client))

    def has(self, split: str) -> bool:
        return split in ("train", "test")

    def sample(self) -> Tree:
        if not self.roster.with_samples:
            raise BadInput(f"no client of {self.name} has a training sample")
        return take(self.make(self.roster.with_samples[0])("train")[0], slice(0, 1))

    def fingerprint(self) -> str:
        """A short hash of ids, sizes, shape, classes and of what produces the clients; the same in every process."""
        return fingerprint(self.ids, self.sizes_N, self.classes, self.shape, self.make)
