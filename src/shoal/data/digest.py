"""Values into a hash: by their bytes and fields, never by how they are printed or where they stand in memory."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import islice
from operator import lt
from typing import Any

import numpy as np

from shoal.errors import BadInput
from shoal.types import EVERYBODY

# Where classes were when the first fingerprints were taken: data are the same though the code has moved.
MOVED = {("shoal.tree.ragged", "Ragged"): ("shoal.data.samples", "Ragged")}


def fingerprint(ids: Sequence[str], *values: Any) -> str:
    """A short hash of client ids and whatever else a result depends on.

    >>> fingerprint(("a", "b"), np.zeros(2)) == fingerprint(("a", "b"), np.zeros((2, 1)))
    False
    """
    digest = hashlib.blake2b("\0".join(ids).encode(), digest_size=8)
    for value in values:
        feed(digest, value)
    return digest.hexdigest()


def feed(digest: hashlib.blake2b, value: Any) -> None:
    """Add a value to a hash.

    Arrays count by dtype, shape and bytes, records by their class and fields, functions by module and name, methods
    and partial functions also by what they are bound to. Other objects count by their `repr` if their class has one,
    else by the name of the class. What a function captures or an object without a `repr` holds is not seen; make it
    a dataclass if it matters.
    """
    cls: Any = type(value)
    if isinstance(value, np.ndarray) and value.dtype.hasobject:
        feed(digest, ("objects", value.shape, value.ravel().tolist()))
    elif isinstance(value, np.ndarray | np.generic):
        _head(digest, "array", value.dtype.str, value.shape)
        digest.update(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)
    elif isinstance(value, list | tuple):
        _head(digest, "sequence", len(value))
        for item in value:
            feed(digest, item)
    elif isinstance(value, Mapping):
        _head(digest, "mapping", len(value))
        for key in sorted(value, key=repr):
            feed(digest, key)
            feed(digest, value[key])
    elif isinstance(value, partial):
        feed(digest, ("partial", value.func, value.args, value.keywords))
    elif hasattr(value, "__self__") and hasattr(value, "__func__"):
        feed(digest, ("method", value.__func__, value.__self__))
    elif hasattr(value, "__qualname__"):
        place = (value.__module__, value.__qualname__)
        _head(digest, "named", *MOVED.get(place, place))
    elif dataclasses.is_dataclass(value):
        counted = [f.name for f in dataclasses.fields(value) if f.metadata.get("fingerprint", True)]
        feed(digest, (cls, [getattr(value, name) for name in counted]))
    elif cls.__repr__ is object.__repr__:
        feed(digest, ("object", cls))
    else:
        _head(digest, cls.__name__, repr(value))


def check_names(ids: Sequence[str]) -> None:
    """One sentence for the first id that cannot be written as text.

    >>> check_names(["ann", "zoë"])
    """
    try:
        "".join(ids).encode()
    except UnicodeEncodeError:
        for name in ids:
            if any("\ud800" <= letter <= "\udfff" for letter in name):
                raise BadInput(f"client {name!r} has a name that is no valid Unicode text; rename it") from None


def check_ids(ids: Sequence[str]) -> None:
    """One sentence unless the ids of a federation are text, sorted and distinct, and none stands for all data together.

    >>> check_ids(["ann", "bob"])
    """
    if not all(map(lt, ids, islice(ids, 1, None))):
        raise BadInput("the ids of a federation must be distinct and sorted")
    check_names(ids)
    if EVERYBODY in ids:
        raise BadInput(f"a client may not be called {EVERYBODY!r}: that name stands for all data together")


def _head(digest: hashlib.blake2b, *words: Any) -> None:
    digest.update(("\0".join(map(str, words)) + "\1").encode("utf-8", "surrogatepass"))
