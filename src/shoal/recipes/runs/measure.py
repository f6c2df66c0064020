"""What is kept of a run: its figures, thinned curves, and what some tables ask for beyond."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.data.build import build_kept, describe
from shoal.loop.history import History, summarise
from shoal.recipes.records import Cell
from shoal.recipes.rounding import rounded
from shoal.recipes.runs.keeps import KEEPS
from shoal.store.folder import Folder

__all__ = ["curves", "figures", "measure"]

MOST, TOGETHER = 40, 180  # points of a curve at most, and of the same curve of all seeds together
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
TARGETS = (80, 85)  # per cent


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
    counted = federation(folder) if cell.counts else {}
    return {
        "complete": summary is not None,
        "rounds": known["rounds"],
        "seconds": round(known["seconds"], 1),
        "figures": {**figures(history, known), **counted},
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
    apart = next((row["discrepancy"] for row in history if row.get("discrepancy") is not None), None)
    if apart is not None:
        found["first_discrepancy"] = rounded(apart)
    validated = history.best("val_accuracy")
    if validated is not None:
        found["best_val_accuracy"] = rounded(validated["val_accuracy"])
    found.update(drift_noticed(history))
    for percent in TARGETS:
        first = history.first(percent / 100)
        if first is None:
            continue
        found[f"rounds_to_{percent}"] = first["round"]
        for name in ("t_comp", "t_comm"):
            spent = history.estimated(name, first["round"])
            if spent is not None:
                found[f"{name}_to_{percent}"] = rounded(spent)
    return found


def drift_noticed(history: History) -> dict[str, float]:
    """Of a method that looks for drift: how often clients' data changed, and how many found it out, for one change.

    Rounds count in which everybody has a model; who has none yet is not asked.

    >>> rows = [{"round": t, "drifted": 4, "measures": {"shifted": t}} for t in (1, 2)]
    >>> drift_noticed(History(rows))
    {'drifted': 8, 'noticed': 0.375}
    """
    asked = [row for row in history if "shifted" in row.get("measures", {}) and not row.get("partial")]
    drifted = sum(row.get("drifted", 0) for row in asked)
    noticed = sum(row["measures"]["shifted"] for row in asked)
    return {"drifted": drifted, "noticed": round(noticed / drifted, 4)} if drifted else {}


def curves(history: History, points: int, more: tuple[str, ...] = ()) -> dict[str, list[float | None]]:
    """Accuracy, loss and discrepancy at some of the tested rounds, the first and the last among them.

    Where no round was tested, at some of those that have any of the others.

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
    tested = [row for row in history if row.get("accuracy") is not None]
    rows = tested or [row for row in history if any(row.get(name) is not None for name in names)]
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


def federation(folder: Folder) -> dict[str, float]:
    """How many clients and samples the federation of a run has, and the mean and spread of a client's."""
    config = folder.config()
    found = describe(build_kept(config["data"], config.get("partition"), config.get("data_seed", config["seed"])))
    sizes = {"clients": found.clients, "size_mean": round(found.mean, 1), "size_std": round(found.std, 1)}
    return sizes if found.samples is None else {**sizes, "samples": found.samples}
