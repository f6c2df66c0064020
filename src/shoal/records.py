"""The records that go between clients, engines and algorithms: rosters, answers, what a round reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shoal.errors import BadInput
from shoal.seeds import hash_ids

Array = npt.NDArray[Any]
Cohort = tuple[str, ...]
Answer = Mapping[str, Any]  # what leaves a client: name -> number or array
Memory = Mapping[str, Any]  # what a client keeps for itself between tasks
EVERYBODY = "*"  # a simulated engine knows one more client: the union of all training data
IGNORED = -100  # the target of a token that does not count, as in torch


@dataclass(frozen=True)
class Roster:
    """Who is there: client ids in canonical (sorted) order, training sizes and published tags; fixed for a round.

    Args:
        ids: The clients, sorted.
        sizes_N: Training samples of each.
        tags: What owners publish, by client.

    >>> roster = Roster(("ann", "bob"), np.array([10, 30]), {"ann": {"site": "north"}})
    >>> len(roster), roster.size("bob"), roster.tags["ann"]["site"]
    (2, 30, 'north')
    """

    ids: Cohort
    sizes_N: Array
    tags: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def hashes_N(self) -> npt.NDArray[np.uint64]:
        return hash_ids(self.ids)

    @cached_property
    def with_samples(self) -> Cohort:
        """Those that have training samples; nobody waits for the others, who are left out of every task."""
        has_N = self.sizes_N > 0
        return self.ids if has_N.all() else tuple(compress(self.ids, has_N.tolist()))

    @cached_property
    def _place(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.ids)}

    def size(self, client: str) -> int:
        return int(self.sizes_N.sum()) if client == EVERYBODY else int(self.sizes_N[self._place[client]])

    def sizes(self, cohort: Sequence[str]) -> list[int | None]:
        """The training sizes of several clients; None for those that are not there."""
        if EVERYBODY in cohort:
            return [self.size(c) if c in self else None for c in cohort]
        places = [*map(self._place.get, cohort)]
        if None in places:
            return [None if i is None else int(self.sizes_N[i]) for i in places]
        return [int(n) for n in self.sizes_N[np.array(places, np.int64)].tolist()]

    def __contains__(self, client: str) -> bool:
        return client in self._place or client == EVERYBODY


@dataclass(frozen=True)
class Ref:
    """Vectors that a client keeps and the engine holds once for all clients: rows of its library.

    `sent` marks rows of the models of the call itself, which the engine files under their final numbers.

    Args:
        rows: Their numbers in the library.
        flat: Whether it is one vector, not a stack of them.
        sent: Whether the numbers are those of the models of this call.

    >>> Ref((3,), flat=True).rows
    (3,)
    """

    rows: tuple[int, ...]
    flat: bool
    sent: bool = False


@dataclass(frozen=True)
class Failure:
    """A client that was left out of a call, and why.

    Args:
        client: Its id.
        reason: One sentence.

    >>> Failure("ann", "took longer than 2 s").reason
    'took longer than 2 s'
    """

    client: str
    reason: str


@dataclass(frozen=True)
class Answers:
    """The answers of the clients that succeeded, stacked in canonical order, and the list of the others.

    Args:
        cohort: Who answered, sorted.
        which_N: The model each of them started from or chose.
        fields: What they answered, stacked: N first.
        failed: The others.
        models_KP: The models that were sent.

    >>> got = Answers(("a", "b"), np.array([0, 0]), {"loss": np.array([0.5, 0.7])})
    >>> got["loss"].mean().round(2)
    np.float64(0.6)
    """

    cohort: Cohort
    which_N: Array
    fields: Mapping[str, Array] = field(default_factory=dict)
    failed: tuple[Failure, ...] = ()
    models_KP: Array | None = None

    def __getitem__(self, name: str) -> Array:
        return self.fields[name]

    def __len__(self) -> int:
        return len(self.cohort)

    def __iter__(self) -> Iterator[str]:
        return iter(self.cohort)


@dataclass(frozen=True)
class Representation:
    """What a method looked at to tell clients apart: a row per client, and whether directions or distances count.

    Args:
        what: Such as "updates".
        measure: `cosine` or `euclidean`.
        cohort: The clients.
        rows_ND: A row for each.
        from_KD: What the rows are to be added to, if they are not taken from zero.
        which_N: Which row of `from_KD` belongs to each client.

    >>> Representation("updates", "cosine", ("ann", "bob"), np.eye(2)).rows_ND.shape
    (2, 2)
    """

    what: str
    measure: Literal["cosine", "euclidean"]
    cohort: Cohort
    rows_ND: Array
    from_KD: Array | None = None
    which_N: Array | None = None


@dataclass(frozen=True)
class Record:
    """What an algorithm reports of a round: its training answers, what servers relayed, measures and events.

    Args:
        trained: The answers of the clients that trained.
        relayed: Models exchanged among servers.
        peer_transfers: Models that clients handed to the next one directly: sent once, not up and down again.
        not_transmitted: Whether models were moved by the simulation alone: in a real federation none would have.
        measures: Figures of the method, by name.
        events: What happened, each with its `kind`.
        representation: What clients were told apart by; None: the run looks at what they trained.

    >>> Record(measures={"silhouette": 0.7}).measures["silhouette"]
    0.7
    """

    trained: Answers | None = None
    relayed: int = 0
    peer_transfers: int = 0
    not_transmitted: bool = False
    measures: Mapping[str, Any] = field(default_factory=dict)
    events: tuple[Mapping[str, Any], ...] = ()
    representation: Representation | None = None


def expect(array: Any, what: str, shape: tuple[int | None, ...], dtype: np.dtype[Any]) -> Array:
    """The array, if it is of this shape and dtype: asked before memory is read that might not be there.

    Args:
        array: What came from a client, a checkpoint or an algorithm.
        what: How to call it.
        shape: The length of every axis; None for one that may have any.
        dtype: The kind of its numbers.

    Returns:
        The array as it came.

    >>> expect(np.zeros(3), "the velocity", (3,), np.dtype(float)).shape
    (3,)
    >>> expect(np.zeros((2, 3)), "the models", (None, 4), np.dtype(float))
    Traceback (most recent call last):
    shoal.errors.BadInput: the models: (2, 3) numbers of float64 came, (any, 4) of float64 are needed
    """
    if not isinstance(array, np.ndarray):
        raise BadInput(f"{what}: a {type(array).__name__} came, an array is needed")
    fits = len(array.shape) == len(shape) and all(b in (a, None) for a, b in zip(array.shape, shape, strict=True))
    if not fits or array.dtype != dtype:
        wanted = f"({', '.join('any' if n is None else str(n) for n in shape)}{',' * (len(shape) == 1)})"
        raise BadInput(f"{what}: {array.shape} numbers of {array.dtype} came, {wanted} of {dtype} are needed")
    return array
