"""A table with a client column as a federation: a pandas DataFrame, a mapping of columns or a CSV file."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shoal.data.federation import Federation
from shoal.data.own import from_arrays
from shoal.errors import BadInput, DataMissing
from shoal.seeds import Key
from shoal.types import Array


def from_table(
    table: Any,
    *,
    client: str = "client",
    label: str = "label",
    features: Sequence[str] | None = None,
    tags: Sequence[str] = (),
    test: float = 0.1,
    seed: int | Key = 0,
) -> Federation:
    """From a pandas DataFrame or the path of a CSV file with a client column and a label column.

    Features are all other columns that hold numbers, unless named. Labels that are words become classes in sorted
    order. `tags` names columns that a client publishes (site, device); they must be the same in all its rows.

    >>> from_table({"client": ["a", "a", "b"], "age": [1, 2, 3], "label": ["no", "yes", "no"]}).classes
    2
    """
    columns, source = _columns(table)
    for name in (client, label, *(features or ()), *tags):
        if name not in columns:
            raise BadInput(f"{source} has no column {name!r}; its columns are {', '.join(columns)}")
    others = [c for c in columns if c not in (client, label, *tags)]
    chosen = [c for c in others if _is_numeric(columns[c])] if features is None else list(features)
    if not chosen:
        raise BadInput(f"{source} has no numeric column left for features")
    for name in chosen:
        if not _is_numeric(columns[name]):
            raise BadInput(f"column {name!r} of {source} does not hold numbers only; leave it out of the features")
    who = columns[client].astype(str)
    if not len(who):
        raise DataMissing(f"{source} has no rows.")
    x = np.stack([columns[c].astype(np.float32) for c in chosen], axis=1)
    y, classes = class_numbers(columns[label])
    rows = {name: np.flatnonzero(who == name) for name in np.unique(who).tolist()}
    published = {name: {t: _only(columns[t][r], t, name) for t in tags} for name, r in rows.items()} if tags else None
    clients = {name: (x[r], y[r]) for name, r in rows.items()}
    return from_arrays(clients, test=test, seed=seed, name=source, classes=classes, tags=published)


def class_numbers(labels: Array) -> tuple[Array, int | None]:
    """Whole numbers stay; words become numbers in sorted order, and their count is known.

    >>> class_numbers(np.array(["b", "a", "b"]))
    (array([1, 0, 1]), 2)
    """
    if labels.dtype.kind in "biuf":
        return labels, None
    words, numbers = np.unique(labels.astype(str), return_inverse=True)
    return numbers.astype(np.int64), len(words)


def _columns(table: Any) -> tuple[dict[str, Array], str]:
    """Columns by name: of a mapping, a data frame or a CSV file."""
    if not isinstance(table, str | Path):
        return {str(c): np.asarray(table[c]) for c in table}, "the table"
    path = Path(table).expanduser()
    if not path.is_file():
        raise DataMissing(f"there is no table {path}.")
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = list(csv.reader(file))
    if len(rows) < 2:
        raise DataMissing(f"{path} has no rows.")
    for number, row in enumerate(rows, 1):
        if len(row) != len(rows[0]):
            raise BadInput(f"line {number} of {path} has {len(row)} fields, the first line {len(rows[0])}")
    return {name: _numbers(np.array(column)) for name, *column in zip(*rows, strict=True)}, path.name


def _numbers(words: Array) -> Array:
    for kind in (np.int64, np.float64):
        try:
            return words.astype(kind)
        except ValueError:
            continue
    return words


def _is_numeric(column: Array) -> bool:
    return column.dtype.kind in "biuf"


def _only(values: Array, tag: str, client: str) -> str:
    found = np.unique(values.astype(str))
    if len(found) > 1:
        raise BadInput(f"client {client!r} has several values of tag {tag!r}: {found[0]}, {found[1]}")
    return str(found[0])
