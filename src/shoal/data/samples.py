"""What a federation is made of: rows of different lengths, how stored samples become inputs, and one client's view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal.types import EVERYBODY, Array

if TYPE_CHECKING:
    from shoal.data.federation import Federation


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
    def of(cls, rows: Sequence[Array]) -> Ragged:
        """Rows of different lengths, put together."""
        offsets = np.concatenate([[0], np.cumsum([len(r) for r in rows])]).astype(np.int64)
        return cls(np.concatenate(rows).astype(np.int64) if rows else np.zeros(0, np.int64), offsets)

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


@dataclass(frozen=True)
class Inputs:
    """How stored samples become model inputs: `(x - shift) / scale` as floats; `shift=None` leaves them as they are.

    The floats are float32, or float64 where the samples are stored so.

    Args:
        shift: What is taken off; None leaves samples as they are.
        scale: What the difference is divided by.

    >>> Inputs(0.0, 255.0)(np.array([[0, 51]], np.uint8)).tolist()
    [[0.0, 0.20000000298023224]]
    """

    shift: Array | float | None = None
    scale: Array | float = 1.0

    def __call__(self, x: Array) -> Array:
        if self.shift is None:
            return x
        dtype = np.float64 if x.dtype == np.float64 else np.float32
        x = x.astype(dtype)
        x -= np.asarray(self.shift, dtype)
        x /= np.asarray(self.scale, dtype)
        return x


@dataclass(frozen=True)
class View:
    """How a client sees the shared samples: a map of labels, and turns of the images.

    Args:
        labels: What the client calls each class; None: by their own numbers.
        turns: Quarter turns of the images, counterclockwise; parts of one are interpolated.

    >>> turned = View(labels=(1, 0), turns=1)
    >>> turned.relabel(np.array([0, 0, 1])).tolist(), turned.rotate(np.array([[[1, 2], [3, 4]]])).tolist()
    ([1, 1, 0], [[[2, 4], [1, 3]]])
    """

    labels: tuple[int, ...] | None = None
    turns: float = 0

    def rotate(self, x: Array) -> Array:
        """Inputs of shape (..., H, W) as the client sees them."""
        turns = self.turns % 4
        if turns == int(turns):
            return np.ascontiguousarray(np.rot90(x, int(turns), axes=(-2, -1))) if turns else x
        from scipy.ndimage import rotate

        x = x if np.issubdtype(x.dtype, np.floating) else x.astype(np.float32)
        return np.asarray(rotate(x, 90 * turns, axes=(-2, -1), reshape=False, order=1, mode="nearest"))

    def relabel(self, y: Array) -> Array:
        """Labels as the client calls them."""
        return y if self.labels is None else np.asarray(self.labels, np.int64)[y]


@dataclass(frozen=True)
class Samples:
    """The samples of one client, gathered when they are asked for."""

    federation: Federation
    client: str

    def __call__(self, split: str) -> tuple[Array, Array]:
        inputs = [self.federation.inputs_at(index, view) for index, view in self._places(split)]
        return inputs[0] if len(inputs) == 1 else np.concatenate(inputs), self.labels(split)

    def labels(self, split: str) -> Array:
        """The labels alone."""
        return np.concatenate([view.relabel(self.federation.y[index]) for index, view in self._places(split)])

    def _places(self, split: str) -> list[tuple[Array, View]]:
        who = self.federation.ids if self.client == EVERYBODY else (self.client,)
        return [(self.federation.indices(name, split), self.federation.view_of(name)) for name in who]
