"""WeCFL's tables on CIFAR-10 as FedBase, of its first author, plays them, beside the same cells by the text."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shoal.recipes.records import Cell

__all__ = ["PLAYED", "as_code", "code_of"]

LAST = {"cluster_params": "head.5.weight", "init": "kmeans"}  # of the network of CIFAR-10
NOTE = "as FedBase, of the first author: inputs from -1 to 1"
CODE: dict[str, tuple[dict[str, Any], str, tuple[str, ...]]] = {  # keys, what they stand for, departures
    "fedavg": ({}, "", ()),
    "fedprox": ({}, "", ()),
    "ifca": (
        {"one_object": True, "momentum_memory": "reset"},
        "chosen models are one, which all 200 clients train in turn, with momentum that starts anew",
        ("D103",),
    ),
    "fesem": ({**LAST, "em_steps": 0}, "k-means of the last layer's weights", ()),
    "wecfl": (LAST, "k-means of the last layer's weights", ()),
}
PLAYED = {  # tables, and the columns that were played as the code
    "wecfl/table2-cifar-dirichlet": tuple(CODE),
    "wecfl/table2-cifar-classes": tuple(CODE),
    "wecfl/table5-cifar-dirichlet": ("ifca",),
    "wecfl/table5-cifar-classes": ("ifca",),
}


def code_of(name: str) -> str:
    """The cell that plays another one as the code.

    >>> code_of("wecfl/table2-cifar-classes/k10/ifca")
    'wecfl/table2-cifar-classes/k10/ifca-code'
    """
    return f"{name}-code"


def as_code(cells: tuple[Cell, ...]) -> tuple[Cell, ...]:
    """Cells with one and with ten models once more, as the code plays them.

    Args:
        cells: Of a table, by the text.

    Returns:
        None of tables that were not played so.
    """
    return tuple(coded(cell) for cell in cells if cell.row != "k5" and cell.column in PLAYED.get(cell.table, ()))


def coded(cell: Cell) -> Cell:
    keys, words, departures = CODE[cell.column]
    # one model goes through all clients: with fewer of them it would train less
    partition = str(cell.keys["partition"]).replace("clients=50", "clients=200")
    return replace(
        cell,
        column=f"{cell.column}-code",
        keys={**cell.keys, **keys, "data": f"{cell.keys['data']}:symmetric", "partition": partition},
        departures=(*(d for d in cell.departures if d != "D102"), "D104", *departures),
        note=f"{NOTE}; {words}" if words else NOTE,
        keeps=(),
        of=cell.name,
        minutes=5.0,
    )
