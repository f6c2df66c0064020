"""Pages of HTML say of a table what the pages of the docs say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from shoal.recipes import PAPERS
from shoal.recipes.judging.choices import distances, remarks
from shoal.recipes.judging.relations import known_cells
from shoal.recipes.pages.html import page_of
from shoal.recipes.pages.paper_pages import MAIN_TITLE, paper_page, table_part
from shoal.recipes.pages.words import plain
from shoal.recipes.records import Cell, Panel, Paper, Table
from shoal.recipes.store import Result, Store
from shoal.report.page import Page, Section, render

CELLS = [cell for paper in PAPERS.values() for table in paper.tables for cell in table.cells]
KNOWN = known_cells(CELLS, Store(Path(__file__).parents[3] / "results"))
PAGES = {name: page_of(paper, KNOWN) for name, paper in PAPERS.items()}


def said(part: Section) -> str:
    """All words of a section that are in no figure."""
    sheets = [word for sheet in part.sheets for row in (sheet.columns, *sheet.rows) for word in (sheet.title, *row)]
    return "\n".join([*part.words, *part.notes, *sheets])


def sections() -> Iterator[tuple[Table, Section]]:
    for name, paper in PAPERS.items():
        titles = [part.title for part in PAGES[name].sections]
        before = [MAIN_TITLE, *(["How near it comes"] if name != "cfl" else [])]  # CFL's paper prints no accuracy
        assert titles[: len(before)] == before and titles[-1] == "Statements"
        yield from zip(paper.tables, PAGES[name].sections[len(before) : -1], strict=True)


@pytest.mark.parametrize(("table", "part"), [pytest.param(*pair, id=pair[0].name) for pair in sections()])
def test_all_that_the_docs_say_of_a_table_is_on_its_page(table: Table, part: Section) -> None:
    """Line by line of the Markdown; pictures and how to draw them are figures there."""
    words = said(part)
    for line in "\n".join(table_part(table, KNOWN)[1:]).splitlines():
        if line.startswith("| ") and "---" not in line:
            assert all(cell in words for cell in plain(line).removeprefix("| ").removesuffix(" |").split(" | ")[1:])
        elif line and not line.startswith(("|", "![", "`shoal reproduce")):
            assert plain(line).removeprefix("* ").removesuffix(":") in words, line


def test_causes_are_told_without_marks_of_markdown() -> None:
    behind = [
        sheet for page in PAGES.values() for part in page.sections for sheet in part.sheets if "Behind" in sheet.title
    ]
    assert len(behind) > 5 and not any("`" in word for sheet in behind for row in sheet.rows for word in row)


def test_a_cell_with_a_run_beyond_its_seeds_or_of_other_settings_is_not_called_unfinished() -> None:
    """One seed is asked for and done; another run stopped. And a run that stopped with another learning rate."""
    cells = [Cell("p/t", "r", name, "fedavg", {"rounds": 9, "lr": 0.1}, seeds=1) for name in "ab"]
    done, half = ({"complete": c, "rounds": n, "figures": {}, "curves": {}} for c, n in ((True, 9), (False, 4)))
    results = [Result(cells[0].settings, {0: done, 1: half}), Result({**cells[1].settings, "lr": 0.2}, {0: half})]
    known = {cell.name: (cell, result) for cell, result in zip(cells, results, strict=True)}
    text = "\n".join(table_part(Table("p/t", "A table", tuple(cells)), known))
    assert (
        "Unfinished" not in text and "Made with other settings than the recipe has now, and not shown: `r/b`." in text
    )


def test_the_choice_of_a_reading_is_told_with_its_distances() -> None:
    [(table, part)] = [(table, part) for table, part in sections() if table.name == "wecfl/d28"]
    [sheet] = (sheet for sheet in part.sheets if sheet.title.startswith("Distance from the paper's accuracies"))
    assert sheet.rows == [[d.reading, d.shown] for d in distances(KNOWN)] and not sheet.folded
    assert plain(remarks(table, KNOWN)[-1]) in part.notes


def test_words_and_notes_are_rendered_once_and_escaped() -> None:
    cell = Cell("p/t", "r", "a", "fedavg", {"rounds": 9}, why_not="its data are <gone>")
    begun = Cell("p/t", "r", "b", "fedavg", {"rounds": 9})
    run = {"complete": False, "rounds": 4, "figures": {}, "curves": {"round": [4], "accuracy": [0.5]}}
    known = {cell.name: (cell, None), begun.name: (begun, Result(begun.settings, {0: run}))}
    about, panel = "What it is about.", Panel("A", "accuracy", tuple(known))
    paper = Paper(
        "p", "A paper", "Nobody 2000", (Table("p/t", "A table", (cell, begun), panels=(panel,), about=about),)
    )
    text = render(Page("A paper", "", "", (), page_of(paper, known).sections))
    assert text.count(about) == 1 and "Cannot be run here: r; its data are &lt;gone&gt;." in text
    assert "Unfinished: r/b: 0 of 3 seeds; seed 0 at round 4 of 9." in text
    counted = "0 of the 2 cells that it shows were run, 1 unfinished."
    assert f'<p class="how">{counted}</p>' in text and counted in paper_page(paper, (), known)
