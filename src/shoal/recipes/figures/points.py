"""What panels show that are no curves: traffic against accuracy, and maps of clients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from shoal.recipes.figures.mean_curves import curve_name
from shoal.recipes.judging.relations import Known
from shoal.recipes.records import ACCURACY, Panel
from shoal.recipes.runs.keeps import number_of
from shoal.recipes.store import usable

__all__ = ["Spot", "groups_of", "maps_of", "spots"]

TRAFFIC = ("models sent", "accuracy, best (%)")


@dataclass(frozen=True)
class Spot:
    """A cell as a point: what it sends, and what it reaches, means over seeds.

    >>> Spot(0, "fedavg", 12000.0, 89.4).name
    'fedavg'
    """

    number: int
    name: str
    x: float
    y: float


def spots(panel: Panel, known: Known) -> list[Spot]:
    """The cells of a panel that were run: models sent in the whole run, and best accuracy in per cent.

    Args:
        panel: Of traffic.
        known: All cells with what is stored of them.

    Returns:
        A point each, numbered as in the panel.
    """
    found = []
    for number, name in enumerate(panel.cells):
        result = usable(*known[name])
        if result is None:
            continue
        sent, reached = result.values("vectors"), result.values(ACCURACY)
        if sent and reached:
            shown = curve_name(name, panel.cells)
            found.append(Spot(number, shown, fmean(sent.values()), 100 * fmean(reached.values())))
    return found


def maps_of(panel: Panel, known: Known) -> list[Mapping[str, Any]]:
    """The maps that the first cell of a panel keeps, round by round.

    Args:
        panel: Of maps.
        known: All cells with what is stored of them.

    Returns:
        What `shoal.recipes.runs.keeps` kept; none where nothing was run, or before maps were kept.
    """
    result = usable(*known[panel.cells[0]])
    if result is None:
        return []
    return [one for run in result.runs.values() for one in run.get("maps", ())]


def groups_of(one: Mapping[str, Any]) -> dict[int, list[tuple[float, float]]]:
    """The places of a map's clients by group.

    Args:
        one: A map.

    Returns:
        Places by number of the group, -1 for none.

    >>> groups_of({"round": 1, "group": "010", "x": [1, 2, 3], "y": [4, 5, 6]})
    {0: [(1, 4), (3, 6)], 1: [(2, 5)]}
    """
    found: dict[int, list[tuple[float, float]]] = {}
    for group, x, y in sorted(zip(one["group"], one["x"], one["y"], strict=True)):
        found.setdefault(number_of(group), []).append((x, y))
    return found
