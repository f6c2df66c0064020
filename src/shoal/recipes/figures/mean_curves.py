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
    """The mean over complete runs at the rounds that all of them have; over unfinished ones where none is complete.

    Args:
        result: Of a cell.
        curve: Its name.

    Returns:
        Rounds and values.

    >>> curves = [{"round": [1, 2], "accuracy": [0.5, v]} for v in (0.6, 0.8)] + [{"round": [1], "accuracy": [0.1]}]
    >>> runs = {s: {"complete": s < 2, "curves": c} for s, c in enumerate(curves)}
    >>> mean_curve(Result({}, runs), "accuracy")
    [(1, 0.5), (2, 0.7)]
    """
    seeds = []
    for seed in result.seeds_done or result.runs:
        kept = result.runs[seed]["curves"]
        pairs = zip(kept.get("round", ()), kept.get(curve, ()), strict=False)
        seeds.append({t: v for t, v in pairs if v is not None})
    if not seeds:
        return []
    shared = sorted(set.intersection(*(set(points) for points in seeds)))
    return [(t, fmean(points[t] for points in seeds)) for t in shared]
