"""Inputs of samples: an array, a dict or tuple of arrays, or sequences of different lengths.

Samples are counted along the first axis of every array. Whoever takes, counts or joins samples does it by the functions
here, and need not know which of these the inputs are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from shoal.errors import BadInput
from shoal.records import Array
from shoal.tree.ragged import Ragged

Tree = Any  # an array, a dict or tuple of arrays, or `Sequences`


@dataclass(frozen=True)
class Pad:
    """The batch that samples of different lengths make by default: all as long as its longest, and a mask.

    Args:
        value: What stands where a sequence has ended.
        name: What sequences are called that have no name of their own.
        mask: The name of the mask of those, 1 where there is something, unless samples bring it; None: there is none.

    >>> batch = Pad()([np.array([7, 8, 9]), np.array([5])])
    >>> batch["input_ids"].tolist(), batch["attention_mask"].tolist()
    ([[7, 8, 9], [5, 0, 0]], [[1, 1, 1], [1, 0, 0]])
    """

    value: float = 0
    name: str = "input_ids"
    mask: str | None = "attention_mask"

    def __call__(self, samples: Sequence[Any]) -> Tree:
        first = samples[0]
        if isinstance(first, tuple):
            return tuple(self.filled([s[i] for s in samples]) for i in range(len(first)))
        named = samples if isinstance(first, dict) else [{self.name: s} for s in samples]
        batch = {name: self.filled([s[name] for s in named]) for name in named[0]}
        if self.mask is not None and self.mask not in batch and self.name in batch:
            batch[self.mask] = replace(self, value=0).filled([np.ones(len(s[self.name]), np.int64) for s in named])
        return batch

    def filled(self, rows: Sequence[Array]) -> Array:
        """Arrays that may differ along their first axis, stacked."""
        if len({row.shape for row in rows}) == 1:
            return np.stack(rows)
        out = np.full((len(rows), max(map(len, rows)), *rows[0].shape[1:]), self.value, rows[0].dtype)
        for i, row in enumerate(rows):
            out[i, : len(row)] = row
        return out


@dataclass(frozen=True)
class Sequences:
    """Samples of different lengths. A function makes a batch of some of them when a model is to see them.

    Args:
        rows: All samples: `Ragged` rows, or a dict or tuple of such and of arrays.
        collate: From a list of samples to a batch: an array, or a dict or tuple of arrays (or tensors).

    >>> words = Sequences(Ragged.of([np.array([7, 8, 9]), np.array([5]), np.array([1, 2])]))
    >>> len(words), words[1].tolist(), batch(words[1:])["input_ids"].tolist()
    (3, [5], [[5, 0], [1, 2]])
    """

    rows: Tree
    collate: Callable[[list[Any]], Any] = field(default_factory=Pad)

    def __len__(self) -> int:
        return length(self.rows)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, int | np.integer):
            return tree_map(lambda leaf: np.asarray(leaf[int(index)]), self.rows)
        return take(self, index)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def batch(self) -> Tree:
        """All of them as one batch."""
        made = self.collate(list(self))
        made = dict(made) if isinstance(made, Mapping) else tuple(made) if isinstance(made, list | tuple) else made
        made = tree_map(as_array, made)
        if any(len(leaf) != len(self) for leaf in leaves(made)):
            raise BadInput(f"the collate function made a batch of {length(made)} of {len(self)} samples")
        return made


def tree_map(function: Callable[[Any], Any], x: Tree) -> Tree:
    """A function of every array.

    Args:
        function: From an array to something.
        x: Inputs.

    Returns:
        What it gives, in the same order: alone, or as dict or tuple.

    >>> tree_map(len, {"age": np.zeros(3), "scan": np.zeros((3, 8, 8))})
    {'age': 3, 'scan': 3}
    """
    if isinstance(x, dict):
        return {name: function(leaf) for name, leaf in x.items()}
    return tuple(map(function, x)) if isinstance(x, tuple) else function(x)


def leaves(x: Tree) -> list[Any]:
    """The arrays of inputs, in order; of sequences their `Ragged` rows.

    >>> [leaf.shape for leaf in leaves((np.zeros(3), np.zeros((3, 2))))]
    [(3,), (3, 2)]
    """
    x = x.rows if isinstance(x, Sequences) else x
    return list(x.values()) if isinstance(x, dict) else list(x) if isinstance(x, tuple) else [x]


def length(x: Tree) -> int:
    """How many samples there are.

    >>> length({"age": np.zeros(3), "scan": np.zeros((3, 8, 8))})
    3
    """
    return len(leaves(x)[0])


def take(x: Tree, index: Any) -> Tree:
    """Some of the samples.

    Args:
        x: Inputs.
        index: Places of samples, or a slice.

    Returns:
        Inputs of the same kind.

    >>> take((np.arange(3), np.eye(3)), np.array([2, 0]))[0].tolist()
    [2, 0]
    """
    if isinstance(x, np.ndarray):
        return x[index]
    if isinstance(x, Sequences):
        return replace(x, rows=take(x.rows, index))
    if isinstance(x, Ragged):
        places = np.arange(len(x))[index]
        return Ragged(x.take(places)[0], np.concatenate([[0], np.cumsum(x.sizes[places])]).astype(np.int64))
    return tree_map(lambda leaf: take(leaf, index), x)


def joined(parts: Sequence[Tree]) -> Tree:
    """Inputs of several clients one after the other.

    >>> joined([{"age": np.zeros(2)}, {"age": np.ones(1)}])
    {'age': array([0., 0., 1.])}
    """
    first = parts[0]
    if isinstance(first, Sequences):
        return replace(first, rows=joined([part.rows for part in parts]))
    if isinstance(first, Ragged):
        return Ragged.of([row for part in parts for row in part], first.index.dtype)
    if isinstance(first, dict):
        return {name: joined([part[name] for part in parts]) for name in first}
    if isinstance(first, tuple):
        return tuple(joined([part[i] for part in parts]) for i in range(len(first)))
    return first if len(parts) == 1 else np.concatenate(parts)


def batch(x: Tree) -> Tree:
    """Inputs as a model is given them: arrays as they are, sequences as the batch that their function makes of them.

    >>> batch(np.eye(2)).shape, batch(Sequences(Ragged.of([np.array([7, 8])]), Pad(mask=None)))
    ((2, 2), {'input_ids': array([[7, 8]])})
    """
    return x.batch() if isinstance(x, Sequences) else x


def as_array(value: Any) -> Array:
    """Anything array-like as numpy, torch tensors on any device included."""
    return np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)


def nbytes(x: Tree) -> int:
    """Memory that the numbers of inputs take."""
    return sum((leaf.index if isinstance(leaf, Ragged) else leaf).nbytes for leaf in leaves(x))


def address(x: Tree) -> int:
    """Where inputs lie in memory."""
    first = leaves(x)[0]
    return int((first.index if isinstance(first, Ragged) else first).ctypes.data)
