"""How far a run is, in one line that is written over: in a terminal, in a notebook, and as lines in a pipe."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, TextIO

from shoal.loop.history import coverage
from shoal.loop.plan import Plan, RoundResult
from shoal.loop.words import clients_of, clock
from shoal.observers.observer import Observer
from shoal.scores import ACCURACY, Score

__all__ = ["ProgressLine", "due", "line", "progress_line", "score_in"]

MIN_PAUSE = 0.9  # seconds at least between two lines in a pipe; the last round is always told
PAUSE = 10.0  # seconds after which a pipe gets a line, though no tenth of the rounds has gone by
BLINK = 0.1  # seconds at least between two looks of a line that is written over


class ProgressLine(Observer):
    """Writes how far a run is. One serves the runs of a sweep one after the other; `announce` names the next.

    Args:
        stream: Where to; None: the error stream, or the output of a cell in a notebook.
        timer: Seconds of a clock.

    >>> import sys, shoal
    >>> _ = shoal.run("fedavg", rounds=2, engine="serial", observers=[ProgressLine(sys.stdout)])
    fedavg  round 2/2  accuracy ... %  groups 1  loss ...  0:00 left
    """

    def __init__(self, stream: TextIO | None = None, timer: Callable[[], float] = time.monotonic) -> None:
        self._notebook = stream is None and in_notebook()
        self._stream, self._timer = stream or sys.stderr, timer
        self._over = self._notebook or self._stream.isatty()  # whether a line can be written over
        self._name = self._prefix = ""
        self._plan: Plan | None = None
        self._began, self._told, self._first, self._wide = 0.0, 0.0, 0, 0
        self._tested: Mapping[str, Any] = {}  # the last record with a score
        self._cell: Any = None

    def announce(self, name: str, number: int, total: int) -> tuple[Observer, ...]:
        """The next run of a sweep is on."""
        self._name, self._prefix = name, f"{number}/{total} "
        return (self,)

    def start(self, plan: Plan, label: str, begin: int) -> None:
        self._name = self._name if self._prefix else label
        self._plan, self._first, self._tested = plan, begin, {}
        self._began = self._told = self._timer()

    def note(self, text: str) -> None:
        self._whole(self._prefix + text)

    def after_round(self, result: RoundResult) -> None:
        assert self._plan is not None
        score, rounds, now = self._plan.score, self._plan.rounds, self._timer()
        self._tested = result.row if result.row.get(score.name) is not None else self._tested
        last = result.round == rounds or result.stopped is not None
        silence = now - self._told
        if not last and not (silence >= BLINK if self._over else due(result.round, rounds, silence)):
            return
        self._told = now
        done = result.round - self._first
        left = clock((now - self._began) / done * (rounds - result.round)) if done > 0 else "?"
        served = f"{score.title} {score_in(self._tested, score, short=True)}"
        self._show(self._prefix + line(self._name, result.round, rounds, served, result.row, left))
        if result.stopped is not None:
            self._whole(f"{self._prefix}{self._name} stops after round {result.round}: {result.stopped}")

    def stop(self) -> None:
        if self._wide:
            self._stream.write("\n")
            self._stream.flush()
        self._wide, self._cell = 0, None

    def _show(self, text: str) -> None:
        """A line that the next one is written over, where that can be."""
        if self._notebook:
            self._in_cell(text)
        elif self._over:
            room = max(shutil.get_terminal_size().columns - 1, 20)
            text = text if len(text) <= room else f"{text[: room - 1]}…"
            self._stream.write(f"\r{text:<{self._wide}}")
            self._stream.flush()
            self._wide = len(text)
        else:
            self._whole(text)

    def _whole(self, text: str) -> None:
        """A line that stays."""
        if self._notebook:
            self._in_cell(text)
            self._cell = None
            return
        self.stop()
        self._stream.write(f"{text}\n")
        self._stream.flush()

    def _in_cell(self, text: str) -> None:
        from IPython.display import display  # type: ignore[import-not-found, unused-ignore]

        if self._cell is None:
            self._cell = display({"text/plain": text}, raw=True, display_id=True)  # type: ignore[no-untyped-call, unused-ignore]
        else:
            self._cell.update({"text/plain": text}, raw=True)


def progress_line(wanted: bool | None) -> ProgressLine | None:
    """What shows the progress of a run from Python, if anything does.

    Args:
        wanted: Whether it is shown; None: on a terminal and in a notebook.

    Returns:
        The observer, or None.

    >>> progress_line(False) is None, progress_line(True) is None
    (True, False)
    """
    shown = (in_notebook() or sys.stderr.isatty()) if wanted is None else wanted
    return ProgressLine() if shown else None


def in_notebook() -> bool:
    """Whether this is a notebook, whose cells show more than text. Nobody is imported to know."""
    found = sys.modules.get("IPython")
    shell = found.get_ipython() if found is not None and hasattr(found, "get_ipython") else None
    return getattr(shell, "kernel", None) is not None


def due(round: int, rounds: int, silence: float) -> bool:
    """Whether a pipe gets a line: at the last round, at each tenth unless that is too often, and after a silence.

    >>> due(10, 100, 1.0), due(10, 100, 0.1), due(11, 100, 1.0), due(11, 100, 10.0), due(100, 100, 0.0)
    (True, False, False, True, True)
    """
    tenth = round > 0 and round * 10 // rounds > (round - 1) * 10 // rounds
    return round == rounds or (tenth and silence >= MIN_PAUSE) or silence >= PAUSE


def score_in(row: Mapping[str, Any], score: Score = ACCURACY, short: bool = False) -> str:
    """The score of a tested round, with whom it is about where some clients have no model yet.

    >>> row = {"accuracy": 0.908, "partial": True, "tested": 78, "tested_of": 1000}
    >>> score_in(row), score_in(row, short=True), score_in({"accuracy": 0.334}), score_in({})
    ('90.8 % of 78 of 1,000 clients', '90.8 % of 78', '33.4 %', '-')
    """
    shown = score.show(row.get(score.name))
    if row.get(score.name) is None or not row.get("partial"):
        return shown
    clients, of = coverage(row)
    return f"{shown} of {clients if short else clients_of(clients, of)}"


def line(name: str, round: int, rounds: int, served: str, row: Mapping[str, Any], left: str) -> str:
    """How far a run is, in one line.

    >>> line("fedavg", 10, 50, "accuracy 33.4 %", {"groups": 1, "loss": 1.934}, "0:12")
    'fedavg  round 10/50  accuracy 33.4 %  groups 1  loss 1.93  0:12 left'
    """
    loss = row.get("loss")
    parts = [name, f"round {round}/{rounds}", served, f"groups {row.get('groups', '-')}"]
    parts += [f"loss {loss:.2f}"] if loss is not None else []
    return "  ".join([*parts, f"{left} left"])
