"""Figures: pure functions from what a run told to a chart with its table. No file, no network, no state."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from shoal.report.figure import Figure, FigureOrReason, NoFigure
from shoal.report.figures import clients, compared, curves, diagnostics, events, groups, similarity, tree, verdicts
from shoal.report.loaded_run import LoadedRun

__all__ = ["COMPARISON", "RUN", "Figure", "NoFigure", "compared", "of_run"]

# The figures of one run, by section, in reading order.
RUN: dict[str, tuple[Callable[[LoadedRun], FigureOrReason], ...]] = {
    "Result": (curves.score, curves.f1, curves.loss, curves.further),
    "Groups": (groups.flow, groups.sizes, tree.splits, tree.norms, verdicts.verdicts),
    "How alike clients are": (similarity.similarity, similarity.plane, similarity.plane_by_truth, groups.labels),
    "Clients": (clients.strip,),
    "What happened": (events.by_round,),
    "Cost": (curves.traffic,),
    "Diagnostics": (
        diagnostics.agreement,
        diagnostics.objective,
        diagnostics.clusterability,
        diagnostics.gradients,
        diagnostics.divergence,
        diagnostics.loss_bound,
        diagnostics.silhouette,
        diagnostics.discrepancy,
    ),
}
# The figures of several runs, a line per setting.
COMPARISON = (
    compared.score,
    compared.seeds,
    compared.traffic,
    compared.f1,
    compared.loss,
    compared.further,
    compared.agreement,
)


def of_run(loaded: LoadedRun, place: similarity.Place = similarity.components) -> dict[str, list[FigureOrReason]]:
    """All figures of a run, by section; `place` puts clients into the plane."""
    planes: tuple[Any, ...] = (similarity.plane, similarity.plane_by_truth)
    placed = {draw: partial(draw, place=place) for draw in planes}
    return {section: [placed.get(draw, draw)(loaded) for draw in figures] for section, figures in RUN.items()}
