"""Cells are run, resumed, stopped by a budget, refused when their settings changed, on a small recipe."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from shoal.backends import Serial
from shoal.errors import BadInput, RunFolderError
from shoal.loop.plan import RoundResult
from shoal.observers import Observer
from shoal.recipes.numbers import progress_of, state_of
from shoal.recipes.records import Cell
from shoal.recipes.runs.play import Outcome, jobs, play
from shoal.recipes.runs.single import Job
from shoal.recipes.store import EMPTY, Result, Store, defaults_of, differs

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


class Seen:
    """Notes the runs that were begun."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def __call__(self, job: Job, number: int, total: int) -> Sequence[Observer]:
        self.names.append(job.name)
        return ()


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


def test_a_run_of_fewer_rounds_goes_on_and_one_of_more_is_refused(tmp_path: Path) -> None:
    """Interrupted in round 3 of 4, while the recipe becomes one of 6 rounds, or of 2."""
    store, cell, work = Store(tmp_path / "results"), TWO[0], tmp_path / "work"
    with pytest.raises(KeyboardInterrupt):
        play(jobs([cell], store, 1), store, work, Serial(), watch=lambda *_: [Break(3)])
    store.path(cell).unlink()
    fewer, more = (replace(cell, keys={**KEYS, "rounds": rounds}) for rounds in (2, 6))
    sentence = r"holds a run with rounds=4, and the recipe asks for rounds=2; move that folder away"
    [failed] = play(jobs([fewer], store, 1), store, work, Serial()).failed
    assert re.search(sentence, failed)
    assert play(jobs([more], store, 1), store, work, Serial()) == Outcome(1, 0)
    fresh = Store(tmp_path / "fresh")
    play(jobs([more], fresh, 1), fresh, tmp_path / "other", Serial())
    assert {k: without_time(v) for k, v in files(store).items()} == {
        k: without_time(v) for k, v in files(fresh).items()
    }


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


def test_an_unfinished_run_of_other_settings_is_refused_or_begun_anew(tmp_path: Path) -> None:
    store, other = Store(tmp_path / "results"), replace(TWO[0], keys={**KEYS, "lr": 0.2})
    play(jobs(TWO[:1], store, 1), store, tmp_path / "work", Serial(), 4, timer=Clock())
    ended = play(jobs([other], store, 1, again=True), store, tmp_path / "work", Serial())
    assert "holds a run with lr=0.1, and the sweep asks for lr=0.2" in ended.failed[0]
    ended = play(jobs([other], store, 1, again=True), store, tmp_path / "work", Serial(), again=True)
    assert ended == Outcome(1, 0)
    result = store.load(other)
    assert result is not None and result.settings["lr"] == 0.2


def test_what_fails_is_told_and_the_rest_is_played(tmp_path: Path) -> None:
    store = Store(tmp_path / "results")
    broken = replace(TWO[0], keys={**KEYS, "min_answers": 50})
    ended = play(jobs([broken, TWO[1]], store, 1), store, tmp_path / "work", Serial())
    assert (ended.played, ended.left) == (1, 1)
    assert ended.failed[0].startswith("toy/table1/digits/fedavg seed 0: min_answers=50 can never be")


def test_what_cannot_be_run_here_is_not_tried(tmp_path: Path) -> None:
    assert jobs([replace(TWO[0], why_not="the data is gone")], Store(tmp_path)) == []


def test_runs_of_one_federation_stand_together_seed_by_seed(tmp_path: Path) -> None:
    rows = [replace(cell, row=row) for row in ("b", "a") for cell in TWO]
    found = [(job.cell.row, job.seed, job.cell.column) for job in jobs(rows, Store(tmp_path))]
    assert found[:4] == [("b", 0, "fedavg"), ("b", 0, "local"), ("b", 1, "fedavg"), ("b", 1, "local")]
    assert [row for row, _, _ in found[4:]] == ["a"] * 4


def test_a_budget_that_ends_in_the_last_round_leaves_a_complete_run(tmp_path: Path) -> None:
    """The clock: begin 1 (end at 7), before the run 2, rounds 0 to 4 at 3 to 7, before the next run 8."""
    store = Store(tmp_path / "results")
    assert play(jobs(TWO, store, 1), store, tmp_path / "work", Serial(), 6, timer=Clock()) == Outcome(1, 1)
    result = store.load(TWO[0])
    assert result is not None and result.seeds_done == (0,)


@pytest.mark.parametrize("option", ["--results", "--work"])
def test_a_folder_that_cannot_be_written_is_told_before_the_first_run(tmp_path: Path, option: str) -> None:
    (tmp_path / "file").write_text("no folder")
    places = {"--results": tmp_path / "results", "--work": tmp_path / "work", option: tmp_path / "file" / "below"}
    store, seen = Store(places["--results"]), Seen()
    with pytest.raises(RunFolderError, match=f"cannot write to .*; choose another {option} DIR"):
        play(jobs(TWO, store), store, places["--work"], Serial(), watch=seen)
    assert seen.names == []


def test_what_cannot_be_written_ends_the_play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, seen = Store(tmp_path / "results"), Seen()

    def full(*_: object) -> None:
        raise RunFolderError("the disk is full")

    monkeypatch.setattr(store, "save", full)
    with pytest.raises(RunFolderError, match="the disk is full"):
        play(jobs(TWO, store), store, tmp_path / "work", Serial(), watch=seen)
    assert len(seen.names) == 1


def test_a_default_that_changed_since_is_another_setting(tmp_path: Path) -> None:
    store, cell = Store(tmp_path / "results"), TWO[0]
    play(jobs([cell], store, 1), store, tmp_path / "work", Serial())
    result = store.load(cell)
    assert result is not None and result.defaults == defaults_of(cell) and differs(cell, result) is None
    store.save(cell, replace(result, defaults={**result.defaults, "batch": 7, "a_key_of_old": 1}))
    with pytest.raises(BadInput, match=r"batch=7, the default of its time, where the default is batch=\d+ now"):
        jobs([cell], store)
    assert differs(cell, Result(cell.settings, result.runs)) is None  # of a file that was written before


def test_a_run_that_lacks_something_is_refused_in_a_sentence(tmp_path: Path) -> None:
    store, cell = Store(tmp_path), TWO[0]
    store.save(cell, Result(cell.settings, {0: {"rounds": 1, "figures": {}, "curves": {}}}))
    with pytest.raises(RunFolderError, match="as the result of a cell: it has no 'complete'; move it away"):
        store.load(cell)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (('"best_accuracy":0.5', '"best_accuracy":"x"'), "best_accuracy of a run is 'x'"),
        (('"best_accuracy":0.5', '"best_accuracy":NaN'), "best_accuracy of a run is nan"),
        (('"p/t/a/x"', '"p/t/a/y"'), "it is of p/t/a/y"),
        (('"seed":1', '"seed":0'), "it has a seed twice"),
    ],
)
def test_a_file_with_what_no_run_gives_is_refused_in_a_sentence(
    tmp_path: Path, change: tuple[str, str], sentence: str
) -> None:
    cell = Cell("p/t", "a", "x", "fedavg", {"rounds": 1})
    store = Store(tmp_path)
    run = {**EMPTY, "complete": True, "figures": {"best_accuracy": 0.5}}
    store.save(cell, Result(cell.settings, {0: run, 1: run}))
    path = store.path(cell)
    text = path.read_text()
    assert change[0] in text
    path.write_text(text.replace(*change))
    with pytest.raises(RunFolderError, match=sentence):
        store.load(cell)
