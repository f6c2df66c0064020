"""States as files: a tree of JSON and the arrays it points to, in one safetensors file. Never a pickle."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import sys
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from shoal.table import Table
from shoal.types import Array, Ref
from shoal.vectors import Vectors

PLAIN = {type(None), bool, int, float, str}  # what JSON holds as it is


class Damaged(Exception):
    """A file that does not hold what was written."""


def encode(value: Any, arrays: dict[str, Array], seen: dict[int, str] | None = None) -> Any:
    """The value as JSON; arrays go into `arrays`, each distinct one once.

    Args:
        value: Arrays, numbers, strings, tuples, maps and frozen records of them.
        arrays: Where the arrays go, by name.
        seen: Names of arrays that were met already, by `id`.

    Returns:
        A tree that `json` can write.

    >>> arrays = {}
    >>> encode({"a": np.zeros(2), "b": (1, None)}, arrays)
    {'map': {'a': {'array': 'a0'}, 'b': {'tuple': [1, None]}}}
    """
    seen = {} if seen is None else seen
    if isinstance(value, np.ndarray):
        if id(value) not in seen:
            seen[id(value)] = f"a{len(arrays)}"
            arrays[seen[id(value)]] = np.array(value, order="C")
        return {"array": seen[id(value)]}
    if isinstance(value, np.generic):
        return {"scalar": encode(np.asarray(value), arrays)["array"]}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: encode(getattr(value, f.name), arrays, seen) for f in dataclasses.fields(value)}
        return {"record": type(value).__name__, "fields": fields}
    if isinstance(value, Mapping):
        if not all(isinstance(k, str) for k in value):
            raise TypeError("a map in a state must have strings as keys")
        return {"map": {k: encode(v, arrays, seen) for k, v in value.items()}}
    if isinstance(value, tuple):
        if {*map(type, value)} <= PLAIN:
            return {"tuple": [*value]}
        return {"tuple": [encode(v, arrays, seen) for v in value]}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"a state may hold arrays, numbers, strings, tuples, maps and records, not {type(value).__name__}")


def decode(tree: Any, arrays: Mapping[str, Array], records: Mapping[str, type]) -> Any:
    """The other side of `encode`; `records` names the dataclasses that may occur.

    Args:
        tree: What `encode` gave.
        arrays: The arrays it points to.
        records: The classes of records by name.

    Returns:
        The value.

    >>> arrays = {}
    >>> decode(encode((1, {"a": np.arange(2)}), arrays), arrays, {})
    (1, {'a': array([0, 1])})
    """
    if not isinstance(tree, dict):
        return tree
    if "scalar" in tree:
        return arrays[tree["scalar"]][()]
    if "array" in tree:
        return arrays[tree["array"]]
    if "tuple" in tree:
        return tuple(decode(v, arrays, records) for v in tree["tuple"])
    if "map" in tree:
        return {k: decode(v, arrays, records) for k, v in tree["map"].items()}
    if tree["record"] not in records:
        raise Damaged(f"it holds a {tree['record']!r}, which is not known here")
    return records[tree["record"]](**{k: decode(v, arrays, records) for k, v in tree["fields"].items()})


def records_of(state: type) -> dict[str, type]:
    """The dataclasses a state may be made of: those of its module, and those that map clients to rows."""
    module = vars(sys.modules[state.__module__])
    found = {c.__name__: c for c in module.values() if isinstance(c, type) and dataclasses.is_dataclass(c)}
    return {**found, "Table": Table, "Vectors": Vectors, "Ref": Ref, state.__name__: state}


@dataclasses.dataclass(frozen=True)
class Copied:
    """A value as it was at one moment: whatever becomes of it, this can still be written."""

    tree: Any
    arrays: Mapping[str, Array]


def copied(value: Any) -> Copied:
    """A copy that `write_copy` takes, later or in another thread."""
    arrays: dict[str, Array] = {}
    tree = encode(value, arrays)
    return Copied(tree, arrays or {"none": np.zeros(0, np.uint8)})


def to_bytes(copy: Copied) -> bytes:
    """The same as one piece of memory, for a pipe or a socket.

    >>> from_bytes(to_bytes(copied({"a": np.arange(3)}))).arrays["a0"].tolist()
    [0, 1, 2]
    """
    shapes = {name: [array.dtype.str, list(array.shape)] for name, array in copy.arrays.items()}
    head = json.dumps({"tree": copy.tree, "arrays": shapes}).encode()
    return b"".join([len(head).to_bytes(8, "little"), head, *(array.tobytes() for array in copy.arrays.values())])


def from_bytes(data: bytes) -> Copied:
    """The other side of `to_bytes`, or `Damaged`."""
    try:
        at = 8 + int.from_bytes(data[:8], "little")
        head, arrays = json.loads(data[8:at]), {}
        for name, (kind, shape) in head["arrays"].items():
            count = math.prod(shape)
            arrays[name] = np.frombuffer(data, np.dtype(kind), count, at).reshape(shape)
            at += arrays[name].nbytes
        return Copied(head["tree"], arrays)
    except (KeyError, ValueError, TypeError) as e:
        raise Damaged(str(e) or type(e).__name__) from e


def write(path: Path, value: Any) -> None:
    """Save a value, all or nothing: the file appears under its name when it is complete on disk."""
    write_copy(path, copied(value))


def write_copy(path: Path, copy: Copied) -> None:
    """What `write` does after the value was copied."""
    text = json.dumps(copy.tree)
    meta = {"tree": text, "crc": str(checksum(text, copy.arrays))}
    partial = path.with_name(f".{path.name}.partial")
    save_file(dict(copy.arrays), partial, metadata=meta)
    with open(partial, "rb") as file:
        os.fsync(file.fileno())
    partial.rename(path)


def read(path: Path, records: Mapping[str, type]) -> Any:
    """Load what `write` saved, or raise `Damaged`."""
    try:
        with safe_open(path, framework="numpy") as file:
            meta = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if int(meta["crc"]) != checksum(meta["tree"], arrays):
            raise Damaged("its checksum does not fit")
        return decode(json.loads(meta["tree"]), arrays, records)
    except (SafetensorError, OSError, KeyError, ValueError, TypeError) as e:
        raise Damaged(str(e).splitlines()[0] if str(e) else type(e).__name__) from e


def checksum(text: str, arrays: Mapping[str, Array]) -> int:
    crc = zlib.crc32(text.encode())
    for name in sorted(arrays):
        crc = zlib.crc32(np.ascontiguousarray(arrays[name]).data, zlib.crc32(name.encode(), crc))
    return crc
