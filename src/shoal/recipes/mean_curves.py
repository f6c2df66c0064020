"""Curves of a cell, means over its seeds, and how they are named."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from shoal.recipes.store import Result

__all__ = ["SHOWN", "curve_name", "mean_curve"]

SHOWN = {
    "accuracy": ("accuracy (%)", 100.0),
    "loss": ("training loss (nats)", 1.0),
    "test_loss": ("test loss (nats)", 1.0),
    "discrepancy": ("discrepancy", 1.0),
    "ari": ("ARI", 1.0),
}


def curve_name(name: str, all_: Sequence[str]) -> str:
    """What tells a cell apart from the others of a panel.

    >>> curve_name("p/t/a/x", ["p/t/a/x", "p/t/a/y"]), curve_name("p/t/a/x", ["p/t/a/x", "p/t/b/x"])
    ('x', 'a/x')
    """
    column = name.rsplit("/", 1)[1]
    same = sum(other.rsplit("/", 1)[1] == column for other in all_)
    return column if same == 1 else "/".join(name.split("/")[2:])


def mean_curve(result: Result, curve: str) -> list[tuple[int, float]]:
    """The mean over seeds at the rounds that all of them have.

    Args:
        result: Of a cell.
        curve: Its name.

    Returns:
        Rounds and values.

    >>> runs = {s: {"curves": {"round": [1, 2], "accuracy": [0.5, v]}} for s, v in enumerate((0.6, 0.8))}
    >>> mean_curve(Result({}, runs), "accuracy")
    [(1, 0.5), (2, 0.7)]
    """
    seeds = []
    for run in result.runs.values():
        pairs = zip(run["curves"]["round"], run["curves"].get(curve, ()), strict=False)
        seeds.append({t: v for t, v in pairs if v is not None})
    if not seeds:
        return []
    shared = sorted(set.intersection(*(set(points) for points in seeds)))
    return [(t, fmean(points[t] for points in seeds)) for t in shared]
