"""Populations too large for memory: clients that are produced when they are needed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from shoal.errors import BadInput
from shoal.types import EVERYBODY, Array, ClientData, Cohort, Roster


@dataclass(frozen=True)
class OnDemand:
    """A federation whose clients are produced when they are needed: memory grows with the cohort only."""

    name: str
    ids: Cohort
    sizes_N: Array
    classes: int
    make: Callable[[str], ClientData]
    shape: tuple[int, ...]
    truth: Array | None = None

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
        digest = hashlib.blake2b("\0".join(self.ids).encode(), digest_size=8)
        digest.update(self.sizes_N.tobytes() + repr(self.make).encode())
        return digest.hexdigest()
