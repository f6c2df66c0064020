from __future__ import annotations

import io
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from tests.watching import Clock, plan

from shoal.cli.failures import Interrupted
from shoal.cli.progress import ProgressDisplay, showing_progress
from shoal.loop.plan import RoundResult


def console(terminal: bool = False) -> tuple[Console, io.StringIO]:
    text = io.StringIO()
    return Console(file=text, force_terminal=terminal, width=80, highlight=False, markup=False), text


def result(t: int, *events: dict[str, Any], **row: Any) -> RoundResult:
    figures = {"round": t, "groups": 1, "accuracy": 0.5, "loss": 1.5, **row}
    return RoundResult(t, None, {}, np.zeros((0, 0)), row=figures, events=events)


def test_a_pipe_gets_a_line_per_tenth_and_the_time_left() -> None:
    screen, text = console()
    clock = Clock()
    display = ProgressDisplay(screen, timer=clock)
    display.start(plan(100), "fedavg", 0)
    for t in range(101):
        clock.now = 0.1 * t
        display.after_round(result(t))
    display.stop()
    lines = text.getvalue().splitlines()
    assert len(lines) == 10
    assert lines[0] == "fedavg  round 10/100  accuracy 50.0 %  groups 1  loss 1.50  0:09 left"
    assert lines[-1] == "fedavg  round 100/100  accuracy 50.0 %  groups 1  loss 1.50  0:00 left"


def test_quick_runs_do_not_flood_a_pipe() -> None:
    screen, text = console()
    display = ProgressDisplay(screen, timer=Clock())
    display.start(plan(100), "fedavg", 0)
    for t in range(101):
        display.after_round(result(t))
    assert len(text.getvalue().splitlines()) == 1


def test_slow_rounds_are_told_too() -> None:
    screen, text = console()
    clock = Clock()
    display = ProgressDisplay(screen, timer=clock)
    display.start(plan(1000), "fedavg", 0)
    for t in range(1, 5):
        clock.now += 6
        display.after_round(result(t))
    assert [line.split()[2] for line in text.getvalue().splitlines()] == ["2/1000", "4/1000"]


def test_a_terminal_gets_a_bar() -> None:
    screen, text = console(terminal=True)
    display = ProgressDisplay(screen)
    display.announce("fedavg-with-a-very-long-name-that-goes-on-and-on-seed=1", 3, 12)
    display.start(plan(4), "fedavg", 2)
    for t in (3, 4):
        display.after_round(result(t))
    display.stop()
    assert "3/12 fedavg-with" in text.getvalue()
    assert "round 4/4" in text.getvalue()
    assert "50.0 %" in text.getvalue()


def test_troubles_are_told_once_per_round_and_counted() -> None:
    screen, text = console()
    display = ProgressDisplay(screen, quiet=True)
    display.start(plan(50), "fedavg", 0)
    gone = [{"kind": "left out", "client": str(i), "reason": "late: 3 s"} for i in range(2)]
    for t in range(1, 21):
        display.after_round(result(t, *gone))
    display.after_round(result(21, {"kind": "chains of one", "reason": "5 of 6 groups hold a single client"}))
    display.after_round(result(22, {"kind": "round skipped", "reason": "0 of 3 answered 'train'"}))
    display.stop()
    lines = text.getvalue().splitlines()
    assert lines[0] == "warning: round 1: client '0' left out: late: 3 s (and 1 more)"
    assert len(lines) == 10 + 3
    assert lines[-3] == "warning: round 21: 5 of 6 groups hold a single client"
    assert lines[-2] == "warning: round 22 changed nothing: 0 of 3 answered 'train'"
    assert lines[-1].startswith("warning: fedavg: clients were left out 40 times in 20 rounds")


def test_the_librarys_warnings_are_shown_while_watching() -> None:
    screen, text = console()
    with showing_progress(screen, Path("x"), quiet=True):
        logging.getLogger("shoal").warning("checkpoint 3 is damaged")
    logging.getLogger("shoal").info("not this")
    assert text.getvalue() == "warning: checkpoint 3 is damaged\n"


def test_an_interruption_says_how_to_go_on(tmp_path: Path) -> None:
    def interrupted(round: int | None) -> None:
        with showing_progress(console()[0], tmp_path, quiet=True) as display:
            if round is not None:
                display.start(plan(9), "fedavg", round)
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="interrupted before the run began; nothing was written"):
        interrupted(None)
    (tmp_path / "config.toml").write_text("")
    with pytest.raises(Interrupted, match="interrupted after round 4; go on with: shoal resume /"):
        interrupted(4)


def test_an_accuracy_of_some_clients_says_of_how_many() -> None:
    screen, text = console()
    display = ProgressDisplay(screen, timer=Clock())
    display.start(plan(1), "flexcfl", 0)
    display.after_round(result(1, accuracy=0.908, partial=True, tested=78, tested_of=1000))
    assert "accuracy 90.8 % of 78 of 1,000 clients  groups 1" in text.getvalue()


def test_another_score_is_told_by_its_name_and_as_it_is() -> None:
    screen, text = console()
    display = ProgressDisplay(screen, timer=Clock())
    display.start(plan(1, "regression"), "fedavg", 0)
    display.after_round(result(1, rmse=0.12345))
    display.stop()
    assert text.getvalue() == "fedavg  round 1/1  RMSE 0.1235  groups 1  loss 1.50  0:00 left\n"
