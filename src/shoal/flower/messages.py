"""Flower's messages from and to what `store.codec` makes of a record. No torch: every message starts a process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from flwr.app import Array as FlowerArray
from flwr.app import ArrayRecord, ConfigRecord, RecordDict

from shoal.errors import BadInput
from shoal.store.codec import Copied
from shoal.types import Array

HELLO, CALL = "query.hello", "train.call"  # the two kinds of message: who is there, and do these units
TREE = "tree"  # the record that holds the tree; every array is a record of its own beside it


def record_of(array: Array) -> Any:
    """An array as it travels; put into several messages, it is uploaded once."""
    return ArrayRecord({"array": FlowerArray(array)})


def to_content(copy: Copied, shared: Mapping[str, Any] | None = None) -> Any:
    """The content of a message.

    Args:
        copy: What `records.pack` made.
        shared: Arrays that other messages hold as well, as records, by their names in the copy.

    Returns:
        A `RecordDict`.

    >>> import numpy as np
    >>> sorted(to_content(Copied({"array": "a0"}, {"a0": np.zeros(2)})))
    ['a0', 'tree']
    """
    held = {name: (shared or {}).get(name) or record_of(array) for name, array in copy.arrays.items()}
    return RecordDict({TREE: ConfigRecord({TREE: json.dumps(copy.tree)}), **held})


def from_content(content: Any) -> Copied:
    """The other side of `to_content`, or one sentence.

    Args:
        content: Of a message.

    Returns:
        What `records.unpack` takes.
    """
    try:
        arrays = {name: record["array"].numpy() for name, record in content.array_records.items()}
        return Copied(json.loads(content[TREE][TREE]), arrays)
    except Exception as e:  # it came from elsewhere: nothing in it may end more than itself
        raise BadInput(f"the message cannot be read: {type(e).__name__}: {e}") from e
