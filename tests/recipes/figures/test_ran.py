"""Cells that were run, unfinished ones and others: pages, captions and legends tell them apart in the same words."""

from __future__ import annotations

from typing import Any

import pytest

from shoal.recipes.figures.drawn import drawings
from shoal.recipes.figures.ran import ran
from shoal.recipes.figures.scene_of import scene_of
from shoal.recipes.judging.relations import Known
from shoal.recipes.pages.html import page_of
from shoal.recipes.pages.paper_pages import paper_page
from shoal.recipes.records import Cell, Panel, Paper, Table
from shoal.recipes.store import Result

KEPT = {"round": [4, 12], "accuracy": [0.25, 0.5]}
COUNTED = "1 of the 3 cells that it shows were run, 1 unfinished."


def cells() -> Known:
    """One cell with a complete run, one with a begun run, and one that was not run."""
    figures = {"best_accuracy": 0.5, "vectors": 100, "t_comp_to_80": 2.0, "t_comm_to_80": 3.0}
    found: dict[str, tuple[Cell, Result | None]] = {}
    for column, complete in (("alpha-1-beta-1", True), ("alpha-1-beta-2", False), ("alpha-2-beta-1", None)):
        cell = Cell("p/t", "r", column, "fedavg", {"rounds": 100}, seeds=2)
        run: dict[str, Any] = {"complete": complete, "rounds": 12, "figures": figures, "curves": KEPT}
        found[cell.name] = (cell, None if complete is None else Result(cell.settings, {0: run}))
    return found


def figure_and_page(panel: Panel, known: Known) -> tuple[Any, str, str]:
    """The figure of the page of HTML, the picture of the docs, and the page of the docs."""
    table = Table("p/t", "A table", panels=(panel,))
    paper = Paper("p", "A paper", "Nobody 2000", (table,))
    [figure] = page_of(paper, known).figures
    [picture] = drawings(table, known).values()
    return figure, picture, paper_page(paper, (), known)


@pytest.mark.parametrize("curve", ["accuracy", "traffic", "tiles", "costs"])
def test_an_unfinished_cell_does_not_count_as_run(curve: str) -> None:
    known = cells()
    assert [ran(name, known) for name in known] == ["run", "unfinished", "not run"]
    figure, _, page = figure_and_page(Panel("A", curve, tuple(known)), known)
    assert figure.caption.endswith(COUNTED) and COUNTED in page


def test_nothing_is_counted_in_a_caption_where_all_were_run() -> None:
    known = dict([*cells().items()][:1])
    figure, _, page = figure_and_page(Panel("A", "accuracy", tuple(known)), known)
    assert "were run" not in figure.caption and "1 of the 1 cells that it shows were run." in page


def test_the_curve_of_an_unfinished_run_tells_how_far_it_is() -> None:
    known = cells()
    figure, picture, _ = figure_and_page(Panel("A", "accuracy", tuple(known)), known)
    assert [trace["name"] for trace in figure.traces] == ["alpha-1-beta-1", "alpha-1-beta-2 (until round 12 of 100)"]
    assert "alpha-1-beta-2 (until round 12 of 100)" in picture and "alpha-1-beta-1 (" not in picture


@pytest.mark.parametrize("curve", ["tiles", "costs"])
def test_what_is_unfinished_is_not_called_not_run(curve: str) -> None:
    known = cells()
    scene = scene_of(Panel("A", curve, tuple(known)), known)
    assert scene is not None
    texts = [text for layer in scene.layers for text in layer.texts]
    assert texts[-2:] == ["unfinished", "not run"]


def test_similarities_of_an_unfinished_run_tell_how_far_it_is() -> None:
    cell = Cell("p/t", "r", "a", "cfl", {"rounds": 50})
    kept = [{"round": t, "same": [0.1, 0.4, 0.6], "other": [-0.3, -0.1, 0.0]} for t in (1, 7)]
    for complete, label in ((True, "round"), (False, "round (until round 7 of 50)")):
        known = {cell.name: (cell, Result(cell.settings, {0: {"complete": complete, "similarities": kept}}))}
        scene = scene_of(Panel("S", "similarities", tuple(known)), known)
        assert scene is not None and scene.labels[0] == label
