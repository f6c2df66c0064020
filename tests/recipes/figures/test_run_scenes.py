"""What panels show of runs: over settings, costs until a target, similarities; in the docs and on pages alike."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

import pytest

from shoal.recipes import PAPERS
from shoal.recipes.figures.drawn import drawings
from shoal.recipes.figures.scene_of import RUNS, TOYS, is_scene, scene_of
from shoal.recipes.judging.relations import Known
from shoal.recipes.pages.html import page_of
from shoal.recipes.records import Cell, Panel, Paper, Quantity, Table
from shoal.recipes.store import Result

Figures = Mapping[str, float]
LOSS = Quantity("best_test_loss", "test loss, least", digits=2)


def cells(columns: Mapping[str, Sequence[Figures]]) -> Known:
    """Cells of a row with figures by seed; none of a cell that was not run."""
    known: dict[str, tuple[Cell, Result | None]] = {}
    for column, seeds in columns.items():
        cell = Cell("p/t", "r", column, "fedavg", {"rounds": 50})
        runs = {s: {"complete": True, "rounds": 50, "figures": figures} for s, figures in enumerate(seeds)}
        known[cell.name] = (cell, Result(cell.settings, runs) if runs else None)
    return known


def both(panel: Panel, known: Known) -> tuple[str, Any]:
    """The picture of the docs, which is well-formed, and the figure of the page."""
    table = Table("p/t", "A table", panels=(panel,))
    [picture] = drawings(table, known).values()
    ElementTree.fromstring(picture)
    [figure] = page_of(Paper("p", "A paper", "Nobody 2000", (table,)), known).figures
    return picture, figure


def test_costs_until_80_and_who_never_comes_so_far() -> None:
    """Means over the seeds that reach 80 %: T_comm of a is 300 in two of three seeds, b never does, c was not run."""
    some = {"t_comp_to_80": 10.0, "t_comm_to_80": 200.0, "rounds_to_80": 4.0}
    more = {"t_comp_to_80": 30.0, "t_comm_to_80": 400.0, "rounds_to_80": 8.0}
    never = {"t_comp": 90.0, "t_comm": 900.0}
    known = cells({"a": (some, more, never), "b": (never, never, never), "c": ()})
    picture, figure = both(Panel("Costs", "costs", tuple(known)), known)
    assert figure.rows == [["a", 20.0, 300.0, 2], ["b", None, None, 0]]
    for words in ("300 s (2 of 3 seeds)", "80 % not reached in 50 rounds", "not run"):
        assert words in picture and any(words in trace.get("text", ()) for trace in figure.traces)
    bars = [trace for trace in figure.traces if trace["type"] == "bar"]
    assert [(bar["name"], bar["x"]) for bar in bars] == [("T_comp", (20.0,)), ("T_comm", (300.0,))]
    widths = [float(w) for w in re.findall(r'width="([\d.]+)" height="11"', picture)]
    assert widths[1] == pytest.approx(15 * widths[0], abs=1)


def test_short_times_of_computation_are_told_apart() -> None:
    """Clients compute for less than a second: T_comp has hundredths, in bars, in their table and in FedGSP's tables."""
    known = cells(
        {"a": ({"t_comp_to_80": 0.214, "t_comm_to_80": 200.0}, {"t_comp_to_80": 0.26, "t_comm_to_80": 201.0})}
    )
    picture, figure = both(Panel("Costs", "costs", tuple(known)), known)
    assert "0.24 s" in picture and ">200 s" in picture and figure.rows[0][1] == 0.24
    shown = [q for t in PAPERS["fedgsp"].tables for q in t.quantities if q.name in ("t_comp", "t_comp_to_80")]
    assert [quantity.show(0.237) for quantity in shown] == ["0.24", "0.24"]


def test_nobody_reaches_80() -> None:
    known = cells({"a": ({"t_comm": 900.0},)})
    picture, figure = both(Panel("Costs", "costs", tuple(known)), known)
    assert "80 % not reached in 50 rounds" in picture and figure.rows == [["a", None, None, 0]]
    assert [trace["type"] for trace in figure.traces] == ["scatter"]


def test_a_quantity_over_a_setting() -> None:
    """Seconds begin at zero, accuracies do not; kappa = 0.5 was not run."""
    known = cells(
        {
            "kappa-0.1": ({"t_comm": 10.0, "best_accuracy": 0.8}, {"t_comm": 20.0, "best_accuracy": 0.82}),
            "kappa-0.5": (),
            "kappa-1.0": ({"t_comm": 150.0, "best_accuracy": 0.83},),
        }
    )
    time = Panel("T", "over", tuple(known), Quantity("t_comm", "T_comm, s"))
    picture, figure = both(time, known)
    assert figure.rows == [[0.1, 15.0], [1.0, 150.0]] and "2 of the 3 cells that it shows were run." in figure.caption
    assert figure.layout["xaxis"]["title"]["text"] == "kappa" and ">kappa<" in picture
    assert figure.layout["yaxis"]["range"] == [0.0, 150.0]
    _, accuracies = both(Panel("A", "over", tuple(known)), known)
    assert accuracies.rows == [[0.1, 81.0], [1.0, 83.0]] and accuracies.layout["yaxis"]["range"] == [81.0, 83.0]


