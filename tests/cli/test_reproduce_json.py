"""`shoal reproduce --format json` tells what never happened from what was not run, and how far cells are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Shoal

from shoal.recipes import Cell, Paper, Table
from shoal.recipes.judging.relations import Relation
from shoal.recipes.records import BEST, Quantity
from shoal.recipes.store import EMPTY, Result, Store

KEYS = {"data": "digits", "partition": "iid:clients=4", "rounds": 9, "lr": 0.1}
PRINTED = {"slow": None, "mixed": 5.0, "waiting": 5.0, "new": 7.0}
CELLS = {
    name: Cell("toy/table1", "digits", name, "fedavg", KEYS, {"rounds_to_80": v}, 2) for name, v in PRINTED.items()
}
TOY = Table("toy/table1", "Four methods", tuple(CELLS.values()), (BEST, Quantity("rounds_to_80", "rounds to 80 %")))


def run(accuracy: float, rounds: int = 9, reached: int | None = None) -> dict[str, Any]:
    figures = {"best_accuracy": accuracy} | ({} if reached is None else {"rounds_to_80": reached})
    return {**EMPTY, "complete": rounds == 9, "rounds": rounds, "figures": figures}


@pytest.fixture
def found(shoal: Shoal, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Two runs of `slow` never reach 80 %, one of two of `mixed` does, `waiting` has one and a half, `new` none."""
    monkeypatch.setattr("shoal.recipes.PAPERS", {"toy": Paper("toy", "A toy", "Nobody 2000", (TOY,))})
    mixed, waiting = (CELLS[name].name for name in ("mixed", "waiting"))
    above = Relation("toy/above", "mixed is above waiting", "Table 1", (mixed,), (waiting,), least=0)
    monkeypatch.setattr("shoal.recipes.judging.statements.STATEMENTS", (above,))
    for name, runs in {
        "slow": {0: run(0.5), 1: run(0.6)},
        "mixed": {0: run(0.9, reached=4), 1: run(0.7)},
        "waiting": {0: run(0.85, reached=6), 1: run(0.3, rounds=3)},
    }.items():
        Store("results").save(CELLS[name], Result(CELLS[name].settings, runs))
    printed: dict[str, Any] = json.loads(shoal("reproduce", "toy", "--list", "--format", "json").stdout)
    return printed


def test_never_is_not_the_same_as_not_run(found: dict[str, Any]) -> None:
    slow, mixed, waiting, new = found["cells"]
    ours = [cell["ours"]["rounds_to_80"] for cell in (slow, mixed, waiting, new)]
    assert [(o["mean"], o["n"], o["never"]) for o in ours] == [(None, 0, 2), (4, 1, 1), (6, 1, 0), (None, 0, 0)]
    assert slow["values"]["rounds_to_80"] == {"0": None, "1": None}
    assert mixed["values"]["rounds_to_80"] == {"0": 4, "1": None}
    assert new["values"] == {} and slow["ours"]["best_accuracy"]["never"] == 0


def test_the_papers_never_is_said(found: dict[str, Any]) -> None:
    assert [cell["paper_never"] for cell in found["cells"]] == [["rounds_to_80"], [], [], []]


def test_seeds_done_and_wanted_and_the_round_reached(found: dict[str, Any], shoal: Shoal) -> None:
    keys = ("state", "seeds_done", "seeds_wanted", "rounds", "rounds_reached")
    assert [tuple(cell[key] for key in keys) for cell in found["cells"]] == [
        ("done", [0, 1], 2, 9, {}),
        ("done", [0, 1], 2, 9, {}),
        ("partial", [0], 2, 9, {"1": 3}),
        ("not run", [], 2, 9, {}),
    ]
    one = json.loads(shoal("reproduce", "toy", "--list", "seeds=1", "--format", "json").stdout)["cells"]
    assert {cell["seeds_wanted"] for cell in one} == {1}


def test_statements_say_how_far_they_are(found: dict[str, Any], shoal: Shoal) -> None:
    [line] = json.loads(shoal("reproduce", "--relations", "--format", "json").stdout)["statements"]
    assert (line["verdict"], line["words"]) == ("holds", "holds so far (1 of 2 seeds)")
    assert found["statements"] == [line]


def test_what_other_settings_gave_is_no_seed_of_the_cell(found: dict[str, Any], shoal: Shoal) -> None:
    cell = CELLS["new"]
    Store(Path("results")).save(cell, Result({**cell.settings, "lr": 9.0}, {0: run(0.9)}))
    last = json.loads(shoal("reproduce", "toy", "--list", "--format", "json").stdout)["cells"][-1]
    assert (last["state"], last["seeds_done"]) == ("other settings", [])
    assert last["values"] == {"best_accuracy": {}, "rounds_to_80": {}} and last["ours"]["best_accuracy"]["n"] == 0
