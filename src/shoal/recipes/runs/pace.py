"""What runs cost here: measured where a run of the same row is stored, else as stated in the recipe."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from shoal.recipes.records import Cell
from shoal.recipes.store import Result, usable

__all__ = ["Paces", "minutes_left", "paces"]

Paces = dict[tuple[str, str], float]  # by table and row, or by data and model


def likes(cell: Cell) -> tuple[tuple[str, str], tuple[str, str]]:
    """Which runs tell how long one of this cell takes, the nearest first.

    >>> likes(Cell("p/t", "a", "x", "fedavg", {"data": "mnist", "model": "mclr"}))
    (('p/t', 'a'), ('mnist', 'mclr'))
    """
    return (cell.table, cell.row), (str(cell.keys.get("data")), str(cell.keys.get("model")))


def paces(found: Sequence[tuple[Cell, Result | None]]) -> Paces:
    """How long complete runs took, as a multiple of what is stated: for each row of a table, for each data and model.

    The middle counts, so that a run on a busy machine does not.

    Args:
        found: Cells with what is stored of them.

    Returns:
        Factors; what has no complete run is left out.

    >>> cell = Cell("p/t", "a", "x", "fedavg", {"rounds": 1, "data": "mnist", "model": "mclr"}, minutes=2.0)
    >>> paces([(cell, Result(cell.settings, {0: {"complete": True, "seconds": 30}}))])
    {('p/t', 'a'): 0.25, ('mnist', 'mclr'): 0.25}
    """
    took: dict[tuple[str, str], list[float]] = {}
    for cell, result in found:
        done = usable(cell, result)
        if done is not None and done.seconds is not None:
            for like in likes(cell):
                took.setdefault(like, []).append(done.seconds / 60 / cell.minutes)
    return {like: median(factors) for like, factors in took.items()}


def minutes_left(
    cell: Cell, result: Result | None, seeds: int | None = None, known: Paces | None = None
) -> tuple[float, bool]:
    """What the runs of a cell that are not complete will take here, and whether that was measured.

    Args:
        cell: The recipe.
        result: What is stored.
        seeds: How many are asked for.
        known: What `paces` gave.

    Returns:
        Minutes, and True if they come from complete runs: of the cell, of its row, or of its data and model.

    >>> cell = Cell("p/t", "a", "x", "fedavg", {"rounds": 1}, minutes=2.0)
    >>> minutes_left(cell, None), minutes_left(cell, Result(cell.settings, {0: {"complete": True, "seconds": 30}}))
    ((6.0, False), (1.0, True))
    >>> minutes_left(cell, None, known={("p/t", "a"): 0.5})
    (3.0, True)
    """
    if cell.why_not:
        return 0.0, False
    done = usable(cell, result)
    took = done.seconds if done else None
    left = max((seeds or cell.seeds) - (len(done.seeds_done) if done else 0), 0)
    if took is not None:
        return left * took / 60, True
    factor = next((known[like] for like in likes(cell) if like in known), None) if known else None
    return left * cell.minutes * (1.0 if factor is None else factor), factor is not None