def test_a_quantity_over_two_settings() -> None:
    """Columns by alpha, rows by beta in the order of numbers, not of letters; darkest where the loss is least."""
    known = cells(
        {
            "alpha-2-beta-3": ({"best_test_loss": 0.5},),
            "alpha-2-beta-10": ({"best_test_loss": 0.7},),
            "alpha-10-beta-3": (),
            "alpha-10-beta-10": ({"best_test_loss": 0.6}, {"best_test_loss": 0.7}),
        }
    )
    picture, figure = both(Panel("L", "tiles", tuple(known), LOSS), known)
    [trace] = figure.traces
    assert trace["z"] == [[0.5, None], [0.7, pytest.approx(0.65)]]
    assert trace["text"] == [["0.50", "not run"], ["0.70", "0.65"]]
    assert figure.layout["xaxis"]["ticktext"] == ["2", "10"] and figure.layout["yaxis"]["range"] == [1.5, -0.5]
    shades = [float(dark) for dark in re.findall(r'fill-opacity="([\d.]+)"', picture)]
    assert shades == [1.0, 0.1, 1.0, 0.33]  # 0.1 + 0.9 of how far below 0.7; what was not run is grey
    assert picture.count("not run") == 1


def test_similarities_by_round() -> None:
    """The mean of two seeds at the rounds that both have; bands from the least to the largest of both."""
    first = [{"round": t, "same": [0.1, 0.4, 0.6], "other": [-0.3, -0.1, 0.0]} for t in (1, 2, 4)]
    second = [{"round": t, "same": [0.2, 0.6, 0.8], "other": [-0.5, -0.3, 0.1]} for t in (1, 4, 9)]
    cell = Cell("p/t", "r", "a", "cfl", {"rounds": 50})
    runs = {s: {"complete": True, "similarities": kept} for s, kept in enumerate((first, second))}
    known = {cell.name: (cell, Result(cell.settings, runs))}
    panel = Panel("S", "similarities", tuple(known))
    picture, figure = both(panel, known)
    assert figure.rows[:2] == [["same planted group", t, 0.1, 0.5, 0.8] for t in (1, 4)]
    assert figure.rows[2:] == [["different ones", t, -0.5, -0.2, 0.1] for t in (1, 4)]
    assert [trace.get("fill") for trace in figure.traces[:3]] == ["toself", "toself", None]
    assert "same planted group" in picture and "different ones" in picture
    for nothing in ([], [{"round": 1, "same": [], "other": []}]):
        bare = Result(cell.settings, {0: {"complete": True, "similarities": nothing}})
        assert scene_of(panel, {cell.name: (cell, bare)}) is None


def test_cosines_inside_groups_and_between_them() -> None:
    kept = [{"round": 5, "within": [0.996, 0.999, 1.0], "between": [0.87, 0.92, 0.96]}]
    cell = Cell("p/t", "r", "a", "wecfl", {"rounds": 50})
    known = {cell.name: (cell, Result(cell.settings, {0: {"complete": True, "cosines": kept}}))}
    scene = scene_of(Panel("C", "cosines", tuple(known)), known)
    assert scene is not None and scene.labels == ("round", "cosine of local models")
    assert scene.rows == [
        ["clients and the mean of their group", 5, 0.996, 0.999, 1.0],
        ["means of groups", 5, 0.87, 0.92, 0.96],
    ]


@pytest.mark.parametrize("curve", RUNS)
def test_nothing_run_is_no_picture(curve: str) -> None:
    known = cells({"alpha-1-beta-2": (), "alpha-2-beta-2": ()})
    table = Table("p/t", "A table", panels=(Panel("None", curve, tuple(known)),))
    assert drawings(table, known) == {}
    [part] = page_of(Paper("p", "A paper", "Nobody 2000", (table,)), known).sections[:1]
    assert [one.reason for one in part.missing] == ["none of its cells was run"]


def test_figures_of_the_papers_have_their_panels() -> None:
    drawn = {t.name: [p.curve for p in t.panels] for paper in PAPERS.values() for t in paper.tables}
    assert drawn["fedgsp/fig4"] == ["tiles"] * 3 and drawn["fedgsp/fig5"] == ["over"] * 3
    assert drawn["fedgsp/fig6"] == ["costs"] and drawn["cfl/fig3"][:2] == ["accuracy", "similarities"]
    assert [*drawn["cfl/fig1"], *drawn["cfl/fig2"]] == list(TOYS)
    assert not is_scene(Panel("accuracy", "accuracy"))
