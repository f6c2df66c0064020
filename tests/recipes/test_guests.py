"""Methods that a paper does not have take part on the terms of its rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.backends import Serial
from shoal.errors import BadInput
from shoal.recipes import PAPERS, Cell, Panel, Paper, Table
from shoal.recipes.guests import invite, shared
from shoal.recipes.runs.single import Job, play_one
from shoal.recipes.store import Result, differs

COMMON = {"data": "digits", "rounds": 2, "lr": 0.1}


def cell(row: str, column: str, algorithm: str, **keys: object) -> Cell:
    return Cell("p/table1", row, column, algorithm, {**COMMON, **keys}, {"best_accuracy": 90.0}, seeds=5)


ROW = (cell("a", "avg", "fedavg"), cell("a", "ifca", "ifca", groups=3), cell("a", "fesem", "fesem", groups=3))
OTHER = (cell("b", "avg", "fedavg"),)
FIGURE = Table(
    "p/fig1",
    "Curves and a map",
    panels=(Panel("", "accuracy", ("p/table1/a/avg", "p/table1/b/avg")), Panel("", "maps", ("p/table1/a/ifca",))),
)
TOY = {"p": Paper("p", "A paper", "", (Table("p/table1", "", (*ROW, *OTHER)), FIGURE))}


def test_a_guest_has_the_settings_of_the_row_that_it_knows() -> None:
    table = invite(TOY, ROW, ["wecfl", "fedprox:mu=0.5"])["p"].tables[0]
    wecfl, prox = (next(c for c in table.cells if c.column == name) for name in ("wecfl", "fedprox-mu=0.5"))
    assert wecfl.keys == {**COMMON, "groups": 3} and wecfl.row == "a" and wecfl.seeds == 5 and not wecfl.paper
    assert prox.keys == {**COMMON, "mu": 0.5}  # it has no groups
    assert [c.name for c in table.cells if c.row == "b"] == ["p/table1/b/avg"]  # a row that was not asked for


def test_keys_of_its_own_go_before_those_of_the_row() -> None:
    table = invite(TOY, ROW, ["wecfl:groups=7:lr=0.5"])["p"].tables[0]
    assert next(c for c in table.cells if c.source).keys == {**COMMON, "groups": 7, "lr": 0.5}


def test_figures_that_compare_the_row_draw_the_guest_too() -> None:
    curves, maps = invite(TOY, ROW, ["wecfl"])["p"].tables[1].panels
    assert curves.cells == ("p/table1/a/avg", "p/table1/b/avg", "p/table1/a/wecfl")
    assert maps.cells == ("p/table1/a/ifca",)


def test_papers_stay_as_they_are() -> None:
    invite(TOY, ROW, ["wecfl"])
    assert len(TOY["p"].tables[0].cells) == 4


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("ifca", "p/table1 has ifca already; leave it out of methods=, or give it keys of its own: methods=ifca:KEY"),
        ("ifcaa", "unknown algorithm 'ifcaa'; did you mean 'ifca'"),
        ("wecfl:mu=1", "mu"),
        ("wecfl:lr=fast", "lr"),
        ("wecfl:groups=0", "groups=0 is not possible"),
        ("mine.py", "methods=mine.py names a file; name the class in it, too: mine.py:CLASS"),
        ("wecfl:3", "keys go with their names"),
        ("nobody.py:Mine", "nobody.py"),
    ],
)
def test_what_cannot_take_part_is_refused(word: str, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        invite(TOY, ROW, [word])


def test_a_key_of_few_methods_is_not_one_of_the_row() -> None:
    """52 groups are of NaiveGSP's chains, and nobody else's; what most have, they have alike."""
    row = [c for c in PAPERS["fedgsp"].tables[0].cells if c.row == "small"]
    assert "groups" not in shared(row) and shared(row)["clients_per_round"] == 110
    assert "lr" not in shared([cell("a", "x", "fedavg"), cell("a", "y", "fedavg", lr=0.3)])


@pytest.mark.parametrize("paper", PAPERS)
def test_every_row_of_the_papers_takes_a_guest(paper: str) -> None:
    """Settings of all rows are such that a method with groups and one without can be asked for."""
    tables = [t for t in PAPERS[paper].tables if t.cells]
    cells = [c for table in tables for c in table.cells]
    found = [c for t in invite(PAPERS, cells, ["flhc", "wecfl:groups=2:em_steps=1"])[paper].tables for c in t.cells]
    guests = [c for c in found if c.source]
    assert len(guests) == 2 * sum(len(table.rows) for table in tables)
    assert all({"data", "model", "rounds"} <= c.keys.keys() for c in guests if "data" in c.keys)


def test_figures_of_other_code_are_not_taken_for_ones_of_this() -> None:
    mine = Cell("p/t", "a", "Mine", "Mine", COMMON, source="mine.py:Mine", code="5f")
    assert differs(mine, Result({**mine.settings, "code": "6a"})) == "figures of other code than mine.py:Mine has now"
    assert differs(mine, Result(mine.settings)) is None


def test_a_run_does_not_go_on_with_other_code(tmp_path: Path) -> None:
    job = Job(Cell("p/t", "a", "x", "fedavg", {"data": "digits", "rounds": 2}), 0)
    assert not play_one(job, tmp_path, Serial(), is_over=lambda: True).failed  # interrupted after round 1
    other = Job(Cell("p/t", "a", "x", "fedavg", {"data": "digits", "rounds": 2}, code="5f"), 0)
    assert "began with other code of its method; --again begins it anew" in play_one(other, tmp_path, Serial()).failed
    assert not play_one(other, tmp_path, Serial(), again=True).failed
