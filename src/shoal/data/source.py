"""What a run needs of a federation, however its clients' data come to be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from shoal.tree import Shape, Tree
from shoal.types import Array, ClientData, Cohort, Roster

if TYPE_CHECKING:
    from shoal.data.federation import Federation


class Source(Protocol):
    """What a run needs of a federation, in memory or produced on demand: `Federation` and `OnDemand` have it.

    `ids` are the clients in sorted order, `roster` what the server knows of them, `truth` the planted group of each, if
    there are any, `shape` that of one input, and `in_memory` the federation itself if all samples lie in memory.
    `client(id)` gives a function from a split to inputs and labels, `sample()` one input to try a model on,
    `fingerprint()` a short hash by which `resume` knows the data.

    >>> from shoal.data import build
    >>> source: Source = build("digits")
    >>> x, y = source.client(source.ids[0])("test")
    >>> x.shape[1:] == source.shape, len(x) == len(y), source.has("val")
    (True, True, False)
    """

    @property
    def name(self) -> str: ...
    @property
    def ids(self) -> Cohort: ...
    @property
    def classes(self) -> int: ...
    @property
    def roster(self) -> Roster: ...
    @property
    def truth(self) -> Array | None: ...
    @property
    def shape(self) -> Shape: ...
    @property
    def in_memory(self) -> Federation | None: ...
    def client(self, client: str) -> ClientData: ...
    def has(self, split: str) -> bool: ...
    def sample(self) -> Tree: ...
    def fingerprint(self) -> str: ...


@runtime_checkable
class Living(Source, Protocol):
    """A federation whose clients come and go by themselves, as those of real sites do.

    >>> from shoal.data import build
    >>> isinstance(build("digits"), Living)
    False
    """

    def at_round(self, t: int) -> tuple[Source, tuple[Mapping[str, Any], ...]]:
        """Who is there in round t, as a federation that does not change any more, and who came or went."""
        ...
