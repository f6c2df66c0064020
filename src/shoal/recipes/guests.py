"""Methods that a paper does not have, in the rows of its tables: one's own beside theirs, on the same terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from statistics import median
from typing import Any

from shoal.algorithms import ALGORITHMS
from shoal.data.spec import Spec, parse
from shoal.errors import BadInput
from shoal.experiment.sweep import keys_of, plain_name
from shoal.recipes.records import Cell, Paper, Table
from shoal.registry import mark
from shoal.setup.options import build_algorithm, meant, own_keys
from shoal.setup.own import origins_of
from shoal.setup.resolve import resolve
from shoal.setup.settings import Settings

__all__ = ["invite"]

MANY = 1000  # clients, for a method that is built to see whether it can be
COMPARED = ("accuracy", "loss", "test_loss", "discrepancy", "traffic")  # panels in which methods stand side by side


@dataclass(frozen=True)
class Guest:
    """A method that is to take part.

    Attributes:
        word: As it was asked for: `wecfl:groups=4`, `mine.py:Mine`.
        spec: The same with a name that is known, and keys of its own.
        code: What tells whether a method that is not Shoal's own is still the same.
    """

    word: str
    spec: Spec
    code: str

    @classmethod
    def read(cls, word: str) -> Guest:
        spec = parse(ALGORITHMS.named(word))
        if spec.name not in ALGORITHMS and spec.name.endswith(".py"):
            raise BadInput(f"methods={word} names a file; name the class in it, too: {word}:CLASS")
        if spec.name not in ALGORITHMS:
            raise ALGORITHMS.unknown(spec.name)
        return cls(word, spec, mark(origins_of({"algorithm": spec.name})))

    @property
    def column(self) -> str:
        return plain_name(self.spec.name, self.spec.kwargs)

    def cell(self, row: Sequence[Cell]) -> Cell:
        """It in a row of a table, with the settings of that row that it has; a sentence if it is there already."""
        known, first = own_keys(self.spec.name), row[0]
        if any(cell.column == self.column for cell in row):
            raise BadInput(
                f"{first.table} has {self.column} already; leave it out of methods=, or give it keys of its own: "
                f"methods={self.spec.name}:KEY=VALUE"
            )
        parts = {field.name for field in fields(ALGORITHMS[self.spec.name])}
        common = {*Settings.model_fields} - ({"aggregate"} - parts)  # not every method has a mean to exchange
        theirs = {k: v for k, v in shared(row).items() if k in common or meant(k, known) in known}
        keys = {**theirs, **keys_of(self.spec)}
        asked = resolve(self.spec.name, None, None, keys)
        build_algorithm(self.spec.name, asked.own, asked.settings, MANY)  # a mistake is said before anything is run
        return Cell(
            first.table,
            first.row,
            self.column,
            self.spec.name,
            keys,
            seeds=max(cell.seeds for cell in row),
            minutes=median(cell.minutes for cell in row),
            curves=tuple(name for name in first.curves if all(name in cell.curves for cell in row)),
            why_not=first.why_not,
            note=f"{self.word}, which the paper does not have",
            source=self.word,
            code=self.code,
        )


def invite(papers: Mapping[str, Paper], cells: Sequence[Cell], words: Sequence[str]) -> dict[str, Paper]:
    """The papers, with methods in every row that some cells are of, and in the figures that compare those rows.

    Args:
        papers: All there are, by name.
        cells: Some of theirs.
        words: Methods as for a sweep: names, `FILE.py:CLASS`, with keys of their own behind them or none.

    Returns:
        Papers by name; the ones given stay as they are.

    >>> from shoal.recipes import PAPERS
    >>> from shoal.recipes.choose import cells_named, cells_of, tables_named
    >>> table3 = tables_named(PAPERS, ["flexcfl/table3"])
    >>> more = invite(PAPERS, cells_named(cells_of(PAPERS, table3), ["mnist-mclr"]), ["wecfl"])
    >>> mine = cells_named(cells_of(more, tables_named(more, ["flexcfl/table3"])), columns=["wecfl"])
    >>> [(cell.name, cell.keys["groups"], cell.keys["rounds"]) for cell in mine]
    [('flexcfl/table3/mnist-mclr/wecfl', 3, 300)]
    """
    guests = [Guest.read(word) for word in dict.fromkeys(words)]
    rows = {(cell.table, cell.row) for cell in cells}
    return {
        name: replace(paper, tables=tuple(with_guests(table, rows, guests) for table in paper.tables))
        for name, paper in papers.items()
    }


def with_guests(table: Table, rows: set[tuple[str, str]], guests: Sequence[Guest]) -> Table:
    """A table with guests in some rows, and in its panels beside the cells of such rows."""
    found: list[Cell] = []
    for row in table.rows:
        mine = [cell for cell in table.cells if cell.row == row]
        found += [*mine, *(guest.cell(mine) for guest in guests if (table.name, row) in rows)]
    panels = []
    for panel in table.panels:
        drawn = dict.fromkeys(name.rsplit("/", 1)[0] for name in panel.cells) if panel.curve in COMPARED else ()
        more = [f"{row}/{guest.column}" for row in drawn if tuple(row.rsplit("/", 1)) in rows for guest in guests]
        panels.append(replace(panel, cells=(*panel.cells, *more)))
    return replace(table, cells=tuple(found), panels=tuple(panels))


def shared(row: Sequence[Cell]) -> dict[str, Any]:
    """The settings of a row: what most of its methods have, all of those with the same value.

    What only a variant of a cell in the same row has is its own.

    >>> row = [Cell("p/t", "a", x, x, {"lr": 0.1, "rounds": 9, **keys}) for x, keys in (("x", {"mu": 1}), ("y", {}))]
    >>> shared([*row, Cell("p/t", "a", "z", "z", {"lr": 0.2, "rounds": 9}, of="p/t/a/x")])
    {'lr': 0.1, 'rounds': 9}
    """
    names = {cell.name for cell in row}
    own = [cell.keys for cell in row if cell.of not in names]
    every = {key: [keys[key] for keys in own if key in keys] for keys in own for key in keys}
    return {
        k: found[0] for k, found in every.items() if 2 * len(found) > len(own) and all(v == found[0] for v in found)
    }
