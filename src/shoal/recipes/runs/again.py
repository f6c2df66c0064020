"""Stored runs that were played again: does this code, on this machine, still give what `results/` says?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.recipes.records import Cell, Quantity
from shoal.recipes.runs.play import by_federation
from shoal.recipes.runs.single import Job
from shoal.recipes.store import Result, Store, usable

__all__ = ["Twice", "made_elsewhere", "played_twice", "stored_jobs"]

OF_ITS_OWN = ("commit", "seconds")  # of a run: all else must be the same whenever it is played
MADE_WITH = ("commit", "torch", "numpy", "kernels", "machine")  # what may move figures, or their last bits


@dataclass(frozen=True)
class Twice:
    """A run, as it is stored and as it is now.

    Attributes:
        job: Which.
        stored: What the file has of it.
        now: What it gave now.

    >>> job = Job(Cell("p/t", "a", "x", "fedavg", {}), 0)
    >>> Twice(job, {"figures": {"ari": 0.5}, "seconds": 9.0}, {"figures": {"ari": 0.5}, "seconds": 7.0}).same
    True
    """

    job: Job
    stored: Mapping[str, Any]
    now: Mapping[str, Any]

    @property
    def same(self) -> bool:
        """Whether figures, curves and what else a cell keeps are equal to the last digit."""
        return agree(
            *(by_round({k: v for k, v in run.items() if k not in OF_ITS_OWN}) for run in (self.stored, self.now))
        )

    def figures(self, quantity: Quantity) -> tuple[float | None, float | None]:
        """A quantity as it is stored and as it is now, in the paper's unit; None: there is none.

        Args:
            quantity: Of the table.

        Returns:
            Both.

        >>> job = Job(Cell("p/t", "a", "x", "fedavg", {}), 0)
        >>> twice = Twice(job, {"figures": {"best_accuracy": 0.5}}, {"figures": {"best_accuracy": None}})
        >>> twice.figures(Quantity("best_accuracy", "best", 100))
        (50.0, None)
        """
        found = (run["figures"].get(quantity.name) for run in (self.stored, self.now))
        stored, now = (None if value is None else quantity.scale * float(value) for value in found)
        return stored, now


def by_round(run: Mapping[str, Any]) -> dict[str, Any]:
    """The same with rounds as keys, as versions differ in the rounds that they keep of curves and pictures.

    >>> by_round({"curves": {"round": [1, 5], "loss": [0.9, 0.8]}, "maps": [{"round": 5, "x": [0]}], "rounds": 5})
    {'curves': {'loss': {1: 0.9, 5: 0.8}}, 'maps': {5: {'round': 5, 'x': [0]}}, 'rounds': 5}
    """
    found = dict(run)
    for key, value in run.items():
        if key == "curves":
            found[key] = {k: dict(zip(value["round"], v, strict=True)) for k, v in value.items() if k != "round"}
        elif isinstance(value, list) and value and all(isinstance(one, Mapping) and "round" in one for one in value):
            found[key] = {one["round"]: one for one in value}
    return found


def agree(stored: Any, now: Any) -> bool:
    """Whether two records say the same wherever both say something: a later version keeps more, or something else.

    >>> agree({"figures": {"ari": 0.5}}, {"figures": {"ari": 0.5, "nmi": 0.6}, "maps": []})
    True
    >>> agree({"figures": {"ari": 0.5}}, {"figures": {"ari": 0.25}})
    False
    """
    if isinstance(stored, Mapping) and isinstance(now, Mapping):
        return all(agree(stored[key], now[key]) for key in stored.keys() & now.keys())
    return bool(stored == now)


def stored_jobs(cells: Iterable[Cell], store: Store, seeds: int | None = None) -> list[Job]:
    """The complete runs that are stored under the recipe's settings.

    Args:
        cells: In the order in which their rows are wanted.
        store: Where results are.
        seeds: How many of each cell, from the first on; None: all.

    Returns:
        The runs, seed by seed within a federation.
    """
    known = ((cell, usable(cell, store.load(cell))) for cell in cells)
    return by_federation([Job(cell, seed) for cell, r in known if r for seed in sorted(r.seeds_done)[:seeds]])


def played_twice(jobs: Sequence[Job], store: Store, fresh: Store) -> list[Twice]:
    """The runs that are complete in both stores.

    Args:
        jobs: What `stored_jobs` gave.
        store: Where results are.
        fresh: Where those of now are.

    Returns:
        A pair for each run that was played to its end.
    """
    found = []
    for job in jobs:
        stored, now = (store.load(job.cell) or Result({}) for store in (store, fresh))
        if job.seed in now.seeds_done:
            found.append(Twice(job, stored.runs[job.seed], now.runs[job.seed]))
    return found


def made_elsewhere(jobs: Iterable[Job], store: Store, here: Mapping[str, Any]) -> str:
    """What may be behind runs that differ: the commit, libraries and machine that their cells were made with.

    Args:
        jobs: Runs that differ.
        store: Where results are.
        here: Of this machine, what `shoal.recipes.runs.play.machine` gives.

    Returns:
        What is not as here, in words; empty where all that is known is the same.
    """
    made = [result.made for job in jobs if (result := store.load(job.cell)) is not None]
    words = dict.fromkeys(
        f"{key} {one.get(key, 'unknown')} there, {here.get(key)} here"
        for key in MADE_WITH
        for one in made
        if one.get(key) != here.get(key)
    )
    return "; ".join(words)
