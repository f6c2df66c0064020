"""What some cells keep beyond figures, as tables of their page: splits, similarities, planted groups, centroids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.recipes.grids import grid
from shoal.recipes.judging.relations import Known
from shoal.recipes.records import Cell, Table
from shoal.recipes.store import usable

__all__ = ["extra_parts"]

Run = Mapping[str, Any]
OF_A_SPLIT = ("norm of the mean update", "of the longest", "largest cosine across")


def extra_parts(table: Table, known: Known) -> list[str]:
    """Tables of what the runs of a table kept.

    Args:
        table: Of a paper.
        known: All cells with what is stored of them.

    Returns:
        Pieces of Markdown; none where nothing was kept.
    """
    found = []
    for cell in table.cells:
        result = usable(*known[cell.name])
        if result is not None:
            found += [(cell, seed, run) for seed, run in sorted(result.runs.items())]
    return [
        *titled(
            "Splits",
            ("cell", "seed", "round", "clients", *OF_A_SPLIT),
            split_rows(found),
        ),
        *titled(
            "Cosines of updates, least / mean / largest",
            ("cell", "seed", "round", "same planted group", "different ones"),
            similarity_rows(found),
        ),
        *titled("Planted groups that lie in one group", ("cell", "seed", "by round 1, 2, ..."), together_rows(found)),
        *titled(
            "Cosines of centroids at the end, whole models, least / mean / largest",
            ("cell", "seed", "cosines"),
            centroid_rows(found),
        ),
        *titled(
            "Cosines of local models by round, as the method compares them, least / mean / largest",
            ("cell", "seed", "round", "clients with the mean of their group", "means of groups"),
            cosine_rows(found),
        ),
    ]


def titled(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table under its name; nothing if it has no rows.

    >>> titled("Splits", ("round",), [])
    []
    """
    return [f"{title}:", grid(heads, rows)] if rows else []


def split_rows(found: Sequence[tuple[Cell, int, Run]]) -> list[list[str]]:
    rows = []
    for cell, seed, run in found:
        for split in run.get("splits", ()):
            sides = " + ".join(map(str, split["clients"]))
            numbers = ["-" if split[k] is None else f"{split[k]:.2f}" for k in ("mean_norm", "max_norm", "cross")]
            rows.append([label(cell), str(seed), str(split["round"]), sides, *numbers])
    return rows


def similarity_rows(found: Sequence[tuple[Cell, int, Run]], most: int = 8) -> list[list[str]]:
    """Of the first seed of a cell, at some of the rounds that have a picture."""
    rows = []
    for cell, seed, run in found:
        pictures = run.get("similarities", [])
        if seed == 0 and pictures:
            step = max(1, -(-len(pictures) // most))
            for one in (*pictures[:-1:step], pictures[-1]):
                rows.append([label(cell), "0", str(one["round"]), three(one["same"]), three(one["other"])])
    return rows


def together_rows(found: Sequence[tuple[Cell, int, Run]]) -> list[list[str]]:
    rows = []
    for cell, seed, run in found:
        rounds = run.get("together", [])
        if rounds:
            shares = ", ".join(f"{whole}/{of}" for _, whole, of in rounds)
            rows.append([label(cell), str(seed), shares])
    return rows


def centroid_rows(found: Sequence[tuple[Cell, int, Run]]) -> list[list[str]]:
    return [[label(cell), str(seed), three(run["centroids"])] for cell, seed, run in found if run.get("centroids")]


def cosine_rows(found: Sequence[tuple[Cell, int, Run]]) -> list[list[str]]:
    """Of the first seed of a cell, at all rounds that have a picture."""
    rows = []
    for cell, seed, run in found:
        for one in run.get("cosines", ()) if seed == 0 else ():
            rows.append([label(cell), "0", str(one["round"]), three(one["within"], 4), three(one["between"], 4)])
    return rows


def label(cell: Cell) -> str:
    return f"`{cell.row}/{cell.column}`"


def three(values: Sequence[float], digits: int = 2) -> str:
    """Least, mean and largest.

    >>> three([0.1, 0.25, 0.5])
    '0.10 / 0.25 / 0.50'
    """
    return " / ".join(f"{value:.{digits}f}" for value in values) or "-"
