"""What is kept of a run: its figures, thinned curves, and what some tables ask for beyond."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from shoal.data.build import build_kept, describe
from shoal.loop.history import History, summarise
from shoal.loop.similarity import unpack
from shoal.recipes.records import Cell
from shoal.store.folder import Folder, read_lines
from shoal.types import Array

__all__ = ["KEEPS", "curves", "figures", "measure"]

MOST, TOGETHER = 40, 180  # points of a curve at most, and of the same curve of all seeds together
BUFFERS = ("running_", "num_batches")  # what batch norm counts is no weight
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


def rounded(value: float | None, digits: int = DIGITS) -> float | None:
    """A number for a small file.

    >>> rounded(0.123456789), rounded(3), rounded(None)
    (0.12346, 3, None)
    """
    return value if value is None or isinstance(value, int) else round(float(value), digits)


def federation(folder: Folder) -> dict[str, float]:
    """How many clients and samples the federation of a run has, and the mean and spread of a client's."""
    config = folder.config()
    found = describe(build_kept(config["data"], config.get("partition"), config.get("data_seed", config["seed"])))
    sizes = {"clients": found.clients, "size_mean": round(found.mean, 1), "size_std": round(found.std, 1)}
    return sizes if found.samples is None else {**sizes, "samples": found.samples}


def splits(folder: Folder) -> list[dict[str, Any]]:
    """The splits of CFL: round, clients on both sides, norms and the similarity across."""
    found = []
    for event in read_lines(folder.path / "events.jsonl"):
        if event["kind"] == "split":
            sides = [len(side) for side in event["clients"]]
            numbers = {name: rounded(event.get(name), 3) for name in ("mean_norm", "max_norm", "cross")}
            found.append({"round": event["round"], "clients": sides, **numbers})
    return found


def similarities(folder: Folder) -> list[dict[str, Any]]:
    """Cosines of clients' updates inside the planted groups and across, in the rounds that have a picture."""
    found = []
    for row in folder.rows():
        seen = row.get("likeness", {})
        if seen.get("measure") == "cosine" and "truth" in seen:
            truth_N = np.array(seen["truth"])
            pairs = np.triu_indices(len(truth_N), 1)
            cosines = unpack(seen["pairs"], len(truth_N), 1.0)[pairs]
            same = (truth_N[:, None] == truth_N)[pairs]
            found.append({"round": row["round"], "same": spread(cosines[same]), "other": spread(cosines[~same])})
    return found


def spread(values: Array, digits: int = 2) -> list[float]:
    """Least, mean and largest.

    >>> spread(np.array([0.1, 0.2, 0.6]))
    [0.1, 0.3, 0.6]
    """
    return [round(float(v), digits) for v in (values.min(), values.mean(), values.max())] if len(values) else []


def together(folder: Folder) -> list[list[float]]:
    """By round, the first ten: how many of the planted groups lie inside one group that was found, of how many."""
    found = []
    for row in folder.rows():
        members = row.get("members", {})
        if 1 <= row["round"] <= 10 and "truth" in members and "group" in members:
            homes: dict[int, set[int]] = {}
            for group, truth in zip(members["group"], members["truth"], strict=True):
                homes.setdefault(truth, set()).add(group)
            found.append([row["round"], sum(len(home) == 1 for home in homes.values()), len(homes)])
    return found


def centroids(folder: Folder) -> list[float]:
    """Cosines of the models of all pairs of groups: least, mean and largest; empty while the run is not complete."""
    from safetensors.numpy import load_file

    files = sorted((folder.path / "models").glob("group_*.safetensors"))
    if len(files) < 2:
        return []
    rows = []
    for path in files:
        tensors = {name: t for name, t in load_file(path).items() if not name.rsplit(".", 1)[-1].startswith(BUFFERS)}
        rows.append(np.concatenate([tensors[name].ravel().astype(np.float64) for name in sorted(tensors)]))
    unit_KP = np.array(rows) / np.linalg.norm(rows, axis=1, keepdims=True)
    return spread((unit_KP @ unit_KP.T)[np.triu_indices(len(rows), 1)], 4)


KEEPS: dict[str, Callable[[Folder], Any]] = {
    "splits": splits,
    "similarities": similarities,
    "together": together,
    "centroids": centroids,
}
