"""A table with a client column as a federation: a pandas DataFrame, a mapping of columns or a CSV file."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shoal.data.federation import Federation
from shoal.data.own import common_dtype, from_arrays
from shoal.errors import BadInput, DataMissing
from shoal.seeds import Key
from shoal.types import Array

LEAVE_OUT = "name the features with features=... to leave the column out"


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

    Features are all other columns, unless named. Each of them must hold a finite number in every row: an empty cell
    or a word is an error that says where it is, so that no column is left out unasked. They are kept as float64, or
    as float32 if all of them are given so. Labels that are words become classes in sorted order. `tags` names columns
    that a client publishes (site, device); they must be the same in all its rows.

    Clients and tags are text. Those of a CSV file stay as they are written: 007 and 7 are two clients. In a frame they
    are what `str` gives, and 7.0 is 7, because pandas turns whole numbers into floats where a column has a gap.

    >>> from_table({"client": ["a", "a", "b"], "age": [1, 2, 3], "label": ["no", "yes", "no"]}).classes
    2
    """
    read = _read(table)
    for name in (client, label, *(features or ()), *tags):
        if name not in read.columns:
            raise BadInput(f"{read.source} has no column {name!r}; its columns are {', '.join(read.columns)}")
    chosen = [c for c in read.columns if c not in (client, label, *tags)] if features is None else list(features)
    if not chosen:
        raise BadInput(f"{read.source} has no column left for features")
    if not len(read):
        raise DataMissing(f"{read.source} has no rows.")
    numbers = [_numbers(read, name) for name in chosen]
    fine = common_dtype(numbers) if all(n.dtype.kind == "f" for n in numbers) else np.float64
    x = np.stack([n.astype(fine) for n in numbers], axis=1)
    y, classes = class_numbers(_labels(read, label))
    ids, which, rows = _groups(_full(read, client))
    clients = {name: (x[r], y[r]) for name, r in zip(ids, rows, strict=True)}
    published: dict[str, dict[str, str]] = {name: {} for name in ids} if tags else {}
    for tag in tags:
        for name, value in zip(ids, _of_clients(read, tag, ids, which, rows), strict=True):
            published[name][tag] = value
    return from_arrays(clients, test=test, seed=seed, name=read.source, classes=classes, tags=published)


def class_numbers(labels: Array) -> tuple[Array, int | None]:
    """Whole numbers stay; words become numbers in sorted order, and their count is known.

    >>> class_numbers(np.array(["b", "a", "b"]))
    (array([1, 0, 1]), 2)
    """
    if labels.dtype.kind == "O":  # of pandas: numbers in a column that could have gaps
        plain = np.asarray(labels.tolist())
        labels = plain if plain.ndim == 1 and plain.dtype.kind in "biuf" else labels
    if labels.dtype.kind in "biuf":
        return labels, None
    words, numbers = np.unique(labels.astype(str), return_inverse=True)
    return numbers.astype(np.int64), len(words)


@dataclass(frozen=True)
class _Table:
    """Columns by name; those of a CSV file hold text, and it is known on which line each row stands."""

    source: str
    columns: Mapping[str, Array]
    lines: Sequence[int] | None = None

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def place(self, row: int) -> str:
        return f"row {row} (counted from 0)" if self.lines is None else f"line {self.lines[row]}"


def _read(table: Any) -> _Table:
    """A mapping, a data frame or a CSV file."""
    if isinstance(table, str | Path):
        return _read_csv(Path(table).expanduser())
    source = "the table"
    _check_distinct([str(c) for c in table], source)
    columns = {}
    for name in table:
        try:
            columns[str(name)] = np.asarray(table[name])
        except ValueError as problem:
            raise BadInput(f"column {str(name)!r} of {source} does not hold one value per row") from problem
    for name, column in columns.items():
        if column.ndim != 1:
            raise BadInput(f"column {name!r} of {source} does not hold one value per row")
    if len({len(column) for column in columns.values()}) > 1:
        lengths = ", ".join(f"{name} {len(column)}" for name, column in columns.items())
        raise BadInput(f"the columns of {source} have different lengths: {lengths}")
    return _Table(source, columns)


