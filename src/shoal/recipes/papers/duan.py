"""What the recipes of FedGroup and FlexCFL share: federations, models, and how rows of figures become cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shoal.recipes.records import ACCURACY, Cell, Quantity

SENT140 = (
    "the 772 accounts of the paper, with word vectors of 300 numbers, cannot be fetched any more; what is here has "
    "2,875 users with six tweets each on average"
)


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
DITTO = {"data": "fashion-mnist", "partition": "ditto", "lr": 0.005, "groups": 5}
SYNTHETIC = {"data": "synthetic:1:1:order=fedprox", "lr": 0.01, "groups": 5}

FIRST_NOTE = "of a group's clients only the first one's update is applied, as in FlexCFL's code"
MILD_NOTE = "sizes of clients by sigma = 1.55, which gives the spread that FedProx states of its MNIST"
RAC_ABOUT = (
    "The paper has no figure for RAC on Synthetic; ours is that of the method itself, since all 100 clients take part "
    "in the group cold start (alpha m = 20 x 5) and nobody is left to be put into a random group."
)
SHARED_NOTE = "clients share images, as with the authors' script"


SIZES = (
    Quantity("clients", "devices", digits=0),
    Quantity("samples", "samples", digits=0),
    Quantity("size_mean", "samples of a device, mean", digits=0),
    Quantity("size_std", "samples of a device, standard deviation", digits=0),
)
FEDERATIONS: dict[str, tuple[dict[str, Any], tuple[float | None, ...], str]] = {  # as Tables II and 2 state them
    "mnist": (MNIST, (1000, 69035, None, None), ""),
    "mnist-sigma1.55": (MILD, (1000, 69035, None, None), "mnist"),
    "femnist": (LETTERS, (200, 18345, None, None), ""),
    "femnist-shared": (SAME_IMAGES, (200, 18345, None, None), "femnist"),
    "synthetic": (SYNTHETIC, (100, 75349, None, None), ""),
    "fashion-mnist": (DITTO, (500, 72505, None, None), ""),
}


def federations(table: str, rows: Sequence[str]) -> tuple[Cell, ...]:
    """A round of FedAvg, of which only the federation is looked at.

    >>> [cell.paper["samples"] for cell in federations("p/t", ["mnist"])]
    [69035]
    """
    found = []
    for row in rows:
        own, figures, twin = FEDERATIONS[row]
        keys = {"rounds": 1, "model": "mclr", **{k: v for k, v in own.items() if k != "groups"}}
        paper = dict(zip((q.name for q in SIZES), figures, strict=True))
        of = f"{table}/{twin}/federation" if twin else ""
        found.append(Cell(table, row, "federation", "fedavg", keys, paper, 3, 0.3, counts=True, of=of))
    return tuple(found)


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
                    of=f"{table}/{row.twin or row_name}/{column.twin or name}" if row.twin or column.twin else "",
                )
            )
    return tuple(found)
