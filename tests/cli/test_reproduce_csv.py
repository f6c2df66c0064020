"""`shoal reproduce --format csv` prints every value once, for whoever tests or draws on."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from tests.cli.conftest import Shoal

from shoal.recipes import Cell, Paper, Table
from shoal.recipes.judging.relations import Relation
from shoal.recipes.records import BEST, Panel, Quantity
from shoal.recipes.store import EMPTY, Result, Store

CELLS = tuple(
    Cell("toy/table1", "digits", name, "fedavg", {"rounds": 2}, {"best_accuracy": 89.0, "rounds_to_80": 1.0}, 2)
    for name in ("plain", "new")
)
TOY = Table("toy/table1", "Two methods", CELLS, (BEST, Quantity("rounds_to_80", "rounds to 80 %")))
DRAWN = Table("toy/fig1", "Their curves", panels=(Panel("a", "accuracy", tuple(cell.name for cell in CELLS)),))
RUNS: dict[int, dict[str, Any]] = {
    0: {**EMPTY, "complete": True, "rounds": 2, "figures": {"best_accuracy": 0.75}},
    1: {**EMPTY, "complete": False, "rounds": 1, "figures": {"best_accuracy": 0.5}},
}


@pytest.fixture
def read(shoal: Shoal, monkeypatch: pytest.MonkeyPatch) -> Any:
    """One complete run that never reaches 80 %, one of half its rounds, and a cell that was not run."""
    monkeypatch.setattr("shoal.recipes.PAPERS", {"toy": Paper("toy", "A toy", "Nobody 2000", (TOY, DRAWN))})
    above = Relation("toy/above", "plain, or new", "Table 1", (CELLS[0].name,), (CELLS[1].name,), least=0)
    monkeypatch.setattr("shoal.recipes.judging.statements.STATEMENTS", (above,))
    curves = {"round": [1, 2], "accuracy": [0.5, 0.75]}
    Store("results").save(
        CELLS[0], Result(CELLS[0].settings, {s: {**run, "curves": curves} for s, run in RUNS.items()})
    )
    return lambda *words: [*csv.DictReader(io.StringIO(shoal("reproduce", *words, "--format", "csv").stdout))]


def test_a_table_has_a_line_for_every_figure_of_a_complete_run(read: Any) -> None:
    best, slow = read("toy/table1", "--list")
    where = {"table": "toy/table1", "row": "digits", "column": "plain", "seed": "0", "round": ""}
    assert best == {**where, "quantity": "best_accuracy", "value": "75.0", "paper": "89.0"}
    assert slow == {**where, "quantity": "rounds_to_80", "value": "", "paper": "1.0"}  # never


def test_a_figure_has_a_line_for_every_round_that_it_draws_also_beside_its_table(read: Any) -> None:
    for words in (["toy/fig1"], ["toy"]):
        lines = [line for line in read(*words, "--list") if line["quantity"] == "accuracy"]
        assert [(line["seed"], line["round"], line["value"]) for line in lines] == [
            ("0", "1", "0.5"),
            ("0", "2", "0.75"),
        ]
    assert sum(line["quantity"] == "best_accuracy" for line in read("toy", "--list")) == 1


def test_the_list_and_statements_are_lines_too(read: Any) -> None:
    assert [(line["table"], line["partial"]) for line in read()] == [("toy/table1", "1"), ("toy/fig1", "1")]
    [line] = read("--relations")
    assert (line["says"], line["left"], line["verdict"]) == ("plain, or new", "toy/table1/digits/plain", "not run")
