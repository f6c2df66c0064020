"""Figures: pure functions from what a run told to a chart with its table. No file, no network, no state."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from shoal.report.figure import Drawn, Figure, Missing
from shoal.report.figures import clients, compared, curves, diagnostics, events, groups, likeness, tree
from shoal.report.read import Told

__all__ = ["COMPARISON", "RUN", "Figure", "Missing", "compared", "of_run"]

# The figures of one run, by section, in reading order.
RUN: dict[str, tuple[Callable[[Told], Drawn], ...]] = {
    "Result": (curves.accuracy, curves.f1, curves.loss),
    "Groups": (groups.sizes, groups.flow, tree.splits, tree.norms),
    "How alike clients are": (likeness.similarity, likeness.plane, likeness.plane_by_truth, groups.labels),
    "Clients": (clients.strip,),
    "What happened": (events.by_round,),
    "Cost": (curves.traffic,),
    "Diagnostics": (
        diagnostics.agreement,
        diagnostics.objective,
        diagnostics.clusterability,
        diagnostics.silhouette,
        diagnostics.discrepancy,
    ),
}
# The figures of several runs, a line per setting.
COMPARISON = (compared.accuracy, compared.seeds, compared.traffic, compared.f1, compared.loss, compared.agreement)


def of_run(told: Told, place: likeness.Place = likeness.components) -> dict[str, list[Drawn]]:
    """All figures of a run, by section; `place` puts clients into the plane."""
    planes: tuple[Any, ...] = (likeness.plane, likeness.plane_by_truth)
    placed = {draw: partial(draw, place=place) for draw in planes}
    return {section: [placed.get(draw, draw)(told) for draw in figures] for section, figures in RUN.items()}
