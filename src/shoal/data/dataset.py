"""A data set before it is dealt to clients: samples, labels, and what is known about where they come from."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from shoal.data.samples import Inputs
from shoal.errors import BadInput
from shoal.tree import Tree, length, take
from shoal.types import Array


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """Samples and labels of one data set, training part first.

    Images are stored as (N, C, H, W) in their own dtype; `inputs` says how they become floats. A data set that comes
    with a test part says in `first_test` where it starts; None leaves the cut to the partition.

    Args:
        name: What it is called.
        x: All samples, N first: an array, a dict or tuple of arrays, or `Sequences`.
        y: The label of each, from 0 on.
        classes: Number of classes.
        inputs: How samples become inputs of a model.
        first_test: Where the test part begins.
        writer: Number of the writer of each sample, if known.
        writer_names: The writers' names, by number.
        class_names: What the classes are called, if that is known.

    >>> tiny = Dataset(name="tiny", x=np.zeros((4, 1, 2, 2), np.uint8), y=np.array([0, 1, 0, 1]), classes=2)
    >>> tiny.train_rows.tolist(), tiny.test_rows.tolist()
    ([0, 1, 2, 3], [])
    """

    name: str
    x: Tree
    y: Array
    classes: int
    inputs: Inputs = Inputs()
    first_test: int | None = None
    writer: Array | None = None
    writer_names: tuple[str, ...] = ()
    class_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if length(self.x) != len(self.y):
            raise BadInput(f"{self.name} holds {length(self.x)} samples but {len(self.y)} labels")

    def __len__(self) -> int:
        return len(self.y)

    @property
    def train_rows(self) -> Array:
        return np.arange(len(self.y) if self.first_test is None else self.first_test)

    @property
    def test_rows(self) -> Array:
        return np.arange(len(self.y) if self.first_test is None else self.first_test, len(self.y))

    def take(self, rows: Array) -> Dataset:
        """The data set of these samples alone, without a given test part.

        Args:
            rows: Numbers of samples.

        Returns:
            A data set that holds these samples, in this order.

        >>> tiny = Dataset(name="tiny", x=np.eye(3), y=np.array([0, 1, 2]), classes=3)
        >>> tiny.take(np.array([2, 0])).y.tolist()
        [2, 0]
        """
        writer = None if self.writer is None else self.writer[rows]
        return replace(self, x=take(self.x, rows), y=self.y[rows], writer=writer, first_test=None)


def pixel_statistics(x: Array, axes: tuple[int, ...] = (0,)) -> tuple[Array, Array]:
    """Mean and standard deviation of stored whole numbers over some axes, without a float copy of them.

    >>> mean, std = pixel_statistics(np.array([[1, 2], [3, 2]], np.uint8))
    >>> mean.tolist(), std.tolist()
    ([2.0, 2.0], [1.0, 0.0])
    """
    if 0 not in axes:
        raise ValueError("axes must contain the axis of the samples")
    total: Array = np.zeros((), np.int64)
    squares: Array = np.zeros((), np.int64)
    count = int(np.prod([x.shape[a] for a in axes]))
    many = max(1, min(1024, 2**16 * len(x) // max(count, 1)))  # so few that sums of bytes' squares have 32 bits
    short = x.dtype == np.uint8 and many * count <= 2**16 * len(x)
    square, sum_ = (np.uint16, np.uint32) if short else (np.int64, np.int64)
    for part in np.array_split(x, max(1, -(-len(x) // many))):
        total = total + part.sum(axes, dtype=sum_, keepdims=True)
        squares = squares + np.square(part, dtype=square).sum(axes, dtype=sum_, keepdims=True)
    mean = total / count
    variance = np.maximum(squares / count - mean**2, 0.0)
    return mean[0], np.sqrt(variance)[0]
