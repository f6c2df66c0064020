"""Inputs that a user gives: arrays, several of them by name or place, and sequences of different lengths."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from shoal.data.samples import Inputs
from shoal.errors import BadInput
from shoal.tree import Pad, Ragged, Sequences, Shape, Tree, as_array, by_name, leaves, length, placed, told
from shoal.types import Array

MAX_INPUT = float(np.finfo(np.float32).max)  # of an input: most models compute in float32
Collate = Callable[[list[Any]], Any]


def read(x: Any, whose: str) -> Tree:
    """Inputs as arrays, or as `Ragged` rows where samples have different lengths; a sentence if they are neither.

    A dict, or a tuple of arrays, is several inputs of every sample. A list holds samples.

    Args:
        x: What a user gave.
        whose: Such as `client 'ann'`, for the sentence.

    Returns:
        An array, rows, or a dict or tuple of such.

    >>> read({"words": [[4, 5], [6]], "age": [30.0, 40.0]}, "ann")["words"].sizes.tolist()
    [2, 1]
    """
    if isinstance(x, Sequences):
        return x.rows
    if isinstance(x, Mapping):
        strange = [name for name in x if not (isinstance(name, str) and name.isidentifier())]
        if strange or not x:
            shown = repr(strange[0]) if strange else "none at all"
            raise BadInput(f"the inputs of {whose} need names by which a model can be called, not {shown}")
        return {name: one(part, f"{whose}, {name}") for name, part in x.items()}
    if isinstance(x, tuple) and x and all(isinstance(p, np.ndarray | Ragged) or hasattr(p, "detach") for p in x):
        return tuple(one(part, f"{whose}, {i}") for i, part in enumerate(x))
    return one(x, whose)


def one(value: Any, whose: str) -> Array | Ragged:
    """One array of samples, or rows, of numbers that a model can take."""
    found: Array | Ragged | None = value if isinstance(value, Ragged) else None
    if found is None:
        try:
            found = as_array(value)
        except (ValueError, TypeError):  # samples are not alike
            found = None
    if found is None or (isinstance(found, np.ndarray) and found.dtype.hasobject and found.ndim == 1):
        found = together(value, whose)
    numbers = found.index if isinstance(found, Ragged) else found
    if numbers.dtype.kind not in "biuf":
        raise BadInput(f"the inputs of {whose} must be numbers, not {numbers.dtype}")
    if numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
        raise BadInput(f"the inputs of {whose} hold a value that is not finite")
    if numbers.dtype.kind == "f" and max(float(numbers.max(initial=0)), -float(numbers.min(initial=0))) > MAX_INPUT:
        raise BadInput(f"the inputs of {whose} hold a value beyond {MAX_INPUT:.1e}; scale them down")
    if numbers.dtype == np.uint64 and numbers.max(initial=0) > np.iinfo(np.int64).max:
        raise BadInput(f"the inputs of {whose} hold a whole number of more than 63 bits; use floats")
    return found


def together(samples: Sequence[Any], whose: str) -> Ragged:
    """Samples that differ in their length alone."""
    try:
        rows = [as_array(sample) for sample in samples]
    except (ValueError, TypeError):
        rows = []
    if not rows or any(row.ndim < 1 for row in rows) or len({row.shape[1:] for row in rows}) > 1:
        raise BadInput(f"the samples of {whose} do not all have the same shape, up to their length")
    strange = [row.dtype for row in rows if row.dtype.kind not in "biuf"]
    if strange:
        raise BadInput(f"the inputs of {whose} must be numbers, not {strange[0]}")
    return Ragged.of(rows, common_dtype(rows))


def stacked(samples: Sequence[Any], whose: str) -> Array | Ragged:
    """Samples one by one as one array, or as rows if they differ in their length."""
    rows = [as_array(sample) for sample in samples]
    return np.stack(rows) if len({row.shape for row in rows}) == 1 else together(rows, whose)


def stored(xs: Sequence[Tree], collate: Collate | None = None) -> tuple[Tree, Inputs]:
    """The inputs of all clients in one, and how they become inputs of a model.

    Args:
        xs: What `read` gave of each.
        collate: Makes batches of samples; None: they are padded where they have different lengths.

    Returns:
        Stored samples, and what is done when they are gathered.
    """
    first = xs[0]
    kinds = {(type(x), tuple(x) if isinstance(x, dict) else len(leaves(x))) for x in map(loose, xs)}
    if len(kinds) > 1:
        raise BadInput("the clients have different inputs; give the same arrays for all, under the same names")
    if isinstance(first, dict):
        kept: Tree = {name: kept_array([x[name] for x in xs]) for name in first}
    elif isinstance(first, tuple):
        kept = tuple(kept_array([x[i] for x in xs]) for i in range(len(first)))
    else:
        kept = kept_array(xs)
    bytes_ = any(isinstance(leaf, np.ndarray) and leaf.dtype == np.uint8 for leaf in leaves(kept))
    inputs = Inputs(0.0, 255.0) if bytes_ else Inputs()
    ragged = any(isinstance(leaf, Ragged) for leaf in leaves(kept))
    return (Sequences(kept, collate or Pad()) if ragged or collate else kept), inputs


def loose(x: Tree) -> Tree:
    """Arrays and rows alike: what some clients give as an array has another length at others."""
    return x if isinstance(x, dict | tuple) else (x,)


def kept_array(xs: Sequence[Any]) -> Array | Ragged:
    """One of the arrays of all clients; rows where one of them has rows."""
    if any(isinstance(x, Ragged) for x in xs):
        rows = [row for x in xs for row in x]
        if any(row.ndim < 1 for row in rows) or len({row.shape[1:] for row in rows}) > 1:
            raise BadInput("samples of the clients have different shapes, and not in their length alone")
        return Ragged.of(rows, common_dtype([x.index if isinstance(x, Ragged) else x for x in xs]))
    shapes = {x.shape[1:] for x in xs}
    if len(shapes) > 1:
        raise BadInput(f"samples of the clients have different shapes: {', '.join(map(str, sorted(shapes)))}")
    images = {x.dtype == np.uint8 and x.ndim >= 3 for x in xs}
    if images == {True}:
        return np.concatenate(xs)
    if True in images:
        raise BadInput("some clients have images as bytes and others as other numbers; use one kind for all")
    dtype = common_dtype(xs)
    return np.concatenate([x.astype(dtype, copy=False) for x in xs])


def common_dtype(arrays: Sequence[Array]) -> type[np.generic]:
    """The dtype that samples are kept in: int64 if all are whole numbers, float64 if any is so fine, else float32.

    >>> common_dtype([np.zeros(1, np.float32), np.zeros(1, int)]).__name__
    'float32'
    """
    kinds = {a.dtype.kind for a in arrays}
    if "f" in kinds:
        return np.float64 if any(a.dtype.kind == "f" and a.dtype.itemsize > 4 for a in arrays) else np.float32
    return np.float32 if kinds == {"b"} else np.int64


def given(x: Any, shape: Shape, kind: Any, collate: Collate | None = None) -> Tree:
    """Samples that a user gives for a model, as those are stored that it was trained on; a sentence if they do not fit.

    Args:
        x: In the dtype that is stored, or floats ready for the model.
        shape: Of a stored sample, by name where there are several arrays; 0 for any length.
        kind: The dtype, by name likewise.
        collate: Makes batches of sequences; None: there are none.

    Returns:
        Samples.

    >>> given([[4, 5], [6]], (0,), "int64", Pad()).batch()["input_ids"].tolist()
    [[4, 5], [6, 0]]
    """
    if not isinstance(shape, dict) and collate is None:
        return fitting(np.asarray(x), shape, kind, False)
    found = by_name(read(x, "the new samples"))
    if not isinstance(shape, dict):
        found = fitting(found, shape, kind, True)
    elif isinstance(found, dict) and found.keys() == shape.keys():
        ragged = collate is not None
        found = {name: fitting(found[name], sizes, kind[name], ragged) for name, sizes in shape.items()}
    if isinstance(shape, dict) != isinstance(found, dict) or (isinstance(shape, dict) and found.keys() != shape.keys()):
        raise BadInput(f"the inputs are not those of the federation, {told(shape)}; give them as it has them")
    if any(len(leaf) != length(found) for leaf in leaves(found)):
        raise BadInput("the arrays of the new samples do not have the same length; give one entry per sample in each")
    return placed(found) if collate is None else Sequences(placed(found), collate)


def fitting(new: Any, shape: Any, kind: Any, ragged: bool) -> Any:
    """One array of new samples, if it is such as the known ones are."""
    if ragged and shape[:1] == (0,):
        rows = [np.asarray(row) for row in new]
        if any((0, *row.shape[1:]) != shape for row in rows):
            raise BadInput(f"inputs must be sequences of shape {told(shape)} each; give them as the data has them")
        new = Ragged.of(rows, common_dtype(rows))
        if new.index.dtype.kind != np.dtype(kind).kind:
            raise BadInput(f"inputs are {new.index.dtype}, not {kind}; give them as the data has them")
        return new
    sizes = None if isinstance(new, Ragged | dict) else new.shape[1:]
    if sizes is None or len(sizes) != len(shape) or any(n not in (0, m) for n, m in zip(shape, sizes, strict=True)):
        raise BadInput(
            f"inputs have shape {'of many lengths' if sizes is None else sizes} each, the federation's have {shape}"
        )
    whole = np.dtype(kind).kind == new.dtype.kind == "i"
    if new.dtype != kind and not whole and not np.issubdtype(new.dtype, np.floating):
        raise BadInput(f"inputs are {new.dtype}; give them as floats ready for the model, or as the data has them")
    return new
