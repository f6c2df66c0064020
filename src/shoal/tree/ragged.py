"""Rows of different lengths in one array."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.records import Array


@dataclass(frozen=True)
class Ragged:
    """Rows of different lengths in one array: row i is `index[offsets[i]:offsets[i + 1]]`.

    Args:
        index: All rows, one after the other.
        offsets: Where each row begins, and the end of the last.

    >>> rows = Ragged.of([np.array([7, 8]), np.array([9])])
    >>> rows[1].tolist(), rows.sizes.tolist()
    ([9], [2, 1])
    """

    index: Array
    offsets: Array

    @classmethod
    def of(cls, rows: Sequence[Array], dtype: Any = np.int64) -> Ragged:
        """Rows of different lengths, put together."""
        offsets = np.concatenate([[0], np.cumsum([len(r) for r in rows])]).astype(np.int64)
        return cls(np.concatenate(rows).astype(dtype, copy=False) if rows else np.zeros(0, dtype), offsets)

    def with_rows(self, rows: Mapping[int, Array]) -> Ragged:
        """The same with other rows in some places.

        Args:
            rows: By place what stands there.

        Returns:
            A table of as many rows.

        >>> rows = Ragged.of([np.array([7, 8]), np.array([9]), np.array([5])])
        >>> rows.with_rows({1: np.array([1, 2, 3])}).index.tolist()
        [7, 8, 1, 2, 3, 5]
        """
        sizes_N, pieces, done = self.sizes, list[Array](), 0
        for place in sorted(rows):
            pieces += [self.index[self.offsets[done] : self.offsets[place]], rows[place]]
            sizes_N[place], done = len(rows[place]), place + 1
        index = np.concatenate([*pieces, self.index[self.offsets[done] :]]).astype(np.int64, copy=False)
        return Ragged(index, np.concatenate([[0], np.cumsum(sizes_N)]).astype(np.int64))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> Array:
        return self.index[self.offsets[i] : self.offsets[i + 1]]

    def __iter__(self) -> Iterator[Array]:
        return (self[i] for i in range(len(self)))

    @property
    def sizes(self) -> Array:
        return np.diff(self.offsets)

    def take(self, rows_N: Array) -> tuple[Array, Array]:
        """Several rows one after the other, and for each entry which of them it is from.

        Args:
            rows_N: Numbers of rows.

        Returns:
            The entries of these rows, and for each the place of its row in `rows_N`.

        >>> Ragged.of([np.array([7, 8]), np.array([9]), np.array([5, 6])]).take(np.array([2, 0]))
        (array([5, 6, 7, 8]), array([0, 0, 1, 1]))
        """
        lengths_N = self.sizes[rows_N]
        owner = np.repeat(np.arange(len(rows_N)), lengths_N)
        before_N = np.cumsum(lengths_N) - lengths_N
        return self.index[np.arange(len(owner)) + (self.offsets[rows_N] - before_N)[owner]], owner
