"""What a user sees while a run goes on: a bar on a terminal, plain lines in a pipe, and always what went wrong."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.table import Column

from shoal.cli.console import echo
from shoal.cli.failures import Interrupted
from shoal.errors import command
from shoal.loop.plan import Plan, RoundResult
from shoal.loop.words import clock
from shoal.observers import Observer
from shoal.observers.progress import due, line, score_in

SHOWN = 10  # rounds with clients left out that are told one by one


class ProgressDisplay(Observer):
    """Tells how far a run is. One display serves the runs of a sweep one after the other; `announce` names the next."""

    def __init__(self, console: Console, quiet: bool = False, timer: Callable[[], float] = time.monotonic) -> None:
        self.console, self._quiet, self._timer = console, quiet, timer
        self.name, self.round = "", -1  # the run that is on, and its last complete round; -1: none yet
        self._prefix = ""
        self._plan: Plan | None = None
        self._began, self._first, self._told = 0.0, 0, 0.0
        self._tested: Mapping[str, Any] = {}  # the last record with a score
        self._bar: tuple[Progress, TaskID] | None = None
        self._left_out, self._rounds_left_out = 0, 0
        self._collapsed = False

    def announce(self, name: str, number: int, total: int) -> tuple[Observer, ...]:
        """The next run of a sweep is on."""
        self.name, self.round, self._prefix = name, -1, f"{number}/{total} "
        return (self,)

    def start(self, plan: Plan, label: str, begin: int) -> None:
        self.name = self.name if self._prefix else label
        self._plan, self._first, self.round = plan, begin, begin
        self._began = self._told = self._timer()
        self._tested, self._left_out, self._rounds_left_out = {}, 0, 0
        if self.console.is_terminal and not self._quiet:
            self._bar = make_bar(self.console, self._prefix + self.name, plan.rounds, begin)

    def note(self, text: str) -> None:
        if not self._quiet:
            echo(self.console, self._prefix + text)

    def after_round(self, result: RoundResult) -> None:
        assert self._plan is not None
        self.round, score = result.round, self._plan.score
        self._tested = result.row if score.name in result.row else self._tested
        self._troubles(result)
        done, rounds = result.round - self._first, self._plan.rounds
        now = self._timer()
        left = clock((now - self._began) / done * (rounds - result.round)) if done > 0 else "?"
        if self._bar is not None:
            progress, task = self._bar
            figures = (
                f"{score_in(self._tested, score, short=True)}  groups {result.row.get('groups', '-')}  {left} left"
            )
            progress.update(task, completed=result.round, figures=figures)
        elif not self._quiet and due(result.round, rounds, now - self._told):
            self._told = now
            words = f"{score.title} {score_in(self._tested, score)}"
            echo(self.console, self._prefix + line(self.name, result.round, rounds, words, result.row, left))

    def stop(self) -> None:
        if self._bar is not None:
            self._bar[0].stop()
            self._bar = None
        if self._left_out:
            times = "once" if self._left_out == 1 else f"{self._left_out} times in {self._rounds_left_out} rounds"
            self.warn(f"{self.name}: clients were left out {times}; events.jsonl has every reason")

    def warn(self, text: str) -> None:
        echo(self.console, f"warning: {text}", style="yellow")

    def _troubles(self, result: RoundResult) -> None:
        """Skipped rounds, a collapse into one group, what methods warn of, and the first of the clients left out."""
        left_out = [e for e in result.events if e["kind"] == "left out"]
        for event in result.events:
            if event["kind"] == "round skipped":
                self.warn(f"round {result.round} changed nothing: {event['reason']}")
            elif event["kind"] == "collapsed" and not self._collapsed:
                self._collapsed = True
                self.warn(f"round {result.round}: {event['reason']}; try another start or number of groups")
            elif event["kind"] in ("chains of one", "models alike"):
                self.warn(f"round {result.round}: {event['reason']}")
            elif event["kind"] == "stopped" and not self._quiet:
                echo(self.console, f"{self._prefix}{self.name} stops after round {result.round}: {event['reason']}")
        if not left_out:
            return
        self._left_out += len(left_out)
        self._rounds_left_out += 1
        if self._rounds_left_out <= SHOWN:
            more = f" (and {len(left_out) - 1} more)" if len(left_out) > 1 else ""
            first = left_out[0]
            self.warn(f"round {result.round}: client {first['client']!r} left out: {first['reason']}{more}")


def make_bar(console: Console, name: str, rounds: int, begin: int) -> tuple[Progress, TaskID]:
    columns = (
        TextColumn(
            "{task.description}",
            markup=False,
            table_column=Column(no_wrap=True, overflow="ellipsis", max_width=max(12, console.width - 54)),
        ),
        BarColumn(bar_width=12),
        TextColumn("round {task.completed:.0f}/{task.total:.0f}"),
        TextColumn("{task.fields[figures]}", markup=False),
    )
    progress = Progress(*columns, console=console)
    progress.start()
    return progress, progress.add_task(name, total=rounds, completed=begin, figures="")


class Warnings(logging.Handler):
    """What the library warns of, on the display's console."""

    def __init__(self, display: ProgressDisplay) -> None:
        super().__init__(logging.WARNING)
        self._display = display

    def emit(self, record: logging.LogRecord) -> None:
        self._display.warn(record.getMessage())


@contextmanager
def showing_progress(console: Console, folder: Path, quiet: bool) -> Iterator[ProgressDisplay]:
    """A display for as long as a run or sweep goes on; an interruption says how to go on."""
    display, log = ProgressDisplay(console, quiet), logging.getLogger("shoal")
    handler = Warnings(display)
    log.addHandler(handler)
    try:
        yield display
    except KeyboardInterrupt as e:
        raise Interrupted(interrupted_sentence(folder, display.name, display.round)) from e
    finally:
        log.removeHandler(handler)


def interrupted_sentence(folder: Path, name: str, round: int) -> str:
    """What an interrupted user needs to know."""
    sweep = (folder / "sweep.json").exists()
    if not sweep and not (folder / "config.toml").exists():
        return "interrupted before the run began; nothing was written"
    which = f" of {name}" if sweep and name else ""
    when = f"after round {round}{which}" if round >= 0 else f"before the first round{which}"
    return f"interrupted {when}; go on with: {command('resume', folder)}"
