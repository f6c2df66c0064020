"""How statements about several rows of a table are written down."""

from __future__ import annotations

from typing import Any

from shoal.recipes.judging.claims import Relation

ABOVE: dict[str, Any] = {"least": 0, "strict": True}
BELOW: dict[str, Any] = {"most": 0, "strict": True}
APART: dict[str, Any] = {"quantity": "discrepancy_mean", "scale": 1}
OURS: dict[str, Any] = {"source": "ours, of the code", "ours": True}
MNIST = ("mnist-mclr", "mnist-mlp")
LETTERS = ("femnist-mclr", "femnist-mlp")
MODELS = {"MNIST": (*MNIST, "mnist-cnn"), "FEMNIST": (*LETTERS, "femnist-cnn")}  # of FlexCFL, by data set
NAMES = {
    "mnist-mclr": "MNIST-MCLR",
    "mnist-mlp": "MNIST-MLP",
    "femnist-mclr": "FEMNIST-MCLR",
    "femnist-mlp": "FEMNIST-MLP",
    "femnist-mclr-shared": "FEMNIST-MCLR with shared images",
    "femnist-mlp-shared": "FEMNIST-MLP with shared images",
    "synthetic": "Synthetic",
}


def pair(table: str, rows: tuple[str, ...], left: str, right: str) -> dict[str, Any]:
    """Two columns over the same rows."""
    return {
        "left": tuple(f"{table}/{row}/{left}" for row in rows),
        "right": tuple(f"{table}/{row}/{right}" for row in rows),
    }


def each(
    name: str, says: str, source: str, table: str, rows: tuple[str, ...], left: str, right: str, **more: Any
) -> list[Relation]:
    """The same statement of several rows, one by one; what `tells` is of the same row."""
    told = more.pop("tells", ())
    return [
        Relation(
            f"{name}-{row}",
            f"{says} on {NAMES[row]}",
            source,
            **pair(table, (row,), left, right),
            tells=tuple(f"{other}-{row}" for other in told),
            **more,
        )
        for row in rows
    ]


def against_all(
    name: str,
    says: str,
    source: str,
    table: str,
    rows: tuple[str, ...],
    left: str,
    others: tuple[str, ...],
    **more: Any,
) -> list[Relation]:
    """A column against several others at once, row by row; `over` says whether the least or the largest counts.

    What `tells` is of the same row.
    """
    told = more.pop("tells", ())
    return [
        Relation(
            f"{name}-{row}",
            f"{says} on {NAMES[row]}",
            source,
            (f"{table}/{row}/{left}",),
            tuple(f"{table}/{row}/{other}" for other in others),
            tells=tuple(f"{other}-{row}" for other in told),
            **more,
        )
        for row in rows
    ]
