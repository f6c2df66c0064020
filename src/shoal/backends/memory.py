"""What clients keep, in a simulation: each distinct vector is held once; a client's memory points at it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from shoal.types import Array, Memory, Ref

Recall = Callable[[str], Memory]  # what a client keeps, as it is stored


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


class Memories:
    """What clients keep, by client: what they kept in a round counts when the round does.

    >>> memories = Memories()
    >>> memories.pending["ann"] = {"n": 1}
    >>> memories.commit()
    >>> memories.pending["ann"] = {"n": 2}
    >>> memories.rollback()
    >>> memories.of("ann"), memories.of("bob")
    ({'n': 1}, {})
    """

    def __init__(self, committed: Mapping[str, Memory] | None = None) -> None:
        self.committed: dict[str, Memory] = dict(committed or {})
        self.pending: dict[str, Memory] = {}

    def commit(self) -> None:
        """The round counts."""
        if self.pending:
            self.committed, self.pending = {**self.committed, **self.pending}, {}

    def rollback(self) -> None:
        """The round does not count."""
        self.pending = {}

    def of(self, client: str) -> Memory:
        """What a client keeps now."""
        return self.pending.get(client, self.committed.get(client)) or {}


class Library:
    """The vectors that clients keep, each once, numbered for good."""

    def __init__(self, rows_VP: Array) -> None:
        self.rows_VP = rows_VP
        self._number = {digest(row): i for i, row in enumerate(rows_VP)}

    def file(self, memory: Mapping[str, Any], models_KP: Array | None, filed: dict[int, int]) -> dict[str, Any]:
        """A memory that came back from a client, with what it was sent filed here.

        Args:
            memory: What the client wants to keep.
            models_KP: What it was sent.
            filed: Numbers here of the models sent; those that are filed now are added.

        Returns:
            The memory as it is stored.
        """
        return {
            name: Ref(tuple(self._add(models_KP, row, filed) for row in value.rows), value.flat)
            if isinstance(value, Ref) and value.sent and models_KP is not None
            else value
            for name, value in memory.items()
        }

    def _add(self, models_KP: Array, row: int, filed: dict[int, int]) -> int:
        if row not in filed:
            name = digest(models_KP[row])
            if name not in self._number:
                self._number[name] = len(self.rows_VP)
                self.rows_VP = np.concatenate([self.rows_VP, models_KP[row][None]])
            filed[row] = self._number[name]
        return filed[row]


def digest(vector_P: Array) -> bytes:
    return hashlib.blake2b(vector_P.tobytes(), digest_size=16).digest()
