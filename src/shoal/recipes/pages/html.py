"""The pages of `shoal reproduce --html`: a paper's figures drawn from our curves, its tables and its statements."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shoal.recipes.figures.html_scenes import scene_figure
from shoal.recipes.figures.mean_curves import SHOWN, curves_of
from shoal.recipes.figures.overview import DISTANCES, overview
from shoal.recipes.figures.points import TRAFFIC, groups_of, maps_of, spots
from shoal.recipes.figures.ran import left_out
from shoal.recipes.figures.scene_of import is_scene, scene_of
from shoal.recipes.judging.main_claims import MAIN
from shoal.recipes.judging.relations import Known, Verdict, judge
from shoal.recipes.judging.statements import STATEMENTS
from shoal.recipes.numbers import figure_of, progress_of, state_of
from shoal.recipes.pages.distances import groups_of_paper, rows_of_paper
from shoal.recipes.pages.paper_pages import (
    HOW,
    MAIN_TITLE,
    OF_WHAT,
    VERDICTS,
    count_sentence,
    departure_sentence,
    opening,
    panel_words,
    remarks_under,
    verdict_rows,
)
from shoal.recipes.pages.reasons import OF_ALL, OF_THESE, REASONS, reason_rows, supposed_note
from shoal.recipes.pages.table_grids import grids_of
from shoal.recipes.pages.words import plain, sentences, tables
from shoal.recipes.records import Panel, Paper, Table
from shoal.report import write
from shoal.report.figure import Figure, NoFigure, axis, line, rounds_axis, text
from shoal.report.headline import Sheet
from shoal.report.page import Page, Section, section
from shoal.report.theme import colour, dash, symbol

__all__ = ["page_of", "write_pages"]

NOT_RUN = "none of its cells was run"
CURVES = "Means over seeds, from the thinned curves in results/; straight between the rounds that are kept."
MAPPED = "Of seed 0. Neighbours stay neighbours; distances between groups mean little."
HEADS = ("row", "column", "quantity", "paper", "ours", "difference", "state", "departures", "note")
BESIDE = "paper / ours"


def write_pages(papers: Sequence[Paper], known: Known, folder: Path) -> list[Path]:
    """A file of HTML for each paper.

    Args:
        papers: Which.
        known: All cells with what is stored of them.
        folder: Where to.

    Returns:
        The files.
    """
    return [write(page_of(paper, known), folder / f"{paper.name}.html", "--html DIR") for paper in papers]


def page_of(paper: Paper, known: Known) -> Page:
    """The page of a paper.

    Args:
        paper: The paper.
        known: All cells with what is stored of them.

    Returns:
        What `shoal.report` renders.
    """
    verdicts = [judge(r, known) for r in STATEMENTS if r.name.startswith(f"{paper.name}/")]
    main = [v for v in verdicts if v.relation.name in MAIN]
    sections = [
        *([Section(MAIN_TITLE, sheets=judged(main, verdicts, True), words=[OF_WHAT])] if main else []),
        *overview_section(paper, known),
        *(table_section(table, known) for table in paper.tables),
        Section("Statements", sheets=judged(verdicts, (), False, plain(HOW))),
    ]
    return Page(paper.title, paper.reference, count_sentence(verdicts, "the paper"), (), sections)


def judged(verdicts: Sequence[Verdict], others: Sequence[Verdict], undecided: bool, note: str = "") -> list[Sheet]:
    """Statements with verdicts, and what is behind those that do not hold, or are undecided; `others` may tell."""
    rows = [[*map(plain, row)] for row in reason_rows(verdicts, others, undecided)]
    behind = [Sheet(OF_ALL if undecided else OF_THESE, REASONS, rows, plain(supposed_note(rows)))] if rows else []
    return [Sheet("Statements and verdicts", VERDICTS, verdict_rows(verdicts), note), *behind]


def overview_section(paper: Paper, known: Known) -> list[Section]:
    """Every accuracy that the paper prints, beside ours; nothing where nothing was run."""
    groups = groups_of_paper(paper, known)
    scene = overview(groups)
    if scene is None:
        return []
    figure = scene_figure(f"{paper.name}-overview", "Every accuracy that the paper prints", scene)
    sheet = Sheet("Distances, in points", ("", *DISTANCES), rows_of_paper(paper, known))
    return [Section("How near it comes", [figure], sheets=[sheet])]


def table_section(table: Table, known: Known) -> Section:
    """A table of the paper: its figures, its cells as the paper has them and one by one, what the docs say of it."""
    drawn = section("", [one for k, panel in enumerate(table.panels) for one in panel_figures(table, k, panel, known)])
    counted = [f"{words}." for words in panel_words(table, known)]
    under = [*remarks_under(table, known), *counted, *departure_sentence(table)]
    sheets = [*sheets_of(table, known), *tables(under)]
    if rows := sheet_rows(table, known):
        sheets.append(Sheet("Every cell, its departures and notes", HEADS, rows, folded=True))
    name = table.name.split("/")[1]
    words, notes = sentences(opening(table)), sentences(under)
    title = f"{name}: {table.title}"
    return Section(title, drawn.figures, drawn.missing, sheets, label=name, words=words, notes=notes)


def sheets_of(table: Table, known: Known) -> list[Sheet]:
    """The grids of a table."""
    return [
        Sheet(
            plain(f"{one.title}: {BESIDE}" if one.title else BESIDE),
            ("", *map(plain, one.heads)),
            [[plain(name), *texts] for name, texts in one.rows.items()],
        )
        for one in grids_of(table, known)
    ]


def sheet_rows(table: Table, known: Known) -> list[list[str]]:
    """A line for each quantity of each cell."""
    rows = []
    for cell in table.cells:
        result = known[cell.name][1]
        state = progress_of(cell, result) or state_of(cell, result)
        for number, quantity in enumerate(table.quantities):
            figure = figure_of(cell, quantity, result)
            shown = [figure.published, figure.ours, figure.difference]
            words = ["", ""] if number else [", ".join(cell.departures), cell.note]
            if not number or not figure.is_empty:
                rows.append([cell.row, cell.column, quantity.head, *shown, state, *words])
    return rows


def panel_figures(table: Table, number: int, panel: Panel, known: Known) -> list[Figure | NoFigure]:
    """A panel: curves, a scene, points of traffic, or a map for each round that has one."""
    key = f"{table.name.replace('/', '-')}-{number}"
    if is_scene(panel):
        scene = scene_of(panel, known)
        return [NoFigure(key, panel.title, NOT_RUN) if scene is None else scene_figure(key, panel.title, scene)]
    if panel.curve == "traffic":
        return [traffic_figure(key, panel, known)]
    if panel.curve == "maps":
        return map_figures(key, panel, known)
    return [panel_figure(key, panel, known)]


def traffic_figure(key: str, panel: Panel, known: Known) -> Figure | NoFigure:
    """Best accuracy over models sent."""
    found = spots(panel, known)
    if not found:
        return NoFigure(key, panel.title, NOT_RUN)
    traces = [
        {
            **line([s.x], [round(s.y, 3)], text(s.name), colour(s.number)),
            "marker": {"color": colour(s.number), "size": 10},
        }
        for s in found
    ]
    rows: list[list[str | float | int | None]] = [[s.name, round(s.x), round(s.y, 3)] for s in found]
    caption = f"Means over seeds, of the whole run.{left_out(panel.cells, known)}"
    layout = {"xaxis": axis(TRAFFIC[0], rangemode="tozero"), "yaxis": axis(TRAFFIC[1])}
    return Figure(key, panel.title, caption, ("cell", *TRAFFIC), rows, traces, layout)


def map_figures(key: str, panel: Panel, known: Known) -> list[Figure | NoFigure]:
    """Where clients lie, round by round, coloured by group."""
    found: list[Figure | NoFigure] = []
    for one in maps_of(panel, known):
        groups = groups_of(one)
        traces: list[dict[str, Any]] = []
        for k, places in groups.items():
            x, y = zip(*places, strict=True)
            marker = {"color": colour(k), "symbol": symbol(k), "size": 7}
            name = f"group {k}" if k >= 0 else "none"
            traces.append({"type": "scatter", "mode": "markers", "x": x, "y": y, "name": name, "marker": marker})
        rows: list[list[str | float | int | None]] = [[k, x, y] for k, places in groups.items() for x, y in places]
        layout = {"xaxis": axis("t-SNE, first axis (no unit)"), "yaxis": axis("t-SNE, second axis (no unit)")}
        title = f"{panel.title}, round {one['round']}"
        heads = ("group", "x", "y")
        found.append(Figure(f"{key}-round-{one['round']}", title, MAPPED, heads, rows, traces, layout))
    return found or [NoFigure(key, panel.title, "its cell was not run, or before maps were kept")]


def panel_figure(key: str, panel: Panel, known: Known) -> Figure | NoFigure:
    """The curves of a panel, means over seeds."""
    traces: list[dict[str, Any]] = []
    rows: list[list[str | float | int | None]] = []
    for k, label, points in curves_of(panel, known):
        x, y = [t for t, _ in points], [round(v, 4) for _, v in points]
        traces.append(line(x, y, text(label), colour(k), dash=dash(k)))
        rows += [[label, a, b] for a, b in zip(x, y, strict=True)]
    if not traces:
        return NoFigure(key, panel.title, NOT_RUN)
    caption, unit = CURVES + left_out(panel.cells, known), SHOWN[panel.curve][0]
    layout = {"xaxis": rounds_axis(), "yaxis": axis(unit)}
    return Figure(key, panel.title, caption, ("curve", "round", unit), rows, traces, layout)
