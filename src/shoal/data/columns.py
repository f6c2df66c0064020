"""Tables as columns: a data frame, a mapping, a list of rows, a CSV or Parquet file; and what their cells say."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shoal.errors import BadInput, DataMissing
from shoal.types import Array

GAPS = ("", "na", "nan", "n/a", "null")  # cells of a file that say: no number here
PARQUET = (".parquet", ".pq")


@dataclass(frozen=True)
class Columns:
    """Columns by name; those of a CSV file hold text, and it is known on which line each row stands.

    Args:
        source: What messages call the table.
        columns: The cells by column.
        lines: The line of each row; None: the table is no CSV file.

    >>> table = read_table({"age": [31, None], "sex": ["f", "m"]})
    >>> len(table), table.place(1), holds_words(table, "sex"), holds_words(table, "age")
    (2, 'row 1 (counted from 0)', True, False)
    """

    source: str
    columns: Mapping[str, Array]
    lines: Sequence[int] | None = None

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def place(self, row: int) -> str:
        """Where a row stands, for messages."""
        return f"row {row} (counted from 0)" if self.lines is None else f"line {self.lines[row]}"

    def need(self, names: Sequence[str]) -> None:
        """One sentence for the first column that is not there."""
        for name in names:
            if name not in self.columns:
                raise BadInput(f"{self.source} has no column {name!r}; its columns are {', '.join(self.columns)}")


def is_rows(value: Any) -> bool:
    """Whether a value is rows of a table with named columns: a data frame, a mapping of columns, a list of mappings.

    >>> is_rows({"age": [31]}), is_rows([{"age": 31}]), is_rows(np.zeros((1, 1)))
    (True, True, False)
    """
    frame = hasattr(value, "columns") and hasattr(value, "dtypes")
    return frame or isinstance(value, Mapping) or (isinstance(value, list) and value[:1] != [] and _is_row(value[0]))


def _is_row(value: Any) -> bool:
    return isinstance(value, Mapping)


def read_table(table: Any) -> Columns:
    """The columns of a mapping, a data frame, a list of rows, a CSV or Parquet file.

    >>> read_table([{"age": 31, "sex": "f"}, {"age": 54}]).columns["sex"].tolist()
    ['f', None]
    """
    if isinstance(table, str | Path):
        path = Path(table).expanduser()
        if not path.is_file():
            raise DataMissing(f"there is no table {path}.")
        return _read_parquet(path) if path.suffix.lower() in PARQUET else _read_csv(path)
    source = "the table"
    if isinstance(table, list) and table and _is_row(table[0]):
        names = list(dict.fromkeys(str(name) for row in table for name in row))
        table = {name: _cells([row.get(name) for row in table]) for name in names}
    heads = list(getattr(table, "columns", table))  # to go through a frame of polars gives columns, not names
    _check_distinct([str(c) for c in heads], source)
    columns = {}
    for name in heads:
        try:
            cells = table[name]
            columns[str(name)] = _cells(cells) if isinstance(cells, list | tuple) else np.asarray(cells)
        except ValueError as problem:
            raise BadInput(f"column {str(name)!r} of {source} does not hold one value per row") from problem
    for name, column in columns.items():
        if column.ndim != 1:
            raise BadInput(f"column {name!r} of {source} does not hold one value per row")
    if len({len(column) for column in columns.values()}) > 1:
        lengths = ", ".join(f"{name} {len(column)}" for name, column in columns.items())
        raise BadInput(f"the columns of {source} have different lengths: {lengths}")
    return Columns(source, columns)


def _cells(cells: Sequence[Any]) -> Array:
    """A list as a column; one of words with gaps stays as it is instead of becoming words altogether."""
    column = np.asarray(cells)
    if column.dtype.kind in "US" and not all(isinstance(cell, str | bytes) for cell in cells):
        column = np.empty(len(cells), object)
        column[:] = cells
    return column


def _read_parquet(path: Path) -> Columns:
    try:
        from pyarrow import ArrowException, types
        from pyarrow.parquet import read_table as read
    except ModuleNotFoundError as e:
        raise BadInput(f"to read {path.name} pyarrow is needed: pip install 'shoal[tables]'") from e
    try:
        table = read(path)
    except (ArrowException, OSError) as problem:
        raise BadInput(f"{path} cannot be read: {problem}; it must be a Parquet file") from problem
    _check_distinct(table.column_names, path.name)
    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        columns[name] = column.to_numpy()
    return Columns(path.name, columns)


def _read_csv(path: Path) -> Columns:
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
    return Columns(path.name, columns, lines[1:])


def _check_distinct(names: Sequence[str], source: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise BadInput(f"{source} has two columns called {name!r}; rename one of them")
        seen.add(name)


def is_missing(cell: Any) -> bool:
    """Empty text, None, and what pandas has in its place: nan, NaT, NA.

    >>> is_missing(""), is_missing(float("nan")), is_missing(0)
    (True, True, False)
    """
    try:
        return cell is None or cell == "" or bool(cell != cell)
    except TypeError:  # NA is neither equal nor unequal to itself
        return True
    except ValueError:  # an array
        return False


def gaps(column: Array) -> Array:
    """Which cells of a column are empty.

    >>> gaps(np.array(["a", None, ""], object)).tolist()
    [False, True, True]
    """
    if column.dtype.kind in "biu":
        return np.zeros(len(column), bool)
    return np.isnan(column) if column.dtype.kind == "f" else np.array([is_missing(c) for c in column], bool)


def text(cell: Any) -> str:
    """A cell as text; a whole number in a float is written as the whole number, as pandas makes floats of them.

    >>> text(7.0), text("a"), text(True)
    ('7', 'a', 'True')
    """
    if isinstance(cell, float | np.floating) and float(cell).is_integer() and abs(float(cell)) < 2**53:
        return str(int(cell))
    return cell.decode("utf-8", "backslashreplace") if isinstance(cell, bytes) else str(cell)


def as_numbers(table: Columns, name: str) -> Array:
    """A column as numbers, nan for every cell that is none; only a file has numbers as text.

    >>> as_numbers(read_table({"x": [1, None, "2"]}), "x").tolist()
    [1.0, nan, nan]
    """
    column = table.columns[name]
    if column.dtype.kind in "biuf":
        return column
    if column.dtype.kind not in "OUST":
        return np.full(len(column), np.nan)
    words: tuple[type, ...] = (bytes,) if table.lines is not None else (str, bytes)
    cells = (np.nan if isinstance(cell, words) else _number(cell) for cell in column)
    return np.fromiter(cells, np.float64, len(column))


def _number(cell: Any) -> float:
    """nan for what is no number."""
    try:
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        return np.nan


def strange(table: Columns, name: str) -> Array:
    """The rows in which a column of numbers holds something else that is no gap either.

    >>> strange(read_table({"x": [1.0, None, "tall", np.inf]}), "x").tolist()
    [2, 3]
    """
    column = table.columns[name]
    rows = np.flatnonzero(~np.isfinite(as_numbers(table, name)))
    return np.array([row for row in rows if not _is_gap(table, column[row])], np.int64)


def _is_gap(table: Columns, cell: Any) -> bool:
    return is_missing(cell) or (table.lines is not None and cell.strip().lower() in GAPS)


def holds_words(table: Columns, name: str) -> bool:
    """Whether a column holds text that is no number: what `encode` turns into categories.

    >>> holds_words(read_table({"x": [1.0, None, "tall"]}), "x")
    True
    """
    column = table.columns[name]
    return any(isinstance(column[row], str | bytes) for row in strange(table, name))
