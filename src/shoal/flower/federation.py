"""The federation of a server that holds no data: what sites say of themselves, and who is there in a round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.data.digest import fingerprint
from shoal.errors import BadInput
from shoal.tree import Kind, Shape, Tree, zeros
from shoal.types import Array, ClientData, Cohort, Roster

if TYPE_CHECKING:
    from shoal.flower.nodes import Nodes

__all__ = ["LivingSites", "Sites"]


@dataclass(frozen=True)
class Sites:
    """Who is there in a round, as a run needs to know it.

    Args:
        ids: The clients, sorted.
        sizes_N: Training samples of each.
        shape: Of one input; by name where it is several arrays; 0 for any length.
        dtype: Of its numbers, likewise.
        classes: Of all sites together.
        tags: What sites publish about their clients.

    >>> Sites(("ann",), np.array([3]), (2,), "float32", 2).sample().shape
    (1, 2)
    """

    ids: Cohort
    sizes_N: Array
    shape: Shape
    dtype: Kind
    classes: int
    tags: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    name = "sites"
    truth: None = None
    in_memory: None = None

    @cached_property
    def roster(self) -> Roster:
        return Roster(self.ids, self.sizes_N, self.tags)

    def client(self, client: str) -> ClientData:
        raise BadInput(f"the data of {client!r} are at its site, and stay there")

    def has(self, split: str) -> bool:
        return split in ("train", "test")

    def sample(self) -> Tree:
        return zeros(self.shape, self.dtype)

    def fingerprint(self) -> str:
        """A hash of what all sites have in common: clients may come and go while a run is interrupted."""
        return fingerprint((), self.shape, self.dtype, self.classes)

    def same(self, other: Sites) -> bool:
        """Whether the same clients are there with as much data.

        Args:
            other: Another round's.

        Returns:
            Whether it makes no difference.
        """
        return self.ids == other.ids and np.array_equal(self.sizes_N, other.sizes_N) and self.tags == other.tags


class LivingSites:
    """The federation of a run on real sites: `at_round` looks who is there, and waits while nobody is.

    Args:
        nodes: The sites.
        patience: Seconds to wait in a round before which all sites have left.
    """

    truth: None = None
    in_memory: None = None
    name = "sites"

    def __init__(self, nodes: Nodes, patience: float = 600.0) -> None:
        self._nodes, self._now, self._patience = nodes, nodes.federation(), patience
        nodes.close_classes()

    def at_round(self, t: int) -> tuple[Sites, tuple[Mapping[str, Any], ...]]:
        """Who is there in round t, and who came or went."""
        self._nodes.round = self._nodes.attendance.round = t
        events = self._nodes.refresh()
        if not self._nodes.hosts:
            events += self._nodes.wait(1, self._patience)
        now = self._nodes.federation()
        if not now.same(self._now):
            self._now = now
        return self._now, events

    @property
    def ids(self) -> Cohort:
        return self._now.ids

    @property
    def classes(self) -> int:
        return self._now.classes

    @property
    def roster(self) -> Roster:
        return self._now.roster

    @property
    def shape(self) -> Shape:
        return self._now.shape

    @property
    def dtype(self) -> Kind:
        return self._now.dtype

    def client(self, client: str) -> ClientData:
        return self._now.client(client)

    def has(self, split: str) -> bool:
        return self._now.has(split)

    def sample(self) -> Tree:
        return self._now.sample()

    def fingerprint(self) -> str:
        return self._now.fingerprint()
