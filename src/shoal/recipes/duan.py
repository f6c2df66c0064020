"""What the recipes of FedGroup and FlexCFL share: federations, models, and how rows of figures become cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shoal.recipes.records import ACCURACY, Cell

SENT140 = (
    "the 772 accounts of the paper, with word vectors of 300 numbers, cannot be fetched any more; what is here has "
    "2,875 users with six tweets each on average"
)
SIGMA, SHARED = "-sigma1.55", "-shared"  # ends of the names of rows with the other sizes, and with shared images


@dataclass(frozen=True)
class Row:
    """A data set and a model; `twin` is the row of the paper that it is set beside.

    >>> Row({"data": "mnist", "model": "mnist-mclr"}, mu=1.0).minutes
    1.0
    """

    keys: Mapping[str, Any]
    mu: float = 1.0
    minutes: float = 1.0
    departures: tuple[str, ...] = ()
    why_not: str = ""
    note: str = ""
    twin: str = ""
    seeds: int | None = None


@dataclass(frozen=True)
class Column:
    """A method with its own keys; `mu` of the row is put in where it says so.

    >>> Column("fedprox", takes_mu=True).algorithm
    'fedprox'
    """

    algorithm: str
    keys: Mapping[str, Any] = field(default_factory=dict)
    takes_groups: bool = True
    takes_mu: bool = False
    departures: tuple[str, ...] = ()
    twin: str = ""
    cost: float = 1.0
    note: str = ""


MNIST = {"data": "mnist", "partition": "power-law:classes=2", "lr": 0.03, "groups": 3}
MILD = {**MNIST, "partition": "power-law:classes=2:sigma=1.55"}
LETTERS = {"data": "femnist:letters", "partition": "letters", "lr": 0.003, "groups": 5}
SAME_IMAGES = {**LETTERS, "partition": "letters:overlap=true"}
SYNTHETIC = {"data": "synthetic:1:1:order=fedprox", "lr": 0.01, "groups": 5}

FIRST_NOTE = "of a group's clients only the first one's update is applied, as in FlexCFL's code"
MILD_NOTE = "sizes of clients by sigma = 1.55, which gives the spread that the paper states"
SHARED_NOTE = "clients share images, as with the authors' script"


def cells_of(
    table: str,
    rows: Mapping[str, Row],
    columns: Mapping[str, Column],
    figures: Mapping[str, Sequence[float | None]],
    common: Mapping[str, Any],
    seeds: int,
    departures: tuple[str, ...] = (),
) -> tuple[Cell, ...]:
    """Every row with every column; `figures` has, by row of the paper, its figures in the order of its columns.

    Args:
        table: Its name.
        rows: Ours, by name.
        columns: Ours, by name.
        figures: Published, in the order of the columns that are no one's twin.
        common: Settings of all cells.
        seeds: Of every cell whose row does not say.
        departures: Of all cells.

    Returns:
        The cells, row by row.

    >>> rows, columns = {"a": Row({"lr": 0.1})}, {"x": Column("fedavg"), "y": Column("fedavg", twin="x")}
    >>> [cell.paper for cell in cells_of("p/t", rows, columns, {"a": [89.4]}, {"rounds": 1}, 3)]
    [{'best_accuracy': 89.4}, {'best_accuracy': 89.4}]
    """
    own = [name for name, column in columns.items() if not column.twin]
    found = []
    for row_name, row in rows.items():
        published = dict(zip(own, figures[row.twin or row_name], strict=True))
        for name, column in columns.items():
            keys = {**common, **row.keys, **column.keys}
            if not column.takes_groups:
                del keys["groups"]
            if column.takes_mu:
                keys["mu"] = row.mu
            found.append(
                Cell(
                    table=table,
                    row=row_name,
                    column=name,
                    algorithm=column.algorithm,
                    keys=keys,
                    paper={ACCURACY: published[column.twin or name]},
                    seeds=seeds if row.seeds is None else row.seeds,
                    minutes=row.minutes * column.cost,
                    departures=tuple(dict.fromkeys((*departures, *row.departures, *column.departures))),
                    why_not=row.why_not,
                    note="; ".join(filter(None, (row.note, column.note))),
                )
            )
    return tuple(found)
