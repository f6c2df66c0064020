"""Curves of cells, means over seeds, and how they are named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from shoal.recipes.figures.ran import until
from shoal.recipes.judging.curves import curve_of
from shoal.recipes.judging.relations import Known
from shoal.recipes.records import Panel
from shoal.recipes.store import Result, usable

__all__ = ["SHOWN", "Curve", "curve_name", "curves_of", "mean_curve"]

Curve = tuple[int, str, list[tuple[int, float]]]  # its number in the panel, its label, and rounds with values

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


def curves_of(panel: Panel, known: Known) -> list[Curve]:
    """The curves of a panel that there are, as the docs and pages of HTML draw them.

    Args:
        panel: Of curves over rounds.
        known: All cells with what is stored of them.

    Returns:
        Curves in the unit of `SHOWN`; the label of one of which no run is complete tells how far it is.

    >>> from shoal.recipes.records import Cell
    >>> cell = Cell("p/t", "r", "ifca", "ifca", {"rounds": 100})
    >>> begun = {"complete": False, "curves": {"round": [4, 12], "accuracy": [0.25, 0.5]}}
    >>> curves_of(Panel("", "accuracy", (cell.name,)), {cell.name: (cell, Result(cell.settings, {0: begun}))})
    [(0, 'ifca (until round 12 of 100)', [(4, 25.0), (12, 50.0)])]
    """
    scale = SHOWN[panel.curve][1]
    found = []
    for number, name in enumerate(panel.cells):
        result = usable(*known[name])
        points = mean_curve(result, panel.curve) if result is not None else []
        if points:
            label = curve_name(name, panel.cells) + until(name, points[-1][0], known)
            found.append((number, label, [(t, scale * v) for t, v in points]))
    return found


def mean_curve(result: Result, curve: str) -> list[tuple[int, float]]:
    """The mean over complete runs; over unfinished ones where none is complete.

    Where runs keep different rounds, at those of the run that keeps the fewest, as far as all runs go; the others are
    straight lines between the rounds that they keep.

    Args:
        result: Of a cell.
        curve: Its name.

    Returns:
        Rounds and values; none where a run does not have the curve.

    >>> curves = [{"round": [1, 2], "accuracy": [0.5, v]} for v in (0.6, 0.8)] + [{"round": [1], "accuracy": [0.1]}]
    >>> runs = {s: {"complete": s < 2, "curves": c} for s, c in enumerate(curves)}
    >>> mean_curve(Result({}, runs), "accuracy")
    [(1, 0.5), (2, 0.7)]
    """
    seeds = [dict(curve_of(result.runs[seed], curve)) for seed in result.seeds_done or result.runs]
    return [(t, fmean(between(points, t) for points in seeds)) for t in shared_rounds(seeds)]


def shared_rounds(seeds: Sequence[Mapping[int, float]]) -> list[int]:
    """The rounds of the curve that has the fewest, from where all have begun to where the first one ends.

    >>> shared_rounds([{1: 0.1, 2: 0.2, 4: 0.4}, {1: 0.1, 3: 0.3}]), shared_rounds([{1: 0.1}, {}]), shared_rounds([])
    ([1, 3], [], [])
    """
    if not seeds or not all(seeds):
        return []
    first, last = max(min(points) for points in seeds), min(max(points) for points in seeds)
    return sorted(t for t in min(seeds, key=len) if first <= t <= last)


def between(points: Mapping[int, float], at: int) -> float:
    """The value of a curve at a round, on the straight line between its neighbours if it has none there.

    >>> between({1: 0.2, 5: 0.6}, 5), between({1: 1.0, 5: 2.0}, 2)
    (0.6, 1.25)
    """
    if at in points:
        return points[at]
    left, right = max(t for t in points if t < at), min(t for t in points if t > at)
    return points[left] + (points[right] - points[left]) * (at - left) / (right - left)
