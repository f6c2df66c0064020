"""Every accuracy of a paper beside ours: which cells count, how far they are apart, and how that is shown."""

from __future__ import annotations

from shoal.recipes.figures.drawn_scenes import drawn_scene
from shoal.recipes.figures.overview import DISTANCES, Pair, overview, pairs_of
from shoal.recipes.judging.relations import Known
from shoal.recipes.pages.distances import distance_drawings, distance_parts, rows_of_paper
from shoal.recipes.pages.html import page_of
from shoal.recipes.records import Cell, Paper, Table
from shoal.recipes.store import Result


def ran(cell: Cell, *values: float) -> tuple[Cell, Result]:
    runs = {seed: {"complete": True, "figures": {"best_accuracy": value}} for seed, value in enumerate(values)}
    return cell, Result(cell.settings, runs)


OWN = Cell("p/t", "r", "a", "fedavg", {"rounds": 9}, {"best_accuracy": 80.0, "rounds_to_85": 4.0})
WAITS = Cell("p/t", "r", "b", "fedavg", {"rounds": 9}, {"best_accuracy": 70.0})
CODE = Cell("p/t", "r-shared", "a", "fedavg", {"rounds": 9}, {"best_accuracy": 80.0}, of=OWN.name)
TRIAL = Cell("p/d28", "r", "a", "fedavg", {"rounds": 9}, {"best_accuracy": 80.0})
SILENT = Cell("p/t", "r", "c", "fedavg", {"rounds": 9}, {"best_accuracy": None})
PAPER = Paper(
    "p",
    "A paper",
    "Nobody 2000",
    (Table("p/t", "A table", (OWN, WAITS, CODE, SILENT)), Table("p/d28", "A trial", (TRIAL,), trial=True)),
)
KNOWN: Known = {
    OWN.name: ran(OWN, 0.81, 0.83),
    WAITS.name: (WAITS, None),
    CODE.name: ran(CODE, 0.79),
    TRIAL.name: ran(TRIAL, 0.1),
    SILENT.name: ran(SILENT, 0.5),
}


def test_what_a_paper_prints_and_was_run_counts_once() -> None:
    """Not what was not run, nor what the paper does not print, nor its figure a second time."""
    [pair] = pairs_of(PAPER, KNOWN)
    assert pair.cell == OWN.name and pair.paper == 80.0
    assert abs(pair.ours - 82.0) < 1e-9 and abs(pair.apart - 2.0) < 1e-9  # the mean of 81 and 83


def test_the_page_shows_the_picture_its_table_and_the_distances() -> None:
    first = page_of(PAPER, KNOWN).sections[0]
    [figure], [sheet] = first.figures, first.sheets
    line, points = figure.traces
    assert line["hoverinfo"] == "skip" and points["hoverinfo"] == "x+y+text" and points["text"] == [OWN.name]
    assert figure.rows == [[OWN.name, 80.0, 82.0]]
    assert sheet.columns == ("", *DISTANCES) and sheet.rows == [["by the text", "1", "2.0", "0", "1", "1"]]


def test_nothing_run_is_no_picture_and_no_section() -> None:
    nothing: Known = {name: (cell, None) for name, (cell, _) in KNOWN.items()}
    assert overview({"p": []}) is None and pairs_of(PAPER, nothing) == []
    assert [part.title for part in page_of(PAPER, nothing).sections] == ["t: A table", "d28: A trial", "Statements"]


def test_axes_are_alike_have_no_point_on_the_frame_and_end_at_a_hundred() -> None:
    scene = overview({"p": [Pair("a", 60.0, 40.0)], "q": [Pair("b", 99.5, 99.9)]})
    assert scene is not None and scene.equal and scene.spans == ((20.0, 100.0), (20.0, 100.0))
    assert drawn_scene("T", scene).count('stroke-linecap="round"') == 4  # two papers, in the picture and in its legend


def test_the_docs_count_papers_apart_and_together() -> None:
    """With FlexCFL's cells, of which nothing was run, beside the paper above."""
    from shoal.recipes import PAPERS

    nothing: Known = {cell.name: (cell, None) for table in PAPERS["flexcfl"].tables for cell in table.cells}
    known = {**nothing, **KNOWN}
    papers = {"p": PAPER, "flexcfl": PAPERS["flexcfl"]}
    table = distance_parts(papers, known)[1].splitlines()
    assert [line.split(" | ")[:2] for line in table[2:]] == [
        ["| p", "1"],
        ["| flexcfl", "0"],
        ["| all", "1"],
        ["| *flexcfl, as its code*", "0"],
        ["| *flexcfl, the same by its text*", "0"],
    ]
    assert [*distance_drawings(papers, known)] == ["every-accuracy.svg"]
    assert [row[0] for row in rows_of_paper(PAPERS["flexcfl"], known)] == [
        "by the text",
        "as the code",
        "the same by the text",
    ]
