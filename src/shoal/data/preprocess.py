"""How raw rows of a table become inputs of a model: gaps filled, categories encoded, numbers standardised.

The record is fitted on training rows, kept with the federation, applied to rows that `run.predict` is given, and
exported with the models.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from shoal.data.columns import Columns, as_numbers, gaps, is_missing, read_table, strange, text
from shoal.errors import BadInput
from shoal.types import Array

__all__ = ["Column", "Preprocessing"]

Encode = Literal["number", "one-hot", "ordinal"]
UNSEEN = -1.0  # stands for a category that no training row had


@dataclass(frozen=True)
class Column:
    """One column of a table: what it is called and how its cells become numbers.

    Args:
        name: Of the column.
        encode: `number`: as it is; `one-hot`: 1 in the place of its category; `ordinal`: the number of its category.
        categories: The categories in order, as text.
        indicator: Whether a further input says that the cell was empty.

    >>> Column("sex", "one-hot", ("f", "m"), indicator=True).inputs
    ('sex=f', 'sex=m', 'sex missing')
    """

    name: str
    encode: Encode = "number"
    categories: tuple[str, ...] = ()
    indicator: bool = False

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs that come of it."""
        own = [f"{self.name}={word}" for word in self.categories] if self.encode == "one-hot" else [self.name]
        return (*own, *([f"{self.name} missing"] if self.indicator else []))

    def raw(self, table: Columns, filled: bool) -> Array:
        """The column as numbers: nan for a gap, -1 for an unknown category; `filled`: gaps will be filled in.

        Args:
            table: Rows that have the column.
            filled: Whether gaps are allowed.

        Returns:
            A number per row.
        """
        if self.encode == "number":
            numbers, wrong = as_numbers(table, self.name), strange(table, self.name)
            empty = ~np.isfinite(numbers) & ~np.isin(np.arange(len(numbers)), wrong)
        else:
            cells, wrong, empty = table.columns[self.name], np.zeros(0, np.int64), gaps(table.columns[self.name])
            place = {word: float(k) for k, word in enumerate(self.categories)}
            known = (np.nan if gap else place.get(text(c), UNSEEN) for c, gap in zip(cells, empty, strict=True))
            numbers = np.fromiter(known, np.float64, len(cells))
        bad = wrong if filled else np.union1d(wrong, np.flatnonzero(empty))
        if len(bad):
            raise self.complaint(table, int(bad[0]))
        return numbers

    def complaint(self, table: Columns, row: int) -> BadInput:
        """The sentence for a cell that cannot be read."""
        cell, out = table.columns[self.name][row], "name the features with features=... to leave the column out"
        where = f"column {self.name!r} of {table.source}", f"in {table.place(row)}"
        if is_missing(cell):
            return BadInput(f"{where[0]} is empty {where[1]}; fill it in, or {out}; impute=median fills gaps")
        hint = "; encode=one-hot takes words" if isinstance(cell, str) else ""
        return BadInput(f"{where[0]} holds {str(cell)[:40]!r} {where[1]}, which is no finite number; {out}{hint}")


