"""Runs side by side give the figures of runs one by one, and lose nothing when they are stopped."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from shoal.backends import Serial
from shoal.errors import ShoalError
from shoal.observers import Observer
from shoal.recipes.runs import team
from shoal.recipes.runs.play import Outcome, jobs, play
from shoal.recipes.runs.single import Ended, Job
from shoal.recipes.runs.team import Team
from shoal.recipes.store import Store
from tests.recipes.runs.test_play import KEYS, TWO, Clock, files, without_time

TEAM = Team(2, "serial")
LONG = tuple(replace(cell, keys={**KEYS, "rounds": 100_000}) for cell in TWO)


class Notes(Observer):
    """Keeps what it is told; the first time, interrupts if asked to."""

    def __init__(self, interrupts: bool = False) -> None:
        self.said: list[str] = []
        self._interrupts = interrupts

    def __call__(self, job: Job, number: int, total: int) -> Sequence[Observer]:
        self.said.append(f"{number}/{total}")
        return [self]

    def note(self, text: str) -> None:
        self.said.append(text)
        if self._interrupts:
            self._interrupts = False
            raise KeyboardInterrupt


def test_a_team_writes_what_runs_one_by_one_write(tmp_path: Path) -> None:
    alone, together, notes = Store(tmp_path / "alone"), Store(tmp_path / "together"), Notes()
    broken = replace(TWO[0], column="broken", keys={**KEYS, "min_answers": 50})
    play(jobs(TWO, alone), alone, tmp_path / "a", Serial())
    ended = play(jobs((*TWO, broken), together, 2), together, tmp_path / "b", TEAM, watch=notes)
    assert (ended.played, ended.left) == (4, 2)
    assert sorted(sentence[:33] for sentence in ended.failed) == [
        "toy/table1/digits/broken seed 0: ",
        "toy/table1/digits/broken seed 1: ",
    ]
    assert {k: without_time(v) for k, v in files(together).items()} == {
        k: without_time(v) for k, v in files(alone).items()
    }
    assert notes.said[::2] == [f"{n}/6" for n in range(1, 7)]
    assert sum("  complete, " in said for said in notes.said) == 4
    assert sum(said.endswith("  failed") for said in notes.said) == 2
    assert not list((tmp_path / "b").rglob("config.toml")), "folders of complete runs are not kept"


def test_an_interruption_lets_runs_end_after_a_round_and_writes_them_down(tmp_path: Path) -> None:
    """The short run ends first; its note interrupts, while a long one is on and another one waits."""
    store = Store(tmp_path / "results")
    short, long, waits = TWO[0], LONG[1], replace(LONG[1], column="waits")
    with pytest.raises(KeyboardInterrupt):
        play(jobs((long, short, waits), store, 1), store, tmp_path / "work", TEAM, watch=Notes(interrupts=True))
    done, half = store.load(short), store.load(long)
    assert done is not None and done.seeds_done == (0,)
    if half is not None:  # it had a round by then
        assert half.seeds_done == () and half.runs[0]["rounds"] < 100_000
    assert {job.cell.column for job in jobs((long, short, waits), store, 1)} == {"local", "waits"}


def test_a_budget_ends_a_team_and_what_was_on_is_written_down(tmp_path: Path) -> None:
    store = Store(tmp_path / "results")
    assert play(jobs(LONG, store, 1), store, tmp_path / "work", TEAM, 1, timer=Clock()) == Outcome(0, 2)
    for cell in LONG:
        result = store.load(cell)
        assert result is None or not result.runs[0]["complete"]


def deafness(job: Job, *_: object) -> Ended:
    return Ended(job, f"blocked {sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ()))}")


def test_processes_do_not_hear_ctrl_c_from_their_first_moment_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A terminal sends it to all of them, also while they import, where it would end them with a traceback each."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    monkeypatch.setattr(team, "play_here", deafness)
    ended = play(jobs(TWO[:1], Store(tmp_path / "results"), 1), Store(tmp_path / "results"), tmp_path / "work", TEAM)
    assert ended.failed == (f"blocked {[signal.SIGINT]}",)
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before, "the one that commands them hears it again"


def end_or_die(job: Job, *_: object) -> Ended:
    while job.seed and not team.HERE[0][1].is_set():
        pass
    if job.seed:
        os._exit(9)
    return Ended(job)


def test_processes_that_die_while_it_ends_leave_no_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request to end that all processes get: the first run's note interrupts, the others die, and some still wait."""
    told: list[object] = []
    monkeypatch.setattr(threading, "excepthook", told.append)
    monkeypatch.setattr(team, "play_here", end_or_die)
    store = Store(tmp_path / "results")
    with pytest.raises(KeyboardInterrupt):
        play(jobs(LONG[:1], store, 9), store, tmp_path / "work", TEAM, watch=Notes(interrupts=True))
    assert told == []


def die(*_: object) -> Ended:
    os._exit(9)


def test_a_process_that_dies_is_told_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path / "results")
    monkeypatch.setattr(team, "play_here", die)
    with pytest.raises(ShoalError, match=r"ended unexpectedly, maybe for want of memory; .* with a smaller jobs="):
        play(jobs(TWO, store, 1), store, tmp_path / "work", TEAM)
