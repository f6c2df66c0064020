"""Own data as a federation: arrays, torch data sets, folders of npz files."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shoal.data.digest import check_names
from shoal.data.federation import Federation
from shoal.data.samples import Inputs, Ragged
from shoal.data.targets import MAX_CLASSES, checked_targets, classes_of, joined_targets
from shoal.errors import BadInput, DataMissing
from shoal.seeds import Key
from shoal.types import Array

MAX_INPUT = float(np.finfo(np.float32).max)  # of an input: most models compute in float32


def from_arrays(
    clients: Mapping[str, Sequence[Any]],
    *,
    test: float = 0.1,
    seed: int | Key = 0,
    name: str = "own arrays",
    classes: int | None = None,
    tags: Mapping[str, Mapping[str, str]] | None = None,
    class_names: Sequence[str] | None = None,
) -> Federation:
    """From `{client: (x, y)}`, a share `test` set aside per client, or from `{client: (x, y, x_test, y_test)}`.

    Lists, numpy arrays and torch tensors are taken. Samples of bytes with two or more axes count as images and are
    divided by 255, other whole numbers stay as they are (tokens). Floats stay float32 or float64, as they are given;
    lists of Python floats are float64. A model turns them into its own precision, so float64 pays for runs with
    `precision=float64` alone, and float32 takes half the memory. Inputs must be finite in float32 as well.

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
    xs: list[Array] = []
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
        xs.extend(x for x, _ in parts if len(x))
        ys.extend(y for _, y in parts)
        start += sum(len(y) for _, y in parts)
    x, inputs = _stored(xs)
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


def from_datasets(clients: Mapping[str, Any], *, test: float = 0.1, seed: int | Key = 0) -> Federation:
    """From `{client: torch Dataset}` (or a pair for training and test): anything with a length and items (x, y).

    >>> from_datasets({"a": [([1.0], 0), ([2.0], 1)], "b": [([3.0], 1), ([4.0], 0)]}).train.sizes.tolist()
    [1, 1]
    """
    arrays = {}
    for client, data in clients.items():
        pair = data if isinstance(data, tuple) and len(data) == 2 else (data,)
        arrays[client] = [array for part in pair for array in _items(str(client), part)]
    return from_arrays(arrays, test=test, seed=seed, name="own data sets")


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
                wanted = ["x", "y"] + (["x_test", "y_test"] if "x_test" in arrays else [])
                clients[file.stem] = [arrays[k] for k in wanted]
        except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile) as problem:
            reason = str(problem).strip("'\"")
            raise BadInput(
                f"{file} cannot be read: {reason}; it needs arrays x and y, without Python objects"
            ) from problem
    return from_arrays(clients, test=test, seed=seed, name=f"folder {folder.name}")


def set_aside(n: int, share: float, key: Key) -> Array:
    """Which samples are for testing: the share rounded up, but never all."""
    count = min(n - 1, int(np.ceil(share * n - 1e-9)))
    chosen = np.zeros(n, bool)
    chosen[key.rng().permutation(n)[:count]] = True
    return chosen


def _array(value: Any) -> Array:
    """Anything array-like as numpy, torch tensors on any device included."""
    return np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)


def _checked(client: str, x: Any, y: Any) -> tuple[Array, Array]:
    try:
        x_N, y_N = _array(x), _array(y)
    except ValueError as problem:
        raise BadInput(f"the samples of client {client!r} do not all have the same shape") from problem
    if x_N.dtype.kind not in "biuf":
        raise BadInput(f"the inputs of client {client!r} must be numbers, not {x_N.dtype}")
    if y_N.ndim < 1 or x_N.ndim < 1 or len(x_N) != len(y_N):
        raise BadInput(f"client {client!r} has inputs of shape {x_N.shape} and labels of shape {y_N.shape}")
    if x_N.dtype.kind == "f" and not np.isfinite(x_N).all():
        raise BadInput(f"the inputs of client {client!r} hold a value that is not finite")
    if x_N.dtype.kind == "f" and max(float(x_N.max(initial=0)), -float(x_N.min(initial=0))) > MAX_INPUT:
        raise BadInput(f"the inputs of client {client!r} hold a value beyond {MAX_INPUT:.1e}; scale them down")
    if x_N.dtype == np.uint64 and x_N.max(initial=0) > np.iinfo(np.int64).max:
        raise BadInput(f"the inputs of client {client!r} hold a whole number of more than 63 bits; use floats")
    return x_N, checked_targets(client, y_N)


def _stored(xs: list[Array]) -> tuple[Array, Inputs]:
    """All samples in one array, and how they become inputs."""
    shapes = {x.shape[1:] for x in xs}
    if len(shapes) > 1:
        raise BadInput(f"samples of the clients have different shapes: {', '.join(map(str, sorted(shapes)))}")
    bytes_ = {x.dtype == np.uint8 and x.ndim >= 3 for x in xs}
    if bytes_ == {True}:
        return np.concatenate(xs), Inputs(0.0, 255.0)
    if True in bytes_:
        raise BadInput("some clients have images as bytes and others as other numbers; use one kind for all")
    dtype = common_dtype(xs)
    return np.concatenate([x.astype(dtype, copy=False) for x in xs]), Inputs()


def common_dtype(arrays: Sequence[Array]) -> type[np.generic]:
    """The dtype that samples are kept in: int64 if all are whole numbers, float64 if any is so fine, else float32.

    >>> common_dtype([np.zeros(1, np.float32), np.zeros(1, int)]).__name__
    'float32'
    """
    kinds = {a.dtype.kind for a in arrays}
    if "f" in kinds:
        return np.float64 if any(a.dtype.kind == "f" and a.dtype.itemsize > 4 for a in arrays) else np.float32
    return np.float32 if kinds == {"b"} else np.int64


def _items(client: str, data: Any) -> tuple[Array, Array]:
    if not hasattr(data, "__len__") or not hasattr(data, "__getitem__"):
        raise BadInput(f"the data set of client {client!r} must have a length and items")
    pairs = [data[i] for i in range(len(data))]
    if not pairs or any(len(pair) != 2 for pair in pairs):
        raise BadInput(f"the data set of client {client!r} must hold at least one item, each a pair (x, y)")
    try:
        return np.stack([_array(x) for x, _ in pairs]), np.stack([_array(y) for _, y in pairs])
    except ValueError as problem:
        raise BadInput(f"the samples of client {client!r} do not all have the same shape") from problem
