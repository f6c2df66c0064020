"""A table with a client column as a federation: a data frame, a mapping of columns, a CSV or a Parquet file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from shoal.data.columns import Columns, as_numbers, is_missing, read_table, text
from shoal.data.federation import Federation
from shoal.data.fit import Asked, Fit, fitted
from shoal.data.own import common_dtype, from_arrays, set_aside
from shoal.data.preprocess import Preprocessing
from shoal.errors import BadInput, DataMissing
from shoal.seeds import Key
from shoal.types import Array


def from_table(
    table: Any,
    *,
    client: str = "client",
    label: str = "label",
    targets: Literal["classes", "floats"] | None = None,
    features: Sequence[str] | None = None,
    tags: Sequence[str] = (),
    impute: Any = None,
    encode: Any = None,
    standardise: bool | Sequence[str] = False,
    fit: Fit = "federation",
    indicator: bool = False,
    preprocess: Preprocessing | str | Path | None = None,
    test: float = 0.1,
    seed: int | Key = 0,
) -> Federation:
    """From a data frame, a mapping of columns or the path of a CSV or Parquet file, with a client and a label column.

    Features are all other columns, unless named. Each of them must hold a finite number in every row: an empty cell
    or a word is an error that says where it is, so that no column is left out unasked, until `impute` says what stands
    for a gap and `encode` how words become numbers. Plain numbers are kept as float64, or as float32 if all of them are
    given so. Labels that are words become classes in sorted order; `targets` says that whole numbers are floats, or
    that values of any kind are classes. `tags` names columns that a client publishes (site, device); they must be the
    same in all its rows.

    Clients and tags are text. Those of a CSV file stay as they are written: 007 and 7 are two clients. In a frame they
    are what `str` gives, and 7.0 is 7, because pandas turns whole numbers into floats where a column has a gap.

    What is filled in, the categories and the scales are taken from training rows alone and kept as
    `federation.preprocess`.

    >>> from_table({"client": ["a", "a", "b"], "age": [1, 2, 3], "label": ["no", "yes", "no"]}).class_names
    ('no', 'yes')
    >>> rows = {"client": ["a", "a", "b", "b"], "age": [30, None, 50, 40], "sex": ["f", "m", "f", "f"],
    ...         "label": [0, 1, 0, 1]}
    >>> fed = from_table(rows, impute="mean", encode="one-hot", test=0)
    >>> fed.preprocess.inputs, fed.x[1].tolist()
    (('age', 'sex=f', 'sex=m'), [40.0, 0.0, 1.0])
    """
    read, asked = read_table(table), Asked(impute, encode, standardise, fit, indicator)
    given = Preprocessing.read(preprocess) if isinstance(preprocess, str | Path) else preprocess
    if given is not None:
        if asked != Asked():
            raise BadInput("preprocess says all about gaps, words and scales; leave impute, encode and the others out")
        features = [column.name for column in given.columns]
    read.need((client, label, *(features or ()), *tags))
    chosen = [c for c in read.columns if c not in (client, label, *tags)] if features is None else list(features)
    if not chosen:
        raise BadInput(f"{read.source} has no column left for features")
    if not len(read):
        raise DataMissing(f"{read.source} has no rows.")
    y, names = class_numbers(_labels(read, label), targets, f"column {label!r} of {read.source}")
    ids, which, rows = _groups(_full(read, client))
    if given is None:
        key = (seed if isinstance(seed, Key) else Key(seed))("split")
        train = {name: r[~set_aside(len(r), test, key.of(name))] for name, r in zip(ids, rows, strict=True)}
        given = fitted(read, chosen, train, asked)
    raw = given.raw(read)
    prepared = {name: given(raw[r], name) for name, r in zip(ids, rows, strict=True)}
    numbers = [as_numbers(read, name) for name in chosen]
    plain = asked == Asked() and preprocess is None and all(n.dtype.kind == "f" for n in numbers)
    fine = common_dtype(numbers) if plain else np.float64
    clients = {name: (prepared[name].astype(fine), y[r]) for name, r in zip(ids, rows, strict=True)}
    published: dict[str, dict[str, str]] = {name: {} for name in ids} if tags else {}
    for tag in tags:
        for name, value in zip(ids, _of_clients(read, tag, ids, which, rows), strict=True):
            published[name][tag] = value
    made = from_arrays(clients, test=test, seed=seed, name=read.source, tags=published, class_names=names)
    return replace(made, preprocess=given)


def class_numbers(
    labels: Array, targets: Literal["classes", "floats"] | None = None, place: str = "the column of labels"
) -> tuple[Array, tuple[str, ...] | None]:
    """Numbers stay, or become floats; words, or all values, become numbers in sorted order, and are kept as names.

    >>> class_numbers(np.array(["b", "a", "b"]))
    (array([1, 0, 1]), ('a', 'b'))
    >>> class_numbers(np.array([2, -1]), "floats"), class_numbers(np.array([10.0, 2.0]), "classes")
    ((array([ 2., -1.]), None), (array([1, 0]), ('2', '10')))
    """
    if targets not in (None, "classes", "floats"):
        raise BadInput(f"targets must be classes or floats, not {targets!r}")
    if labels.dtype.kind == "O":  # of pandas: numbers in a column that could have gaps
        plain = np.asarray(labels.tolist())
        labels = plain if plain.ndim == 1 and plain.dtype.kind in "biuf" else labels
    if labels.dtype.kind in "biuf" and targets != "classes":
        if targets is None and labels.dtype.kind == "i" and labels.min() < 0:
            raise BadInput(
                f"{place} holds {labels.min()}, and classes begin at 0; give targets=floats for a regression"
            )
        return labels.astype(np.float64) if targets == "floats" else labels, None
    if targets == "floats":
        raise BadInput(f"{place} holds words, and targets=floats are numbers; leave targets out")
    values = labels if labels.dtype.kind in "biuf" else labels.astype(str)
    names, numbers = np.unique(values, return_inverse=True)
    return numbers.astype(np.int64), tuple(text(name) for name in names.tolist())


def _labels(table: Columns, name: str) -> Array:
    """A full column of labels; the numbers of a file as numbers."""
    column = _full(table, name)
    if table.lines is None:
        return column
    for kind, dtype in ((int, np.int64), (float, np.float64)):
        try:
            return np.fromiter(map(kind, column), dtype, len(column))
        except (ValueError, OverflowError):
            continue
    return column


def _full(table: Columns, name: str) -> Array:
    """A column without gaps: of clients or labels."""
    column = table.columns[name]
    for row, cell in enumerate(column if column.dtype.kind not in "biu" else ()):
        if is_missing(cell):
            raise BadInput(
                f"column {name!r} of {table.source} is empty in {table.place(row)}; fill it in or drop the row"
            )
    return column


def _groups(column: Array) -> tuple[list[str], Array, list[Array]]:
    """The clients in order, the number of the client of each row, and the rows of each client.

    >>> ids, which, rows = _groups(np.array(["b", "a", "b"]))
    >>> ids, which.tolist(), [r.tolist() for r in rows]
    (['a', 'b'], [1, 0, 1], [[1], [0, 2]])
    """
    names = [text(cell) for cell in column]
    ids = sorted(set(names))
    number = {name: i for i, name in enumerate(ids)}
    which = np.fromiter((number[name] for name in names), np.int64, len(names))
    ends = np.cumsum(np.bincount(which, minlength=len(ids)))
    return ids, which, np.split(np.argsort(which, kind="stable"), ends[:-1])


def _of_clients(table: Columns, tag: str, ids: Sequence[str], which: Array, rows: Sequence[Array]) -> list[str]:
    """The value of a tag for each client; an empty cell is an empty text."""
    values = ["" if is_missing(cell) else text(cell) for cell in table.columns[tag]]
    found = [values[r[0]] for r in rows]
    for i, value in zip(which, values, strict=True):
        if value != found[i]:
            raise BadInput(f"client {ids[i]!r} has several values of tag {tag!r}: {found[i]}, {value}")
    return found