def _read_csv(path: Path) -> _Table:
    if not path.is_file():
        raise DataMissing(f"there is no table {path}.")
    rows, lines = [], []
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            for row in reader:
                if row:  # an empty line is no row
                    rows.append(row)
                    lines.append(reader.line_num)
    except (UnicodeDecodeError, csv.Error) as problem:
        raise BadInput(f"{path} cannot be read: {problem}; it must be a CSV file in UTF-8") from problem
    if len(rows) < 2:
        raise DataMissing(f"{path} has no rows.")
    _check_distinct(rows[0], path.name)
    for line, row in zip(lines, rows, strict=True):
        if len(row) != len(rows[0]):
            raise BadInput(f"line {line} of {path} has {len(row)} fields, the first line {len(rows[0])}")
    columns = {name: np.array(column, object) for name, *column in zip(*rows, strict=True)}
    return _Table(path.name, columns, lines[1:])


def _check_distinct(names: Sequence[str], source: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise BadInput(f"{source} has two columns called {name!r}; rename one of them")
        seen.add(name)


def _numbers(table: _Table, name: str) -> Array:
    """A column of features as finite numbers, or one sentence that says where there is none."""
    column = table.columns[name]
    words: tuple[type, ...] = (bytes,) if table.lines is not None else (str, bytes)  # only a file has numbers as text
    if column.dtype.kind in "biuf":
        numbers = column
    elif column.dtype.kind in "OUST":
        cells = (np.nan if isinstance(cell, words) else _number(cell) for cell in column)
        numbers = np.fromiter(cells, np.float64, len(column))
    else:
        numbers = np.full(len(column), np.nan)
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if not len(wrong):
        return numbers
    row = int(wrong[0])
    if _is_missing(column[row]):
        raise BadInput(f"column {name!r} of {table.source} is empty in {table.place(row)}; fill it in, or {LEAVE_OUT}")
    raise BadInput(
        f"column {name!r} of {table.source} holds {str(column[row])[:40]!r} in {table.place(row)}, which is no finite "
        f"number; {LEAVE_OUT}"
    )


def _number(cell: Any) -> float:
    """nan for what is no number."""
    try:
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        return np.nan


def _labels(table: _Table, name: str) -> Array:
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


def _full(table: _Table, name: str) -> Array:
    """A column without gaps: of clients or labels."""
    column = table.columns[name]
    for row, cell in enumerate(column if column.dtype.kind not in "biu" else ()):
        if _is_missing(cell):
            raise BadInput(
                f"column {name!r} of {table.source} is empty in {table.place(row)}; fill it in or drop the row"
            )
    return column


def _is_missing(cell: Any) -> bool:
    """Empty text, None, and what pandas has in its place: nan, NaT, NA."""
    try:
        return cell is None or cell == "" or bool(cell != cell)
    except TypeError:  # NA is neither equal nor unequal to itself
        return True
    except ValueError:  # an array
        return False


def _text(cell: Any) -> str:
    if isinstance(cell, float | np.floating) and float(cell).is_integer() and abs(float(cell)) < 2**53:
        return str(int(cell))
    return cell.decode("utf-8", "backslashreplace") if isinstance(cell, bytes) else str(cell)


def _groups(column: Array) -> tuple[list[str], Array, list[Array]]:
    """The clients in order, the number of the client of each row, and the rows of each client.

    >>> ids, which, rows = _groups(np.array(["b", "a", "b"]))
    >>> ids, which.tolist(), [r.tolist() for r in rows]
    (['a', 'b'], [1, 0, 1], [[1], [0, 2]])
    """
    names = [_text(cell) for cell in column]
    ids = sorted(set(names))
    number = {name: i for i, name in enumerate(ids)}
    which = np.fromiter((number[name] for name in names), np.int64, len(names))
    ends = np.cumsum(np.bincount(which, minlength=len(ids)))
    return ids, which, np.split(np.argsort(which, kind="stable"), ends[:-1])


def _of_clients(table: _Table, tag: str, ids: Sequence[str], which: Array, rows: Sequence[Array]) -> list[str]:
    """The value of a tag for each client; an empty cell is an empty text."""
    values = ["" if _is_missing(cell) else _text(cell) for cell in table.columns[tag]]
    found = [values[r[0]] for r in rows]
    for i, value in zip(which, values, strict=True):
        if value != found[i]:
            raise BadInput(f"client {ids[i]!r} has several values of tag {tag!r}: {found[i]}, {value}")
    return found
