"""The generated pages are those that the committed results give, and results are what recipes ask for."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from shoal.recipes import PAPERS
from shoal.recipes.judging.items import ITEMS, Item, covered, status_of, variant_of
from shoal.recipes.judging.relations import Known, Relation, Verdict, known_cells
from shoal.recipes.judging.statements import STATEMENTS
from shoal.recipes.pages.documents import COUNT, MAIN_COUNT, documents, front_page, index, items, write_documents
from shoal.recipes.pages.extra_pages import EXTRA, read_extras
from shoal.recipes.records import Cell
from shoal.recipes.store import Result, Store, differs

ROOT = Path(__file__).parents[3]
RESULTS = Store(ROOT / "results")
CELLS = [cell for paper in PAPERS.values() for table in paper.tables for cell in table.cells]
FILES = sorted(path for path in RESULTS.root.rglob("*.json") if path.parent.name != EXTRA)


def test_pages_are_made_from_the_results() -> None:
    texts = documents(PAPERS, known_cells(CELLS, RESULTS), read_extras(RESULTS.root))
    stale = [name for name, text in texts.items() if (ROOT / "docs" / name).read_text(encoding="utf-8") != text]
    assert stale == [], "run: shoal reproduce --write-docs"
    there = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs/results/reproduce").rglob("*.*")}
    assert there <= set(texts), "a page that nothing makes"


def test_a_picture_that_nothing_draws_goes(tmp_path: Path) -> None:
    old, new = (f"results/reproduce/figures/{name}.svg" for name in ("old", "new"))
    write_documents({old: "<svg/>"}, tmp_path)
    write_documents({new: "<svg/>"}, tmp_path)
    assert (tmp_path / new).is_file() and not (tmp_path / old).exists()


def test_the_front_page_gives_the_counts() -> None:
    """Both counts apart, what was judged by reading and what by runs, as the generated page has them."""
    page, front = ((ROOT / name).read_text() for name in ("docs/results/reproduce/README.md", "README.md"))
    assert [len(count.findall(front)) for count in (COUNT, MAIN_COUNT)] == [1, 1]
    assert front_page(front, page) == front, "run: shoal reproduce --write-docs"
    _, row = re.findall(r"^\| all \|(.*)\|$", page, re.M)  # the first one has distances
    assert sum(int(word) for word in row.split("|")) == len(ITEMS)


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(RESULTS.root)) for path in FILES])
def test_a_result_belongs_to_a_cell_and_is_small(path: Path) -> None:
    names = {cell.name: cell for cell in CELLS}
    name = json.loads(path.read_text())["cell"]
    cell = names[name]
    assert path == RESULTS.path(cell)
    room = 16_000 if "maps" in cell.keeps else 0  # five maps of 200 clients
    assert path.stat().st_size < 2_000 * max(len(json.loads(path.read_text())["runs"]), 5) + room
    result = RESULTS.load(cell)
    assert result is not None and differs(cell, result) is None
    assert {run["rounds"] for run in result.runs.values() if run["complete"]} <= {cell.rounds}


def test_results_were_made_with_code_that_can_be_checked_out() -> None:
    """No run is of a tree with changes, and where the history is there, all commits are in it."""
    made = [json.loads(path.read_text()) for path in FILES]
    commits = {str(run["commit"]) for document in made for run in (*document["runs"], document["made"])}
    assert [commit for commit in commits if not re.fullmatch("[0-9a-f]{12}", commit)] == []
    if git("rev-parse", "--is-shallow-repository") == (0, "false"):
        assert [c for c in sorted(commits) if git("merge-base", "--is-ancestor", c, "HEAD")[0] != 0] == []


def git(*words: str) -> tuple[int, str]:
    try:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return 1, ""
    return done.returncode, done.stdout.strip()


def test_items_point_to_something() -> None:
    departures = set(re.findall(r"^### (D\d+) ", (ROOT / "docs/departures.md").read_text(), re.M))
    known: Known = {cell.name: (cell, None) for cell in CELLS}
    names, said = list(known), {relation.name for relation in STATEMENTS}
    figures = {table.name: table for paper in PAPERS.values() for table in paper.tables if table.panels}
    from fnmatch import filter as matching

    for item in ITEMS:
        if item.kind in ("cells", "curves"):
            assert covered(item, known) or figures[item.evidence].elsewhere, item  # toys have no cells
            assert all(word in figures or matching(names, word) for word in item.evidence.split()), item
        elif item.kind == "claim":
            assert all(matching(said, word) for word in item.evidence.split()), item
        elif item.kind != "absent":
            assert item.evidence in departures or (ROOT / item.evidence).is_file(), item


def row_of(values: dict[str, float | None], printed: dict[str, float], seeds: int = 1) -> Known:
    """Cells of a row with one run each; `r2/a` is cell a in the variant row r2, `a-first` the variant column of a."""
    known = {}
    for name, value in values.items():
        row, column = name.split("/") if "/" in name else ("r", name)
        base = column.split("-")[0]
        of = f"p/t/r/{base}" if (row, column) != ("r", base) else ""
        cell = Cell("p/t", row, column, "fedavg", {"rounds": 1}, {"best_accuracy": printed[base]}, seeds, of=of)
        runs = {} if value is None else {0: {"complete": True, "figures": {"best_accuracy": value}}}
        known[cell.name] = (cell, Result(cell.settings, runs) if runs else None)
    return known


ROW, PRINTED = Item("p", "a row", "cells", "p/t/r/*"), {"a": 80.0, "b": 85.0, "c": 90.0}


def test_a_row_is_reproduced_if_it_is_near_and_in_order() -> None:
    assert status_of(ROW, row_of({"a": 0.81, "b": 0.84, "c": 0.92}, PRINTED), {}) == "reproduced"
    assert status_of(ROW, row_of({"a": 0.74, "b": 0.79, "c": 0.84}, PRINTED), {}) == "departs"  # 6 points away
    assert status_of(ROW, row_of({"a": 0.83, "b": 0.825, "c": 0.875}, PRINTED), {}) == "departs"  # another order
    assert status_of(ROW, row_of({"a": 0.81, "b": 0.84, "c": None}, PRINTED), {}) == "begun"  # not all run
    assert status_of(ROW, row_of({"a": 0.71, "b": None, "c": None}, PRINTED), {}) == "begun"  # far off, but not all
    assert status_of(ROW, row_of({"a": None, "b": None, "c": None}, PRINTED), {}) == "not run"


def test_a_row_needs_all_seeds_and_all_parts() -> None:
    good: dict[str, float | None] = {"a": 0.81, "b": 0.84, "c": 0.92}
    assert status_of(ROW, row_of(good, PRINTED, seeds=3), {}) == "begun"
    assert status_of(replace(ROW, remark="lacks the network"), row_of(good, PRINTED), {}) == "partly"
    assert status_of(replace(ROW, kind="curves"), row_of(good, PRINTED), {}) == "drawn"
    assert status_of(replace(ROW, kind="curves"), row_of(good, PRINTED, seeds=3), {}) == "begun"


def test_no_cell_of_a_row_may_be_far_off() -> None:
    """Both are 2 points off on average; in the second one cell has all of it, 6 points."""
    assert status_of(ROW, row_of({"a": 0.82, "b": 0.87, "c": 0.92}, PRINTED), {}) == "reproduced"
    assert status_of(ROW, row_of({"a": 0.80, "b": 0.85, "c": 0.96}, PRINTED), {}) == "departs"


def test_every_quantity_that_the_paper_prints_is_judged() -> None:
    """Rounds may be a quarter off: 12 for 10 and 44 for 40 are, 20 for 10 is not; never is all 100 rounds."""
    for ten, forty, status in ((12, 44, "reproduced"), (20, 40, "departs"), (10, None, "departs")):
        known: dict[str, tuple[Cell, Result | None]] = {}
        for column, printed, rounds in (("a", 10.0, ten), ("b", 40.0, forty)):
            paper = {"best_accuracy": 80.0, "rounds_to_80": printed}
            cell = Cell("p/t", "r", column, "fedavg", {"rounds": 100}, paper, 1)
            reached = {} if rounds is None else {"rounds_to_80": rounds}
            runs = {0: {"complete": True, "rounds": 100, "figures": {"best_accuracy": 0.8, **reached}}}
            known[cell.name] = (cell, Result(cell.settings, runs))
        assert status_of(ROW, known, {}) == status


def test_a_variant_counts_for_the_whole_row() -> None:
    """Row r2 has a nearer c and a farther a: cell by cell it would do, as a whole neither row does."""
    values: dict[str, float | None] = {"a": 0.8, "b": 0.85, "c": 1.0, "c-first": None}
    assert status_of(ROW, row_of(values, PRINTED), {}) == "departs"
    assert status_of(ROW, row_of({**values, "c-first": 0.9}, PRINTED), {}) == "reproduced"
    mixed = {"a": 0.8, "b": 0.85, "c": 1.0, "r2/a": 0.7, "r2/b": 0.85, "r2/c": 0.9}
    assert status_of(ROW, row_of({**mixed}, PRINTED), {}) == "departs"
    assert status_of(ROW, row_of({**mixed, "r2/a": 0.8}, PRINTED), {}) == "reproduced"


def test_the_variant_that_counts_is_named() -> None:
    """Row r2 is `2` beyond r; where the paper's own cells do, no variant is named."""
    far: dict[str, float | None] = {"a": 0.8, "b": 0.85, "c": 1.0}
    first, second = (
        row_of({**far, "c-first": 0.9}, PRINTED),
        row_of({**far, "r2/a": 0.8, "r2/b": 0.85, "r2/c": 0.9}, PRINTED),
    )
    assert variant_of(ROW, first) == ("first",) and variant_of(ROW, second) == ("2",)
    assert variant_of(ROW, row_of({**far, "c": 0.9, "c-first": 0.9}, PRINTED)) == ()
    both = {**far, "a": 0.6, "a-counts": 0.8, "c-first": 0.9}  # a needs one variant, c another
    assert variant_of(ROW, row_of(both, PRINTED)) == ("counts", "first")
    assert variant_of(ROW, row_of(far, PRINTED)) is None
    page = items({ROW: "reproduced", replace(ROW, what="another"): "departs"}, first)
    assert "| a row | reproduced with `first` |" in page and "| another | departs |" in page


