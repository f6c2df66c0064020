"""The generated pages are those that the committed results give, and results are what recipes ask for."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from shoal.recipes import PAPERS
from shoal.recipes.documents import documents
from shoal.recipes.items import ITEMS, Item, status_of
from shoal.recipes.records import Cell
from shoal.recipes.relations import Known, known_cells
from shoal.recipes.statements import STATEMENTS
from shoal.recipes.store import Result, Store, differs

ROOT = Path(__file__).parents[2]
RESULTS = Store(ROOT / "results")
CELLS = [cell for paper in PAPERS.values() for table in paper.tables for cell in table.cells]
FILES = sorted(RESULTS.root.rglob("*.json"))


def test_pages_are_made_from_the_results() -> None:
    texts = documents(PAPERS, known_cells(CELLS, RESULTS))
    stale = [name for name, text in texts.items() if (ROOT / "docs" / name).read_text(encoding="utf-8") != text]
    assert stale == [], "run: shoal reproduce --write-docs"
    there = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs/results/reproduce").rglob("*.*")}
    assert there <= set(texts), "a page that nothing makes"


def test_the_front_page_gives_the_count() -> None:
    (row,) = re.findall(r"^\| all \|(.*)\|$", (ROOT / "docs/results/reproduce/README.md").read_text(), re.M)
    all_, same, departs, absent = (int(word) for word in row.split("|"))
    words = f"Of {all_} items of the papers {same} are reproduced, {departs} depart and {absent} were not run"
    assert words in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(RESULTS.root)) for path in FILES])
def test_a_result_belongs_to_a_cell_and_is_small(path: Path) -> None:
    names = {cell.name: cell for cell in CELLS}
    name = json.loads(path.read_text())["cell"]
    cell = names[name]
    assert path == RESULTS.path(cell)
    assert path.stat().st_size < 1_300 * max(len(json.loads(path.read_text())["runs"]), 5)
    result = RESULTS.load(cell)
    assert result is not None and differs(cell, result) is None


def test_items_point_to_something() -> None:
    departures = set(re.findall(r"^### (D\d+) ", (ROOT / "docs/departures.md").read_text(), re.M))
    names, said = {cell.name for cell in CELLS}, {relation.name for relation in STATEMENTS}
    from fnmatch import filter as matching

    for item in ITEMS:
        if item.kind in ("cells", "curves"):
            assert matching(names, item.evidence), item
        elif item.kind == "claim":
            assert matching(said, item.evidence), item
        elif item.kind != "absent":
            assert item.evidence in departures or (ROOT / item.evidence).is_file(), item


def row_of(values: dict[str, float | None], printed: dict[str, float]) -> Known:
    known = {}
    for name, paper in printed.items():
        of = f"p/t/r/{name.removesuffix('-first')}" if name.endswith("-first") else ""
        cell = Cell("p/t", "r", name, "fedavg", {"rounds": 1}, {"best_accuracy": paper}, of=of)
        value = values[name]
        runs = {} if value is None else {0: {"complete": True, "figures": {"best_accuracy": value}}}
        known[cell.name] = (cell, Result(cell.settings, runs) if runs else None)
    return known


def test_a_row_is_reproduced_if_it_is_near_and_in_order() -> None:
    item, printed = Item("p", "a row", "cells", "p/t/r/*"), {"a": 80.0, "b": 85.0, "c": 90.0}
    assert status_of(item, row_of({"a": 0.81, "b": 0.84, "c": 0.92}, printed), {}) == "reproduced"
    assert status_of(item, row_of({"a": 0.74, "b": 0.79, "c": 0.84}, printed), {}) == "departs"  # 6 points away
    assert status_of(item, row_of({"a": 0.83, "b": 0.825, "c": 0.875}, printed), {}) == "departs"  # another order
    assert status_of(item, row_of({"a": 0.81, "b": 0.84, "c": None}, printed), {}) == "departs"  # not all run
    assert status_of(item, row_of({"a": 0.81, "b": None, "c": None}, printed), {}) == "not run"  # fewer than half
    assert status_of(item, row_of({"a": None, "b": None, "c": None}, printed), {}) == "not run"


def test_the_variant_of_the_authors_code_counts_where_it_is_nearer() -> None:
    item, printed = Item("p", "a row", "cells", "p/t/r/*"), {"a": 80.0, "b": 85.0, "c": 70.0, "c-first": 70.0}
    values: dict[str, float | None] = {"a": 0.8, "b": 0.85, "c": 0.9, "c-first": None}
    assert status_of(item, row_of(values, printed), {}) == "departs"
    assert status_of(item, row_of({**values, "c-first": 0.7}, printed), {}) == "reproduced"


def test_what_was_tuned_is_what_validation_says() -> None:
    """Once all candidates of a method were tried, Table 1 has the best of them."""
    from shoal.recipes.fedgsp import CANDIDATES, TUNED

    known = known_cells(CELLS, RESULTS)
    for method, (key, values) in CANDIDATES.items():
        found = {value: known[f"fedgsp/tuning/{method}/{key}-{value}"][1] for value in values}
        scores = {value: r.values("best_val_accuracy").get(0) for value, r in found.items() if r is not None}
        if len(scores) == len(values) and all(score is not None for score in scores.values()):
            assert TUNED[method] == max(scores, key=lambda value: scores[value] or 0.0), (method, scores)
