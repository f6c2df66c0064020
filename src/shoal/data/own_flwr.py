"""A federation of the `flwr_datasets` package as a federation of ours."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.data.federation import Federation
from shoal.data.own import from_arrays
from shoal.data.own_table import class_numbers
from shoal.errors import BadInput
from shoal.seeds import Key
from shoal.types import Array

IMAGE_NAMES = ("image", "img", "x", "features", "input")
LABEL_NAMES = ("label", "labels", "y", "target", "character", "fine_label")


def from_flwr(
    federation: Any,
    *,
    image: str | None = None,
    label: str | None = None,
    split: str | None = None,
    partitions: int | None = None,
    test: float = 0.1,
    seed: int | Key = 0,
) -> Federation:
    """From a `FederatedDataset`, a `Partitioner` with its data, or anything with `load_partition(i)`.

    Partition i becomes client i, or has its natural id where the partitioner knows one. With partitioners for a
    training and a `test` split, the test partition of the same number is the client's test set; otherwise a share
    `test` of each partition is set aside. The columns are found by type and name unless given. Pictures become bytes
    (C, H, W); labels that are words become classes in sorted order over all clients.

    >>> class Tiny:
    ...     num_partitions = 2
    ...     def load_partition(self, i):
    ...         return {"x": [[1.0 * i], [2.0], [3.0]], "label": ["cat", "dog", "cat"]}
    >>> fed = from_flwr(Tiny())
    >>> fed.ids, fed.classes
    (('0', '1'), 2)
    """
    known = dict(getattr(federation, "partitioners", None) or {})
    if split is None and known:
        split = "train" if "train" in known else next(iter(known))
    partitioner = known.get(split, federation)
    count = partitions if partitions is not None else getattr(partitioner, "num_partitions", None)
    if count is None:
        raise BadInput("the federation does not say how many partitions it has; give partitions=...")
    splits = [split] if split == "test" or "test" not in known else [split, "test"]
    if len(splits) == 2 and known["test"].num_partitions != count:
        raise BadInput(f"there are {count} training partitions but {known['test'].num_partitions} test partitions")
    natural = getattr(partitioner, "partition_id_to_natural_id", None) or {}
    width = len(str(int(count) - 1))
    clients: dict[str, list[Array]] = {}
    known_names: tuple[str, ...] | None = None
    for i in range(int(count)):
        name = str(natural.get(i, f"{i:0{width}d}"))
        clients[name] = []
        for part in splits:
            loaded = federation.load_partition(i, part) if known else federation.load_partition(i)
            clients[name] += _columns(loaded, image, label)
            known_names = _class_names(loaded, label) or known_names
    _, words = class_numbers(np.concatenate([a for arrays in clients.values() for a in arrays[1::2]]))
    if words is not None:
        for arrays in clients.values():
            arrays[1::2] = [np.searchsorted(np.array(words), a.astype(str)) for a in arrays[1::2]]
    return from_arrays(clients, test=test, seed=seed, name="flwr federation", class_names=words or known_names)


def _columns(part: Any, image: str | None, label: str | None) -> list[Array]:
    names = list(getattr(part, "column_names", None) or part)
    kinds = {n: type(f).__name__ for n, f in (getattr(part, "features", None) or {}).items()}
    image = image or _find(names, kinds, "Image", IMAGE_NAMES, "image")
    label = label or _find(names, kinds, "ClassLabel", LABEL_NAMES, "label")
    for name in (image, label):
        if name not in names:
            raise BadInput(f"the partitions have no column {name!r}; their columns are {', '.join(names)}")
    return [_pictures([np.asarray(v) for v in part[image]]), np.asarray(list(part[label]))]


def _class_names(part: Any, label: str | None) -> tuple[str, ...] | None:
    """The names that the column of labels has for its classes, if it has any."""
    kinds = getattr(part, "features", None) or {}
    fits = [label] if label else [n for n, f in kinds.items() if type(f).__name__ == "ClassLabel"]
    names = getattr(kinds.get(fits[0]), "names", None) if fits else None
    return tuple(map(str, names)) if names else None


def _find(names: list[str], kinds: dict[str, str], kind: str, usual: tuple[str, ...], what: str) -> str:
    fits = [n for n in names if kinds.get(n) == kind] or [n for n in usual if n in names]
    if not fits:
        raise BadInput(f"no {what} column among {', '.join(names)}; give {what}=...")
    return fits[0]


def _pictures(items: list[Array]) -> Array:
    """Bytes of shape (H, W) or (H, W, C) as (N, C, H, W); anything else as it is."""
    try:
        x = np.stack(items)
    except ValueError as problem:
        raise BadInput("the samples of a partition do not all have the same shape") from problem
    if x.dtype != np.uint8 or x.ndim not in (3, 4):
        return x
    return x[:, None] if x.ndim == 3 else np.ascontiguousarray(x.transpose(0, 3, 1, 2))
