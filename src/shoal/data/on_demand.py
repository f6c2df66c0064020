"""Populations too large for memory: clients that are produced when they are needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from shoal.data.digest import check_names, fingerprint
from shoal.errors import BadInput
from shoal.types import EVERYBODY, Array, ClientData, Cohort, Roster


@dataclass(frozen=True)
class OnDemand:
    """A federation whose clients are produced when they are needed: memory grows with the cohort only.

    `make` gives the data of a client. A dataclass instance is best: the fingerprint, by which `resume` knows the data,
    takes it by its class and fields. Of a plain function it sees module and name only, not what the function captures.
    """

    name: str
    ids: Cohort
    sizes_N: Array
    classes: int
    make: Callable[[str], ClientData]
    shape: tuple[int, ...]
    truth: Array | None = None

    def __post_init__(self) -> None:
        check_names(self.ids)

    @cached_property
    def roster(self) -> Roster:
        return Roster(self.ids, self.sizes_N)

    def client(self, client: str) -> ClientData:
        if client == EVERYBODY:
            raise BadInput(
                f"{self.name} is produced on demand and has no union of all data; `central` needs one in memory"
            )
        return self.make(client)

    def has(self, split: str) -> bool:
        return split in ("train", "test")

    def sample(self) -> Array:
        return self.make(self.ids[0])("train")[0][:1]

    def fingerprint(self) -> str:
        """A short hash of ids, sizes, shape, classes and of what produces the clients; the same in every process."""
        return fingerprint(self.ids, self.sizes_N, self.classes, self.shape, self.make)
