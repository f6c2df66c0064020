"""What the page on the papers' code says follows from cells, printed tables and draws."""

from __future__ import annotations

import json
from pathlib import Path

from shoal.recipes import PAPERS
from shoal.recipes.judging.relations import Known
from shoal.recipes.pages.as_in_code import code_rows, in_code, lines
from shoal.recipes.pages.duan_code import groups_apart
from shoal.recipes.pages.extra_pages import read_extras
from shoal.recipes.pages.first_client import METHODS, ROWS, TABLES, distances, says
from shoal.recipes.pages.papers_code import drawn_sizes
from shoal.recipes.pages.slips import slips
from shoal.recipes.records import Cell
from shoal.recipes.store import Result

RESULTS = Path(__file__).parents[3] / "results"
CELLS = {cell.name: cell for paper in PAPERS.values() for table in paper.tables for cell in table.cells}


def test_how_strong_the_case_is_follows_from_the_counts() -> None:
    near, far = (6.0, 1.0), (1.0, 6.0)  # distances of the mean of all and of the first client
    assert says("A", [near] * 8 + [far] * 2).endswith(
        "in 8 of 10 rows; 2.0 points away on average, the mean of all 5.0. The case is strong."
    )
    assert "The case is not strong" in says("A", [near] * 7 + [far] * 3)
    assert "The figures speak against it." in says("A", [near] + [far] * 4)
    assert "Too few rows" in says("A", [near] * 4) and says("A", []) == "* A: not run."
    assert "The case is not strong" in says("A", [(1.1, 1.0)] * 8 + [(1.0, 50.0)] * 2)  # more rows, but farther away


def test_rows_of_all_drifts_count_where_both_were_run() -> None:
    """The paper has 80: the mean of all 86, the first client 81; without drift the second was not run."""
    known: dict[str, tuple[Cell, Result | None]] = {}
    for name in (
        f"{table}/{row}/{method}{end}"
        for table in TABLES
        for row in ROWS
        for method in METHODS
        for end in ("", "-first")
    ):
        paper, table, row, column = name.split("/")
        cell = Cell(f"{paper}/{table}", row, column, "ifca", {"rounds": 1}, {"best_accuracy": 80.0}, 1)
        value = 0.81 if column.endswith("-first") else 0.86
        ran = row == "synthetic" and not (table == "table3" and column.endswith("-first"))
        runs = {0: {"complete": True, "figures": {"best_accuracy": value}}}
        known[name] = (cell, Result(cell.settings, runs) if ran else None)
    found = distances("fesem", [f"{table}/{row}" for table in TABLES for row in ROWS], known)
    assert [tuple(round(d, 6) for d in pair) for pair in found] == [(6.0, 1.0)] * 3


def test_every_row_as_in_the_code_is_a_cell_and_its_columns_are_other_ones() -> None:
    known: Known = {c.name: (c, None) for paper in PAPERS.values() for table in paper.tables for c in table.cells}
    found = [*lines(known)]
    assert len({one.where for one in found}) == 16 and len(found) == 4 * 8 + 12 * 6 - 2  # of two slips
    rows = {other for *_, other in code_rows()}
    assert {"mnist-mclr-early-end", "femnist-mclr-shared-shrinking", "femnist-mclr-shared"} <= rows
    assert in_code("flexcfl-eta_g", "flexcfl/table4-swap-part") == "flexcfl-eta_g-counts"


def test_slips_are_computed_from_the_printed_tables() -> None:
    """RAC: (7.2 + 3.6 + 17.0 + 18.4 + 3.1) / 5 = 9.86. MNIST: (87.1 + 91.7 + 96.5 - 95.8 - 97.0 - 99.0) / 3 = -5.5."""
    text = " ".join(slips())
    assert "-9.86 on average" in text and "give -5.5 on MNIST" in text
    assert "90.2 under swap part and 89.1 under incremental" in text and "(+10.57)" in text
    assert "over the 10 models of Table 4, is -0.6." in text and "RCC has 92.9 and FedGroup 88.4" in text


def test_draws_of_sizes_are_shown() -> None:
    [table] = drawn_sizes(read_extras(RESULTS))
    found = json.loads((RESULTS / "extra/client-sizes.json").read_text())["federations"]
    assert found["mnist-sigma2"]["least"] > found["mnist-sigma2"]["published"]  # docs/partitions.md says so
    assert found["synthetic"]["at_most_published"] > 0.9  # D96 says so
    assert "| 75,349 |" in table and drawn_sizes({}) == []


def test_both_readings_of_the_discrepancy_stand_beside_each_other() -> None:
    """FedAvg 0.8 from its clients; FedGroup 0.5 from its clients, and its groups 4 and 5 from their mean."""
    known = {}
    for column, figures, more in (
        ("fedavg", {"discrepancy_mean": 0.8, "groups": 1}, [{}, {}]),
        ("fg-edc", {"discrepancy_mean": 0.5, "groups": 3}, [{"apart": 4.0}, {"apart": 5.0}]),
    ):
        cell = CELLS[f"fedgroup/table3/mnist-mclr/{column}"]
        runs = {seed: {"complete": True, "figures": figures, **one} for seed, one in enumerate(more)}
        known[cell.name] = (cell, Result(cell.settings, runs))
    text = groups_apart({**{name: (cell, None) for name, cell in CELLS.items()}, **known})[1]
    assert "| MNIST-MCLR, `fedavg` | 0.80 ± 0.00 (2) | - |" in text
    assert "| MNIST-MCLR, `fg-edc` | 0.50 ± 0.00 (2) | 4.50 ± 0.71 (2) |" in text
    assert text.count("MNIST") == 2  # what was not run is not shown