@dataclass(frozen=True)
class Preprocessing:
    """What turns raw rows into inputs; fitted on training rows. The first row of values is for everybody.

    Args:
        columns: The columns that a model learns from, D of them.
        fill: What stands for an empty cell, D numbers; nan: empty cells are refused. Categories by their number.
        shift: What is taken off a number, D of them.
        scale: What the difference is divided by, D of them.
        clients: Whose own values the further rows of `fill`, `shift` and `scale` are; empty: all have the first.

    >>> columns = (Column("age", indicator=True), Column("sex", "one-hot", ("f", "m")))
    >>> fitted = Preprocessing(columns, *np.array([[[40.0, 0.0]], [[40.0, 0.0]], [[10.0, 1.0]]]))
    >>> fitted.inputs
    ('age', 'age missing', 'sex=f', 'sex=m')
    >>> fitted.prepare({"age": [50, None, 30], "sex": ["m", "f", "x"]}).tolist()
    [[1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0], [-1.0, 0.0, 0.0, 0.0]]
    """

    columns: tuple[Column, ...]
    fill: Array
    shift: Array
    scale: Array
    clients: tuple[str, ...] = ()

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs of a model, in order."""
        return tuple(name for column in self.columns for name in column.inputs)

    def raw(self, rows: Any) -> Array:
        """Rows as numbers, B x D: nan for a gap that will be filled, categories by number, -1 for one never seen.

        Args:
            rows: A data frame, a mapping of columns or a list of mappings; further columns are left alone.

        Returns:
            What calling this record, or an exported model, takes.
        """
        table = rows if isinstance(rows, Columns) else read_table(rows)
        table.need([column.name for column in self.columns])
        filled = ~np.isnan(self.fill[0])
        return np.stack(
            [column.raw(table, bool(f)).astype(np.float64) for column, f in zip(self.columns, filled, strict=True)], 1
        )

    def values(self, client: str | None = None) -> tuple[Array, Array, Array]:
        """What a client's cells are filled, shifted and scaled with; those of everybody for one that was not there."""
        row = 1 + self.clients.index(client) if client in self.clients else 0
        return self.fill[row], self.shift[row], self.scale[row]

    def __call__(self, raw_BD: Array, client: str | None = None) -> Array:
        """Raw numbers as inputs of a model, B x F.

        Args:
            raw_BD: What `raw` gave.
            client: Whose values to take; None: those of everybody.

        Returns:
            Inputs of a model.
        """
        return np.asarray(encode(np, self.columns, raw_BD, *self.values(client)))

    def prepare(self, rows: Any, client: str | None = None) -> Array:
        """Rows as inputs of a model: `raw`, then a call.

        Args:
            rows: What `raw` takes.
            client: Whose values to take; None: those of everybody.

        Returns:
            Inputs, B x F.
        """
        return self(self.raw(rows), client)

    def keep(self, clients: Sequence[str]) -> Preprocessing:
        """The same with the values of these clients alone, beside those for everybody.

        Args:
            clients: Whom to keep; those who have no values of their own do not matter.

        Returns:
            A record that knows fewer clients.
        """
        kept = tuple(name for name in self.clients if name in set(clients))
        rows = [0, *(1 + self.clients.index(name) for name in kept)]
        return Preprocessing(self.columns, self.fill[rows], self.shift[rows], self.scale[rows], kept)

    def to_json(self) -> dict[str, Any]:
        """The record as a tree that `json` writes; nan, which JSON lacks, is null."""
        columns = [
            {"name": c.name, "encode": c.encode, "categories": list(c.categories), "indicator": c.indicator}
            for c in self.columns
        ]
        fill = [[None if np.isnan(v) else v for v in row] for row in self.fill.tolist()]
        values = {"fill": fill, "shift": self.shift.tolist(), "scale": self.scale.tolist()}
        return {"columns": columns, **values, "clients": list(self.clients)}

    @classmethod
    def from_json(cls, tree: Mapping[str, Any]) -> Preprocessing:
        """The other side of `to_json`.

        Args:
            tree: What it gave.

        Returns:
            The record.

        >>> record = Preprocessing((Column("age"),), *np.array([[[np.nan]], [[40.0]], [[10.0]]]))
        >>> Preprocessing.from_json(record.to_json()).prepare({"age": [50]}).tolist()
        [[1.0]]
        """
        columns = tuple(Column(**{**c, "categories": tuple(c["categories"])}) for c in tree["columns"])
        fill, shift, scale = (np.array(tree[name], np.float64) for name in ("fill", "shift", "scale"))
        return cls(columns, fill, shift, scale, tuple(tree["clients"]))

    def write(self, path: str | Path) -> None:
        """Write the record down, so that other sites prepare their rows alike: `from_table(..., preprocess=PATH)`.

        Args:
            path: Of a JSON file.
        """
        Path(path).expanduser().write_text(json.dumps(self.to_json(), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, path: str | Path) -> Preprocessing:
        """What `write` wrote, or one sentence.

        Args:
            path: Of a JSON file.

        Returns:
            The record.
        """
        try:
            return cls.from_json(json.loads(Path(path).expanduser().read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError, TypeError) as problem:
            raise BadInput(f"{path} holds no preprocessing: {problem}; federation.preprocess.write makes one") from None


def encode(xp: Any, columns: Sequence[Column], raw_BD: Any, fill_D: Any, shift_D: Any, scale_D: Any) -> Any:
    """The one formula: raw numbers as inputs, with numpy's arrays (`xp` is numpy) or torch's tensors (torch).

    An empty cell takes the value of `fill`. A number is shifted and scaled; a category never seen has no 1 anywhere.

    >>> row = np.array([[np.nan, 1.0]])
    >>> encode(np, [Column("age"), Column("sex", "one-hot", ("f", "m"))], row, [5.0, 0.0], [1.0, 0.0], [2.0, 1.0])
    array([[2., 0., 1.]])
    """
    pieces = []
    for d, column in enumerate(columns):
        cells_B1 = raw_BD[:, d : d + 1]
        empty_B1 = xp.isnan(cells_B1)
        full_B1 = xp.where(empty_B1, fill_D[d], cells_B1)
        one_B1, zero_B1 = xp.ones_like(cells_B1), xp.zeros_like(cells_B1)  # of one precision, as ONNX wants it
        if column.encode == "one-hot":
            pieces.append(xp.where(full_B1 == xp.arange(len(column.categories)), one_B1, zero_B1))
        else:
            pieces.append((full_B1 - shift_D[d]) / scale_D[d])
        if column.indicator:
            pieces.append(xp.where(empty_B1, one_B1, zero_B1))
    return xp.concatenate(pieces, 1)
