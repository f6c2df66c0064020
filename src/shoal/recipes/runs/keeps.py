"""What some cells keep of a run beyond figures and curves, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shoal.loop.similarity import unpack
from shoal.recipes.rounding import rounded
from shoal.report.figures.similarity import neighbours
from shoal.store.folder import Folder, read_lines
from shoal.types import Array

__all__ = ["KEEPS"]

BUFFERS = ("running_", "num_batches")  # what batch norm counts is no weight
MAPPED = (1, 2, 3, 4, 5)  # rounds, as in the figures of WeCFL; records have a picture of each
LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"


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
    models_KP = group_models(folder)
    if len(models_KP) < 2:
        return []
    unit_KP = models_KP / np.linalg.norm(models_KP, axis=1, keepdims=True)
    return spread((unit_KP @ unit_KP.T)[np.triu_indices(len(unit_KP), 1)], 4)


def apart(folder: Folder) -> float | None:
    """How far the models of groups lie from their plain mean at the end, on average; None while it is not complete."""
    models_KP = group_models(folder)
    if not len(models_KP):
        return None
    return rounded(float(np.linalg.norm(models_KP - models_KP.mean(0), axis=1).mean()))


def group_models(folder: Folder) -> Array:
    """The groups' models as rows, without what batch norm counts; no row while the run is not complete."""
    from safetensors.numpy import load_file

    rows = []
    for path in sorted((folder.path / "models").glob("group_*.safetensors")):
        tensors = {name: t for name, t in load_file(path).items() if not name.rsplit(".", 1)[-1].startswith(BUFFERS)}
        rows.append(np.concatenate([tensors[name].ravel().astype(np.float64) for name in sorted(tensors)]))
    return np.array(rows)


def cosines(folder: Folder) -> list[dict[str, Any]]:
    """By round that has a picture: cosines of clients with the mean of their group, and of such means of all groups.

    Least, mean and largest each; of what the method compares, for WeCFL the fully connected layers of local models.
    """
    found = []
    for row in folder.rows():
        seen = row.get("likeness", {})
        if "cosines_within" in seen:
            kinds = {"within": seen["cosines_within"], "between": seen.get("cosines_between", [])}
            found.append({"round": row["round"], **{kind: [round(v, 5) for v in c] for kind, c in kinds.items()}})
    return found


def maps(folder: Folder) -> list[dict[str, Any]]:
    """t-SNE maps of the clients in the first rounds, by the recorded distances; of seed 0 alone, to stay small.

    Coordinates are hundredths of the largest one around the middle, with two digits after the point: groups that are
    far apart are small beside the distances between them, and with fewer digits their clients would fall together.
    Earlier versions kept none. `group` and `truth` have a letter for each client.
    """
    if folder.config()["seed"] != 0:
        return []
    found = []
    for row in folder.rows():
        seen = row.get("likeness")
        if row["round"] in MAPPED and seen and "group" in seen:
            x, y = around_middle(np.array(neighbours(seen)[:2]))
            letters = {kind: "".join(map(letter, seen[kind])) for kind in ("group", "truth") if kind in seen}
            found.append({"round": row["round"], **letters, "x": x, "y": y})
    return found


def around_middle(places_2N: Array) -> list[list[float]]:
    """Places in hundredths of the largest coordinate around the middle.

    >>> around_middle(np.array([[1.0, 5.0, 3.0], [7.0, 7.0, 7.0]]))
    [[-100.0, 100.0, 0.0], [0.0, 0.0, 0.0]]
    """
    centred_2N = places_2N - places_2N.mean(1, keepdims=True)
    found: list[list[float]] = (np.round(100 * centred_2N / (np.abs(centred_2N).max() or 1.0), 2) + 0.0).tolist()
    return found


def letter(number: int) -> str:
    """A group as one letter; `-` for none, and all from 35 on alike.

    >>> letter(3), letter(12), letter(-1)
    ('3', 'c', '-')
    """
    return "-" if number < 0 else LETTERS[min(number, len(LETTERS) - 1)]


def number_of(letter: str) -> int:
    """The group that a letter stands for.

    >>> [number_of(letter(k)) for k in (3, 12, -1)]
    [3, 12, -1]
    """
    return LETTERS.find(letter)


KEEPS: dict[str, Callable[[Folder], Any]] = {
    "splits": splits,
    "similarities": similarities,
    "together": together,
    "centroids": centroids,
    "apart": apart,
    "cosines": cosines,
    "maps": maps,
}
