"""What follows from the curves that are kept of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from statistics import fmean
from typing import Any

__all__ = ["Run", "climb", "curve_of", "first_of_curve", "mean_of_curve", "unrest"]

Run = Mapping[str, Any]


def curve_of(run: Run, name: str) -> list[tuple[int, float]]:
    """Rounds and values of a curve, where there are any.

    >>> curve_of({"curves": {"round": [1, 3], "accuracy": [None, 0.4]}}, "accuracy")
    [(3, 0.4)]
    """
    curves = run.get("curves", {})
    return [(t, v) for t, v in zip(curves.get("round", ()), curves.get(name, ()), strict=False) if v is not None]


def first_of_curve(run: Run) -> float | None:
    """The discrepancy of round 1, if the curve of a run begins there.

    >>> first_of_curve({"curves": {"round": [2], "discrepancy": [0.5]}}) is None
    True
    """
    curves = run.get("curves", {})
    return curves["discrepancy"][0] if curves.get("discrepancy") and curves["round"][0] == 1 else None


def mean_of_curve(name: str, share: float = 1.0) -> Callable[[Run], float | None]:
    """The mean of a curve over the first rounds of a run, by trapezia between the points that are kept.

    Args:
        name: Of the curve.
        share: Of the rounds of the run.

    Returns:
        What finds it in a run; None where fewer than two points are kept.

    >>> run = {"rounds": 12, "curves": {"round": [1, 3, 4, 12], "accuracy": [0.0, 0.4, 0.6, 0.9]}}
    >>> round(mean_of_curve("accuracy", 1 / 3)(run), 6)  # (2 x 0.2 + 1 x 0.5) / 3
    0.3
    """

    def found(run: Run) -> float | None:
        points = [(t, v) for t, v in curve_of(run, name) if t <= share * run["rounds"]]
        if len(points) < 2:
            return None
        area = sum((t1 - t0) * (v0 + v1) / 2 for (t0, v0), (t1, v1) in pairwise(points))
        return float(area / (points[-1][0] - points[0][0]))

    return found


def unrest(run: Run) -> float | None:
    """How far accuracy moves between two tests that are kept, on average, once the first sixth of the rounds is over.

    >>> round(unrest({"rounds": 12, "curves": {"round": [1, 2, 6, 12], "accuracy": [0.0, 0.5, 0.4, 0.6]}}), 6)
    0.15
    """
    values = [v for t, v in curve_of(run, "accuracy") if t >= run["rounds"] / 6]
    return float(fmean(abs(b - a) for a, b in pairwise(values))) if len(values) > 1 else None


def climb(run: Run) -> float | None:
    """Rounds from the first test with 10 % to the first with 70 %.

    >>> climb({"curves": {"round": [1, 2, 4, 9], "accuracy": [0.05, 0.1, 0.5, 0.7]}})
    7.0
    """
    start, end = (next((t for t, v in curve_of(run, "accuracy") if v >= least), None) for least in (0.1, 0.7))
    return None if start is None or end is None else float(end - start)