def test_a_claim_needs_all_of_its_statements_with_all_seeds() -> None:
    claim = Item("p", "a claim", "claim", "p/a* p/b")
    one, other = (Relation(name, "", "", ()) for name in ("p/a1", "p/b"))
    holds = {one.name: Verdict(one, "holds", 1.0, n=3, wanted=3)}
    for verdict, status in (
        (Verdict(other, "holds", 1.0, n=3, wanted=3), "reproduced"),
        (Verdict(other, "holds", 1.0, n=2, wanted=3), "begun"),
        (Verdict(other, "not run"), "begun"),
        (Verdict(other, "does not hold", 1.0, n=2, wanted=3), "begun"),
        (Verdict(other, "does not hold", 1.0, n=3, wanted=3), "departs"),
        (Verdict(other, "undecided", 1.0, n=3, wanted=3), "undecided"),
        (Verdict(other, "undecided", 1.0, n=2, wanted=3), "begun"),
    ):
        assert status_of(claim, {}, {**holds, other.name: verdict}) == status
    assert status_of(claim, {}, {v.name: Verdict(v, "not run") for v in (one, other)}) == "not run"


def test_what_other_settings_gave_is_not_counted_as_run() -> None:
    cell, run = CELLS[0], {0: {"complete": True, "rounds": 300, "figures": {}, "curves": {}}}
    verdicts = {relation.name: Verdict(relation, "not run") for relation in STATEMENTS}
    can = sum(not one.why_not for one in CELLS)
    for settings, count in ((cell.settings, 1), ({**cell.settings, "lr": 9.0}, 0)):
        known = {**{one.name: (one, None) for one in CELLS}, cell.name: (cell, Result(settings, run))}
        assert f"{count} of {can} cells that can be run here" in index(PAPERS, known, verdicts, {})
