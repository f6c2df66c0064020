"""Own data as a federation: arrays, torch data sets, folders of npz files."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shoal.data.digest import check_names
from shoal.data.federation import Federation
from shoal.data.own_inputs import Collate, read, stacked, stored
from shoal.data.own_inputs import common_dtype as common_dtype
from shoal.data.targets import MAX_CLASSES, checked_targets, classes_of, joined_targets
from shoal.errors import BadInput, DataMissing
from shoal.seeds import Key
from shoal.tree import Ragged, Tree, as_array, leaves, tree_map
from shoal.types import Array


def from_arrays(
    clients: Mapping[str, Sequence[Any]],
    *,
    test: float = 0.1,
    seed: int | Key = 0,
    name: str = "own arrays",
    classes: int | None = None,
    tags: Mapping[str, Mapping[str, str]] | None = None,
    class_names: Sequence[str] | None = None,
    collate: Collate | None = None,
) -> Federation:
    """From `{client: (x, y)}`, a share `test` set aside per client, or from `{client: (x, y, x_test, y_test)}`.

    Lists, numpy arrays and torch tensors are taken. Samples of bytes with two or more axes count as images and are
    divided by 255, other whole numbers stay as they are (tokens). Floats stay float32 or float64, as they are given;
    lists of Python floats are float64. A model turns them into its own precision, so float64 pays for runs with
    `precision=float64` alone, and float32 takes half the memory. Inputs must be finite in float32 as well.

    A dict, or a tuple of arrays, is several inputs of every sample; a list of samples of different lengths is one of
    sequences, of which `collate` makes batches; docs/inputs.md says more.

    Targets are classes (whole numbers from 0 on, below 1,000,000), labels (vectors of 0 and 1), classes of tokens
    (sequences of whole numbers, -100 where none counts) or floats, one or an array of them per sample; what is learned
    of them is the run's task. Test samples are drawn from each client's own random stream;
    a single sample is for training. `class_names` says what the classes are called.

    >>> fed = from_arrays({"a": ([[1.0], [2.0]], [0, 1]), "b": ([[3.0]], [1])}, test=0.5)
    >>> fed.train.sizes.tolist(), fed.test.sizes.tolist()
    ([1, 1], [1, 0])
    """
    if not clients:
        raise BadInput("a federation needs at least one client")
    if not 0 <= test < 1:
        raise BadInput(f"test must be at least 0 and below 1, not {test}")
    key = (seed if isinstance(seed, Key) else Key(seed))("split")
    named = {str(client): data for client, data in clients.items()}
    if len(named) < len(clients):
        raise BadInput("two clients have the same name when written as text")
    check_names(list(named))
    if classes is not None and classes > MAX_CLASSES:
        raise BadInput(f"classes must be at most {MAX_CLASSES:,}, not {classes:,}")
    xs: list[Tree] = []
    ys: list[Array] = []
    train, test_rows, start = [], [], 0
    for client in sorted(named):
        data = named[client]
        if len(data) not in (2, 4):
            raise BadInput(f"client {client!r} needs (x, y) or (x, y, x_test, y_test), not {len(data)} parts")
        parts = [_checked(client, *data[i : i + 2]) for i in range(0, len(data), 2)]
        n = len(parts[0][1])
        if n == 0:
            raise BadInput(f"client {client!r} has no training sample; leave it out")
        chosen = set_aside(n, test, key.of(client)) if len(data) == 2 else np.zeros(n, bool)
        more = np.arange(n, sum(len(y) for _, y in parts))
        train.append(start + np.flatnonzero(~chosen))
        test_rows.append(start + np.concatenate([np.flatnonzero(chosen), more]))
        xs.extend(x for x, y in parts if len(y))
        ys.extend(y for _, y in parts)
        start += sum(len(y) for _, y in parts)
    x, inputs = stored(xs, collate)
    y = joined_targets(ys)
    if class_names is not None:
        classes = len(class_names) if classes is None else classes
        if len(class_names) != classes:
            raise BadInput(f"class_names holds {len(class_names)} names for {classes} classes; give one for each")
    return Federation(
        name=name,
        ids=tuple(sorted(named)),
        x=x,
        y=y,
        train=Ragged.of(train),
        test=Ragged.of(test_rows),
        classes=classes_of(y, classes),
        inputs=inputs,
        tags=dict(tags or {}),
        class_names=None if class_names is None else tuple(map(str, class_names)),
    )


def from_datasets(
    clients: Mapping[str, Any], *, test: float = 0.1, seed: int | Key = 0, collate: Collate | None = None
) -> Federation:
    """From `{client: torch Dataset}` (or a pair for training and test): anything with a length and items (x, y).

    >>> from_datasets({"a": [([1.0], 0), ([2.0], 1)], "b": [([3.0], 1), ([4.0], 0)]}).train.sizes.tolist()
    [1, 1]
    """
    arrays = {}
    for client, data in clients.items():
        pair = data if isinstance(data, tuple) and len(data) == 2 else (data,)
        arrays[client] = [array for part in pair for array in _items(str(client), part)]
    return from_arrays(arrays, test=test, seed=seed, name="own data sets", collate=collate)


def from_folder(path: str | Path, *, test: float = 0.1, seed: int | Key = 0) -> Federation:
    """From a folder of `<client>.npz` files with arrays x and y, and optionally x_test and y_test.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for client in ("ann", "bob"):
    ...     np.savez(folder / f"{client}.npz", x=np.eye(4), y=[0, 1, 0, 1])
    >>> from_folder(folder).ids
    ('ann', 'bob')
    """
    folder = Path(path).expanduser()
    if not folder.is_dir():
        raise DataMissing(f"there is no folder {folder}; give a folder of <client>.npz files with arrays x and y.")
    files = sorted(folder.glob("*.npz"))
    if not files:
        raise DataMissing(f"folder {folder} holds no <client>.npz file; each needs arrays x and y.")
    clients = {}
    for file in files:
        try:
            with file.open("rb") as opened, np.load(opened, allow_pickle=False) as arrays:
                tested = any(k.partition(".")[0] == "x_test" for k in arrays)
                wanted = ["x", "y"] + (["x_test", "y_test"] if tested else [])
                clients[file.stem] = [_entry(arrays, k) for k in wanted]
        except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile) as problem:
            reason = str(problem).strip("'\"")
            raise BadInput(
                f"{file} cannot be read: {reason}; it needs arrays x and y, without Python objects"
            ) from problem
    return from_arrays(clients, test=test, seed=seed, name=f"folder {folder.name}")


def _entry(arrays: Mapping[str, Array], name: str) -> Tree:
    """An array of a file, or those called `name.PART` by the names of their parts."""
    parts = {k.partition(".")[2]: arrays[k] for k in arrays if k.startswith(f"{name}.")}
    return parts or arrays[name]


def set_aside(n: int, share: float, key: Key) -> Array:
    """Which samples are for testing: the share rounded up, but never all."""
    count = min(n - 1, int(np.ceil(share * n - 1e-9)))
    chosen = np.zeros(n, bool)
    chosen[key.rng().permutation(n)[:count]] = True
    return chosen


def _checked(client: str, x: Any, y: Any) -> tuple[Tree, Array]:
    x_N = read(x, f"client {client!r}")
    try:
        y_N = as_array(y)
    except ValueError as problem:
        raise BadInput(f"the targets of client {client!r} do not all have the same shape") from problem
    sized = all(isinstance(leaf, Ragged) or leaf.ndim > 0 for leaf in leaves(x_N))
    if y_N.ndim < 1 or not sized or any(len(leaf) != len(y_N) for leaf in leaves(x_N)):
        shapes = tree_map(lambda leaf: f"{len(leaf)} sequences" if isinstance(leaf, Ragged) else leaf.shape, x_N)
        raise BadInput(f"client {client!r} has inputs of shape {shapes} and labels of shape {y_N.shape}")
    return x_N, checked_targets(client, y_N)


def _items(client: str, data: Any) -> tuple[Tree, Array]:
    if not hasattr(data, "__len__") or not hasattr(data, "__getitem__"):
        raise BadInput(f"the data set of client {client!r} must have a length and items")
    pairs = [data[i] for i in range(len(data))]
    if not pairs or any(len(pair) != 2 for pair in pairs):
        raise BadInput(f"the data set of client {client!r} must hold at least one item, each a pair (x, y)")
    whose, first, xs = f"client {client!r}", pairs[0][0], [x for x, _ in pairs]
    labels = np.stack([as_array(y) for _, y in pairs])
    if isinstance(first, Mapping):
        return {name: stacked([x[name] for x in xs], whose) for name in first}, labels
    if isinstance(first, tuple) and all(hasattr(part, "shape") for part in first):
        return tuple(stacked([x[i] for x in xs], whose) for i in range(len(first))), labels
    return stacked(xs, whose), labels
