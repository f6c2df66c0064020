"""The line that shows how far a run is, from Python."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.watching import Clock, plan

import shoal
from shoal.loop.plan import RoundResult
from shoal.observers import ProgressLine, progress_line


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def result(t: int, stopped: str | None = None, **row: Any) -> RoundResult:
    figures = {"round": t, "groups": 1, "accuracy": 0.5, "loss": 1.5, **row}
    return RoundResult(t, None, {}, np.zeros((0, 0)), row=figures, stopped=stopped)


def played(shown: ProgressLine, clock: Clock, rounds: int, **row: Any) -> None:
    """A second a round."""
    shown.start(plan(rounds), "fedavg", 0)
    for t in range(rounds + 1):
        clock.now = float(t)
        shown.after_round(result(t, **row))
    shown.stop()


def screen(text: str) -> list[str]:
    """What a terminal shows of a text: what follows a carriage return stands over what was there."""
    lines = []
    for row in text.split("\n"):
        seen = ""
        for piece in row.split("\r"):
            seen = piece + seen[len(piece) :]
        lines.append(seen.rstrip())
    return lines


def test_a_terminal_has_one_line_that_is_written_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    stream, clock = Terminal(), Clock()
    played(ProgressLine(stream, clock), clock, 10)
    assert stream.getvalue().count("\r") == 10
    assert screen(stream.getvalue()) == ["fedavg  round 10/10  accuracy 50.0 %  groups 1  loss 1.50  0:00 left", ""]


def test_a_shorter_line_leaves_nothing_of_a_longer_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    stream, clock = Terminal(), Clock()
    shown = ProgressLine(stream, clock)
    shown.start(plan(9000), "fedavg", 0)
    for t, row in ((1, {"loss": 12345678.0}), (2, {"loss": None})):
        clock.now = float(t)
        shown.after_round(result(t, **row))
    shown.stop()
    assert screen(stream.getvalue()) == ["fedavg  round 2/9000  accuracy 50.0 %  groups 1  2:29:58 left", ""]


def test_a_narrow_terminal_cuts_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "31")
    stream, clock = Terminal(), Clock()
    played(ProgressLine(stream, clock), clock, 1)
    assert screen(stream.getvalue())[0] == "fedavg  round 1/1  accuracy 5…"


def test_a_pipe_gets_lines_now_and_then() -> None:
    stream, clock = io.StringIO(), Clock()
    played(ProgressLine(stream, clock), clock, 100)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 10
    assert lines[0] == "fedavg  round 10/100  accuracy 50.0 %  groups 1  loss 1.50  1:30 left"


def test_quick_rounds_do_not_flood_a_terminal() -> None:
    stream = Terminal()
    shown = ProgressLine(stream, Clock())  # whose time stands still
    shown.start(plan(1000), "fedavg", 0)
    for t in range(1001):
        shown.after_round(result(t))
    assert stream.getvalue().count("\r") == 1


def test_a_run_that_stops_says_why() -> None:
    stream, clock = Terminal(), Clock()
    shown = ProgressLine(stream, clock)
    shown.start(plan(9, "regression"), "fedavg", 0)
    clock.now = 1.0
    shown.after_round(result(1, stopped="RMSE is 0.25, the target was 0.3", rmse=0.25))
    shown.stop()
    assert screen(stream.getvalue()) == [
        "fedavg  round 1/9  RMSE 0.25  groups 1  loss 1.50  0:08 left",
        "fedavg stops after round 1: RMSE is 0.25, the target was 0.3",
        "",
    ]


def test_it_is_shown_where_somebody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert progress_line(None) is None
    assert progress_line(True) is not None
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert progress_line(None) is not None
    assert progress_line(False) is None


def test_runs_resumes_and_sweeps_show_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    shoal.run("fedavg", rounds=2, engine="serial", out=tmp_path / "run")
    shoal.resume(tmp_path / "run", rounds=3)
    shoal.sweep(["fedavg", "local"], rounds=1, engine="serial", out=tmp_path / "sweep")
    lines = screen(stream.getvalue())
    assert [line.partition("  accuracy")[0] for line in lines] == [
        "fedavg  round 2/2",
        "fedavg  round 3/3",
        "1/2 fedavg  round 1/1",
        "2/2 local  round 1/1",
        "",
    ]
    shoal.run("fedavg", rounds=1, engine="serial", progress=False)
    assert screen(stream.getvalue()) == lines


def test_a_notebook_has_an_output_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """IPython is a stand-in here: a kernel, and a display that can be updated."""
    outputs: list[str] = []

    class Handle:
        def update(self, data: dict[str, str], raw: bool) -> None:
            outputs[-1] = data["text/plain"]

    def display(data: dict[str, str], raw: bool, display_id: bool) -> Handle:
        outputs.append(data["text/plain"])
        return Handle()

    found, inner = ModuleType("IPython"), ModuleType("IPython.display")
    found.get_ipython = lambda: SimpleNamespace(kernel=object())  # type: ignore[attr-defined]
    inner.display = display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", found)
    monkeypatch.setitem(sys.modules, "IPython.display", inner)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    shown, clock = progress_line(None), Clock()
    assert shown is not None
    shown._timer = clock
    played(shown, clock, 3)
    played(shown, clock, 2)
    assert outputs == [
        "fedavg  round 3/3  accuracy 50.0 %  groups 1  loss 1.50  0:00 left",
        "fedavg  round 2/2  accuracy 50.0 %  groups 1  loss 1.50  0:00 left",
    ]
    found.get_ipython = lambda: SimpleNamespace(kernel=None)  # type: ignore[attr-defined]
    assert progress_line(None) is None  # IPython in a terminal, its stream no terminal
