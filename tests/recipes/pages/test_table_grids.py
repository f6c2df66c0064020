"""Cells of a table as grids."""

from __future__ import annotations

from shoal.recipes.judging.relations import Known
from shoal.recipes.pages.table_grids import Grid, grids_of
from shoal.recipes.records import BEST, Cell, Quantity, Table
from shoal.recipes.store import Result

ARI = Quantity("ari", "ARI", digits=2)
LOSS = Quantity("best_test_loss", "test loss, least", digits=3)
CELLS = tuple(
    Cell("p/t", row, column, "fedavg", {"rounds": 1}, {"best_accuracy": 80.0}, seeds=1)
    for row in ("small", "large")
    for column in ("fedavg", "fedgsp")
)
RUN = {"complete": True, "figures": {"best_accuracy": 0.75, "best_test_loss": 0.5}}
KNOWN: Known = {c.name: (c, Result(c.settings, {0: RUN}) if c.name == "p/t/small/fedgsp" else None) for c in CELLS}


def test_there_is_a_grid_for_each_quantity_that_has_figures() -> None:
    """The row of which nothing was run is left out, the column beside one that was run is not: the paper has it."""
    accuracy, loss = grids_of(Table("p/t", "A table", CELLS, (BEST, LOSS, ARI)), KNOWN)
    rows = {"`small`": ["80.0 / not run", "80.0 / 75.0 (1)"]}
    assert accuracy == Grid("Accuracy, best %", ("`fedavg`", "`fedgsp`"), rows)
    assert loss == Grid("Test loss, least", ("`fedgsp`",), {"`small`": ["- / 0.500 (1)"]})


def test_quantities_stand_side_by_side_where_a_table_says_so() -> None:
    """A grid for each row of which something was run, its columns down."""
    table = Table("p/t", "A table", CELLS, (BEST, LOSS, ARI), side_by_side=True)
    rows = {"`fedavg`": ["80.0 / not run", "- / not run"], "`fedgsp`": ["80.0 / 75.0 (1)", "- / 0.500 (1)"]}
    assert grids_of(table, KNOWN) == [Grid("`small`", ("accuracy, best %", "test loss, least"), rows)]


def test_so_they_do_where_there_is_one_column() -> None:
    cells = tuple(cell for cell in CELLS if cell.column == "fedgsp")
    found = grids_of(Table("p/t", "A table", cells, (BEST, ARI)), KNOWN)
    assert found == [Grid("", ("accuracy, best %",), {"`small`": ["80.0 / 75.0 (1)"]})]
    assert grids_of(Table("p/t", "A table", cells[1:], (BEST, ARI)), KNOWN) == []
