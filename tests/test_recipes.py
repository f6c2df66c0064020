"""Every recipe of every paper: names are unique, settings are possible, departures are in the list."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shoal.experiment.sweep import Point
from shoal.recipes import PAPERS
from shoal.recipes.records import Cell, Table
from shoal.setup.prepare import build_plan

TABLES = [table for paper in PAPERS.values() for table in paper.tables]
CELLS = [cell for table in TABLES for cell in table.cells]
DEPARTURES = Path(__file__).parents[1] / "docs" / "departures.md"


def test_names_tell_cells_apart() -> None:
    names = [cell.name for cell in CELLS]
    assert len(set(names)) == len(names) > 500
    assert all(re.fullmatch(r"[a-z]+(/[\w.+-]+){3}", name) for name in names)
    assert all(cell.table == table.name for table in TABLES for cell in table.cells)


@pytest.mark.parametrize("table", TABLES, ids=[table.name for table in TABLES])
def test_settings_are_possible(table: Table) -> None:
    for cell in table.cells:
        asked = Point(cell.name, cell.algorithm, {**cell.keys, "seed": 0}).resolved
        assert asked.settings.rounds == cell.rounds > 0


@pytest.mark.parametrize("table", TABLES, ids=[table.name for table in TABLES])
def test_figures_of_the_paper_are_of_quantities_that_are_shown(table: Table) -> None:
    assert [c.name for c in table.cells if not set(c.paper) <= {q.name for q in table.quantities}] == []


def test_departures_are_in_the_list() -> None:
    known = set(re.findall(r"^### (D\d+) ", DEPARTURES.read_text(), re.M))
    assert known
    assert [(c.name, d) for c in CELLS for d in c.departures if d not in known] == []


def test_a_plan_can_be_built_where_no_data_is_needed() -> None:
    cells = [cell for cell in CELLS if str(cell.keys["data"]).startswith("synthetic")]
    assert cells
    for cell in {cell.column: cell for cell in cells}.values():
        plan = build_plan(Point(cell.name, cell.algorithm, {**cell.keys, "seed": 0}).resolved).plan
        assert plan.layout.size == 610 and len(plan.federation.ids) == 100


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("data", sorted({str(cell.keys["data"]) for cell in CELLS if not cell.why_not}))
def test_a_plan_can_be_built_of_every_setting(data: str) -> None:
    seen: set[str] = set()
    for cell in CELLS:
        if cell.keys["data"] != data or cell.why_not or (key := plan_key(cell)) in seen:
            continue
        seen.add(key)
        build_plan(Point(cell.name, cell.algorithm, {**cell.keys, "seed": 0}).resolved)


def plan_key(cell: Cell) -> str:
    return f"{cell.keys.get('partition')} {cell.algorithm} {cell.keys.get('model')} {cell.keys.get('drift')}"
