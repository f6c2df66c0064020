"""Cells are run, resumed, stopped by a budget, refused when their settings changed, on a small recipe."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from shoal.backends import Serial
from shoal.errors import BadInput
from shoal.loop.plan import RoundResult
from shoal.observers import Observer
from shoal.recipes.numbers import progress_of, state_of
from shoal.recipes.play import Job, Outcome, jobs, play
from shoal.recipes.records import Cell
from shoal.recipes.store import Store

KEYS = {"data": "digits", "partition": "iid:clients=4", "rounds": 4, "lr": 0.1}
TWO = tuple(Cell("toy/table1", "digits", name, name, KEYS, {"best_accuracy": 90.0}, 2) for name in ("fedavg", "local"))


class Clock:
    """Seconds that pass with every look."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


class Break(Observer):
    """Interrupts after a round."""

    def __init__(self, after: int) -> None:
        self._after = after

    def after_round(self, result: RoundResult) -> None:
        if result.round == self._after:
            raise KeyboardInterrupt


def files(store: Store) -> dict[str, bytes]:
    return {str(path.relative_to(store.root)): path.read_bytes() for path in sorted(store.root.rglob("*.json"))}


def without_time(text: bytes) -> object:
    document = json.loads(text)
    for run in document["runs"]:
        run.pop("seconds"), run.pop("commit")
    return document["settings"], document["runs"]


def test_every_cell_has_a_small_file_with_the_values_of_each_seed(tmp_path: Path) -> None:
    store = Store(tmp_path / "results")
    assert play(jobs(TWO, store), store, tmp_path / "work", Serial()) == Outcome(4, 0)
    assert list(files(store)) == ["toy/table1/digits/fedavg.json", "toy/table1/digits/local.json"]
    document = json.loads(files(store)["toy/table1/digits/fedavg.json"])
    assert document["settings"] == {"algorithm": "fedavg", **KEYS}
    assert [run["seed"] for run in document["runs"]] == [0, 1]
    assert all(run["complete"] and run["rounds"] == 4 for run in document["runs"])
    best = [run["figures"]["best_accuracy"] for run in document["runs"]]
    assert all(0.3 < value <= 1 for value in best) and best[0] != best[1]
    assert document["runs"][0]["curves"]["round"] == [1, 2, 3, 4]
    assert not list((tmp_path / "work").rglob("config.toml")), "folders of complete runs are not kept"
    assert jobs(TWO, store) == []


def test_a_budget_stops_after_a_round_and_the_next_call_goes_on_to_the_same_figures(tmp_path: Path) -> None:
    whole, parts = Store(tmp_path / "whole"), Store(tmp_path / "parts")
    play(jobs(TWO, whole, 1), whole, tmp_path / "a", Serial())
    # the clock: begin 1 (end at 5), before the run 2, then rounds 0, 1, 2 at 3, 4, 5
    assert play(jobs(TWO, parts, 1), parts, tmp_path / "b", Serial(), 4, timer=Clock()) == Outcome(0, 2)
    result = parts.load(TWO[0])
    assert result is not None and result.runs[0]["rounds"] == 2 and not result.runs[0]["complete"]
    assert state_of(TWO[0], result) == "partial" and result.values("best_accuracy") == {}
    assert progress_of(TWO[0], result).startswith("0 of 2 seeds; seed 0 at round 2 of 4, best accuracy ")
    assert parts.load(TWO[1]) is None
    assert play(jobs(TWO, parts, 1), parts, tmp_path / "b", Serial()) == Outcome(2, 0)
    assert {k: without_time(v) for k, v in files(parts).items()} == {
        k: without_time(v) for k, v in files(whole).items()
    }


def test_an_interruption_loses_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path / "results")

    def watch(job: Job, number: int, total: int) -> Sequence[Observer]:
        return [Break(3)] if job.cell.column == "local" else []

    with pytest.raises(KeyboardInterrupt):
        play(jobs(TWO, store, 1), store, tmp_path / "work", Serial(), watch=watch)
    done, half = store.load(TWO[0]), store.load(TWO[1])
    assert done is not None and done.seeds_done == (0,)
    assert half is not None and half.seeds_done == () and half.runs[0]["rounds"] == 3
    assert [job.name for job in jobs(TWO, store, 1)] == ["toy/table1/digits/local seed 0"]


def test_a_cell_of_other_settings_is_refused_or_made_anew_never_mixed(tmp_path: Path) -> None:
    store, cell = Store(tmp_path / "results"), TWO[0]
    play(jobs([cell], store), store, tmp_path / "work", Serial())
    other = replace(cell, keys={**KEYS, "lr": 0.2})
    with pytest.raises(BadInput, match=r"fedavg\.json has lr=0\.1 where the recipe has lr=0\.2; --again makes it anew"):
        jobs([other], store)
    assert state_of(other, store.load(other)) == "other settings"
    todo = jobs([other], store, 1, again=True)
    assert [job.seed for job in todo] == [0]
    play(todo, store, tmp_path / "work", Serial())
    result = store.load(other)
    assert result is not None and result.settings["lr"] == 0.2 and list(result.runs) == [0]


def test_what_fails_is_told_and_the_rest_is_played(tmp_path: Path) -> None:
    store = Store(tmp_path / "results")
    broken = replace(TWO[0], keys={**KEYS, "clients_per_round": 50})
    ended = play(jobs([broken, TWO[1]], store, 1), store, tmp_path / "work", Serial())
    assert (ended.played, ended.left) == (1, 1)
    assert ended.failed[0].startswith("toy/table1/digits/fedavg seed 0: clients_per_round=50 but")


def test_what_cannot_be_run_here_is_not_tried(tmp_path: Path) -> None:
    assert jobs([replace(TWO[0], why_not="the data is gone")], Store(tmp_path)) == []


def test_runs_of_one_federation_stand_together_seed_by_seed(tmp_path: Path) -> None:
    rows = [replace(cell, row=row) for row in ("b", "a") for cell in TWO]
    found = [(job.cell.row, job.seed, job.cell.column) for job in jobs(rows, Store(tmp_path))]
    assert found[:4] == [("b", 0, "fedavg"), ("b", 0, "local"), ("b", 1, "fedavg"), ("b", 1, "local")]
    assert [row for row, _, _ in found[4:]] == ["a"] * 4
