"""What clients keep, in a simulation: each distinct vector is held once; a client's memory points at it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shoal.backends.backend import Outcome
from shoal.errors import BadInput
from shoal.layout import Layout
from shoal.types import Array, Memory, Ref, expect


def recall(memory: Memory, vectors_VP: Array | None) -> dict[str, Any]:
    """A client's memory with the vectors it points at."""
    return {name: look_up(value, vectors_VP) if isinstance(value, Ref) else value for name, value in memory.items()}


def look_up(ref: Ref, vectors_VP: Array | None) -> Array:
    assert vectors_VP is not None
    if ref.flat:
        return np.asarray(vectors_VP[ref.rows[0]])
    first, count = ref.rows[0], len(ref.rows)
    if ref.rows == tuple(range(first, first + count)):
        return vectors_VP[first : first + count]
    return vectors_VP[list(ref.rows)]


def refer(memory: Memory, models_KP: Array | None, vectors_VP: Array | None) -> dict[str, Any]:
    """A memory as it travels and is stored: what it was sent, or had kept before, is pointed at instead of copied.

    >>> models = np.zeros((3, 2))
    >>> refer({"start": models[0], "rest": models[1:], "n": 5}, models, None)
    {'start': Ref(rows=(0,), flat=True, sent=True), 'rest': Ref(rows=(1, 2), flat=False, sent=True), 'n': 5}
    """
    return {name: point(value, models_KP, vectors_VP) for name, value in memory.items()}


def point(value: Any, models_KP: Array | None, vectors_VP: Array | None) -> Any:
    for pool, sent in ((models_KP, True), (vectors_VP, False)):
        rows = rows_in(value, pool) if pool is not None else None
        if rows is not None:
            return Ref(rows, value.ndim == 1, sent)
    return value


def rows_in(value: Any, pool_VP: Array) -> tuple[int, ...] | None:
    """Which rows of the pool a view of it shows; None if it is something else."""
    if not isinstance(value, np.ndarray) or value.ndim not in (1, 2) or not value.flags.c_contiguous or not value.size:
        return None
    pool = np.atleast_2d(pool_VP)
    if value.shape[-1] != pool.shape[1] or value.dtype != pool.dtype or not pool.flags.c_contiguous:
        return None
    row = pool.shape[1] * pool.itemsize  # not the stride, which numpy may set to anything if there is one row only
    start = value.__array_interface__["data"][0] - pool.__array_interface__["data"][0]
    if start < 0 or start % row or start + value.nbytes > pool.nbytes:
        return None
    first = start // row
    return tuple(range(first, first + (1 if value.ndim == 1 else len(value))))


class Library:
    """The vectors that clients keep, each once, numbered for good."""

    def __init__(self, rows_VP: Array) -> None:
        self.rows_VP = rows_VP
        self._number = {digest(row): i for i, row in enumerate(rows_VP)}

    def file(self, memory: Mapping[str, Any], models_KP: Array | None) -> dict[str, Any]:
        """A memory that came back from a client, with what it was sent filed here."""
        return {
            name: Ref(tuple(self._add(models_KP[r]) for r in value.rows), value.flat)
            if isinstance(value, Ref) and value.sent and models_KP is not None
            else value
            for name, value in memory.items()
        }

    def _add(self, vector_P: Array) -> int:
        name = digest(vector_P)
        if name not in self._number:
            self._number[name] = len(self.rows_VP)
            self.rows_VP = np.concatenate([self.rows_VP, vector_P[None]])
        return self._number[name]


def digest(vector_P: Array) -> bytes:
    return hashlib.blake2b(vector_P.tobytes(), digest_size=16).digest()


class SimulatedClients:
    """What the clients of a simulation keep: the verbs of client memory that simulated back ends share.

    A client's memory is attached to its unit when that runs; what it wants to keep waits here until the engine says
    which answers counted, and then until the round counts.
    """

    holds_data = True

    def forget(self, layout: Layout) -> None:
        """Nobody remembers anything; vectors are those of this layout."""
        self._layout = layout
        self._library = Library(np.zeros((0, layout.size), layout.dtype))
        self._committed: dict[str, Memory] = {}
        self._pending: dict[str, Memory] = {}
        self._begin(None)

    def keep(self, numbers: Sequence[int]) -> None:
        """What the clients of these units of the last run want to keep is kept until the round ends."""
        for number in numbers:
            for client, memory in self._offered.get(number, {}).items():
                self._pending[client] = self._library.file(memory, self._sent_KP)

    def commit(self) -> None:
        """The round counts."""
        if self._pending:
            self._committed, self._pending = {**self._committed, **self._pending}, {}

    def rollback(self) -> None:
        """The round does not count."""
        self._pending = {}

    def snapshot(self) -> tuple[Mapping[str, Memory], Array]:
        """Committed memories by client, and the vectors at which they point."""
        return self._committed, self._library.rows_VP

    def restore(self, memories: Mapping[str, Memory], vectors_VP: Array) -> None:
        """Clients remember what they did at a snapshot, if it is one of this layout."""
        expect(vectors_VP, "the vectors that clients keep", (None, self._layout.size), self._layout.dtype)
        for client, memory in memories.items():
            for name, ref in memory.items():
                if isinstance(ref, Ref) and not (ref.rows and min(ref.rows) >= 0 and max(ref.rows) < len(vectors_VP)):
                    rows = f"{', '.join(map(str, ref.rows)) or 'none'} as {name!r}"
                    raise BadInput(f"client {client!r} keeps the vectors {rows}; there are {len(vectors_VP)} of them")
        self.forget(self._layout)
        self._committed, self._library = dict(memories), Library(np.ascontiguousarray(vectors_VP))

    def _begin(self, models_KP: Array | None) -> None:
        """A run begins: nothing is offered yet."""
        self._sent_KP = models_KP
        self._offered: dict[int, Mapping[str, Memory]] = {}

    def _memories(self, clients: Sequence[str]) -> dict[str, Memory]:
        """What these clients keep now; those that keep nothing are not in it."""
        found = {c: self._pending.get(c, self._committed.get(c)) for c in clients}
        return {c: memory for c, memory in found.items() if memory}

    def _offer(self, number: int, outcome: Outcome) -> tuple[int, Outcome]:
        """A unit is done; what its clients want to keep waits."""
        self._offered[number] = outcome.memories
        return number, outcome
