"""What a federation is made of: rows of different lengths, how stored samples become inputs, and one client's view."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from shoal.errors import BadInput
from shoal.tree import Ragged as Ragged
from shoal.tree import Sequences, Tree, joined, tree_map
from shoal.types import EVERYBODY, Array

if TYPE_CHECKING:
    from shoal.data.federation import Federation


@dataclass(frozen=True)
class Inputs:
    """How stored samples become model inputs: `(x - shift) / scale` as floats; `shift=None` leaves them as they are.

    The floats are float32, or float64 where the samples are stored so. Of several arrays it turns those of bytes alone.

    Args:
        shift: What is taken off; None leaves samples as they are.
        scale: What the difference is divided by.

    >>> Inputs(0.0, 255.0)(np.array([[0, 51]], np.uint8)).tolist()
    [[0.0, 0.20000000298023224]]
    """

    shift: Array | float | None = None
    scale: Array | float = 1.0

    def __call__(self, x: Tree) -> Tree:
        if self.shift is None:
            return x
        if isinstance(x, Sequences):
            return replace(x, rows=self(x.rows))
        if not isinstance(x, np.ndarray):
            return tree_map(lambda leaf: self(leaf) if getattr(leaf, "dtype", None) == np.uint8 else leaf, x)
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

    def rotate(self, x: Tree) -> Tree:
        """Inputs of shape (..., H, W) as the client sees them."""
        turns = self.turns % 4
        if turns == int(turns):
            return np.ascontiguousarray(np.rot90(x, int(turns), axes=(-2, -1))) if turns else x
        from scipy.ndimage import rotate

        x = x if np.issubdtype(x.dtype, np.floating) else x.astype(np.float32)
        return np.asarray(rotate(x, 90 * turns, axes=(-2, -1), reshape=False, order=1, mode="nearest"))

    def check(self, x: Tree) -> None:
        """A sentence if the inputs cannot be seen so."""
        if self.turns % 4 and not isinstance(x, np.ndarray):
            raise BadInput(
                "views turn images, which are one array; inputs of several arrays or of sequences cannot turn"
            )

    def relabel(self, y: Array) -> Array:
        """Labels as the client calls them."""
        return y if self.labels is None else np.asarray(self.labels, np.int64)[y]


@dataclass(frozen=True)
class Samples:
    """The samples of one client, gathered when they are asked for."""

    federation: Federation
    client: str

    def __call__(self, split: str) -> tuple[Tree, Array]:
        return joined([self.federation.inputs_at(index, view) for index, view in self._places(split)]), self.labels(
            split
        )

    def labels(self, split: str) -> Array:
        """The labels alone."""
        return np.concatenate([view.relabel(self.federation.y[index]) for index, view in self._places(split)])

    def _places(self, split: str) -> list[tuple[Array, View]]:
        who = self.federation.ids if self.client == EVERYBODY else (self.client,)
        return [(self.federation.indices(name, split), self.federation.view_of(name)) for name in who]
