"""What is kept of a run: its figures, thinned curves, and what some tables ask for beyond."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from shoal.loop.history import History, summarise
from shoal.recipes.records import Cell
from shoal.store.folder import Folder, read_lines

__all__ = ["KEEPS", "curves", "figures", "measure"]

MOST, TOGETHER = 40, 250  # points of a curve at most, and of the same curve of all seeds together
DIGITS = 5  # of a figure
CURVES = ("accuracy", "loss", "discrepancy")
FIGURES = (
    "best_accuracy",
    "best_round",
    "median_accuracy",
    "last_accuracy",
    "last_three_accuracy",
    "last_three_f1",
    "best_test_loss",
    "last_test_loss",
    "discrepancy_mean",
    "discrepancy_variance",
    "groups",
    "ari",
    "vectors",
    "t_comp",
    "t_comm",
)
TARGETS = {"rounds_to_80": 0.8, "rounds_to_85": 0.85}


def measure(folder: Folder, cell: Cell) -> dict[str, Any]:
    """What is kept of a run, complete or not: rounds, figures, curves, seconds and what the cell asks for beyond.

    Args:
        folder: Of the run.
        cell: To which it belongs.

    Returns:
        What one entry of `runs` in a cell's file holds, but for the seed.
    """
    history, summary = folder.history(), folder.summary()
    known = {**summarise(history), **(summary or {})}
    return {
        "complete": summary is not None,
        "rounds": known["rounds"],
        "seconds": round(known["seconds"], 1),
        "figures": figures(history, known),
        "curves": curves(history, min(MOST, TOGETHER // cell.seeds), cell.curves),
        **{name: KEEPS[name](folder) for name in cell.keeps},
    }


def figures(history: History, known: Mapping[str, Any]) -> dict[str, Any]:
    """The figures that a run has, rounded; none where it does not have it.

    Args:
        history: The records of the run.
        known: Its summary.

    Returns:
        Figures by name.

    >>> rows = [{"round": 1, "accuracy": 0.8, "tested": 1}, {"round": 2, "accuracy": 0.86, "tested": 1}]
    >>> figures(History(rows), {"best_accuracy": 0.860000001, "groups": 3})
    {'best_accuracy': 0.86, 'groups': 3, 'rounds_to_80': 1, 'rounds_to_85': 2}
    """
    found = {name: rounded(known[name]) for name in FIGURES if known.get(name) is not None}
    for name, target in TARGETS.items():
        first = history.first(target)
        if first is not None:
            found[name] = first["round"]
    return found


def curves(history: History, points: int, more: tuple[str, ...] = ()) -> dict[str, list[float | None]]:
    """Accuracy, loss and discrepancy at some of the rounds, the first and the last among them.

    Args:
        history: The records of a run.
        points: At most so many.
        more: Further columns of the records.

    Returns:
        `round`, and every curve that has a value at one of these rounds; None where it has none.

    >>> curves(History([{"round": r, "accuracy": r / 8} for r in range(9)]), 3)
    {'round': [0, 4, 8], 'accuracy': [0.0, 0.5, 1.0]}
    """
    names = (*CURVES, *more)
    rows = [row for row in history if any(row.get(name) is not None for name in names)]
    if not rows:
        return {"round": []}
    count = min(points, len(rows))
    kept = [rows[round(i * (len(rows) - 1) / max(count - 1, 1))] for i in range(count)]
    found: dict[str, list[float | None]] = {"round": [row["round"] for row in kept]}
    for name in names:
        values = [rounded(row.get(name), 4) for row in kept]
        if any(value is not None for value in values):
            found[name] = values
    return found


def rounded(value: float | None, digits: int = DIGITS) -> float | None:
    """A number for a small file.

    >>> rounded(0.123456789), rounded(3), rounded(None)
    (0.12346, 3, None)
    """
    return value if value is None or isinstance(value, int) else round(float(value), digits)


def splits(folder: Folder) -> list[dict[str, Any]]:
    """The splits of CFL: round, clients on both sides, norms and the similarity across."""
    found = []
    for event in read_lines(folder.path / "events.jsonl"):
        if event["kind"] == "split":
            sides = [len(side) for side in event["clients"]]
            numbers = {name: rounded(event.get(name), 3) for name in ("mean_norm", "max_norm", "cross")}
            found.append({"round": event["round"], "clients": sides, **numbers})
    return found


KEEPS: dict[str, Callable[[Folder], Any]] = {"splits": splits}
