"""How commands end: one sentence and an exit code for what a user can mend, signals that leave a resumable run."""

from __future__ import annotations

import functools
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import ParamSpec

import typer

from shoal.errors import ShoalError

P = ParamSpec("P")
INTERRUPTED = 130
SAME_PRESS = 1.0  # seconds in which a second signal is taken for the same wish, so that clearing up is not disturbed


class Interrupted(ShoalError):
    """Ctrl-C or a request to end; the message says how to go on."""

    exit_code = INTERRUPTED


def guarded(command: Callable[P, None]) -> Callable[P, None]:
    """The command with its errors as one sentence on stderr; tracebacks only with SHOAL_DEBUG=1."""

    @functools.wraps(command)
    def inner(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            with signals():
                command(*args, **kwargs)
        except (Exception, KeyboardInterrupt) as e:
            if isinstance(e, typer.Exit):
                raise
            if os.environ.get("SHOAL_DEBUG") == "1":
                raise
            sentence, code = explain(e)
            print(sentence, file=sys.stderr)
            raise typer.Exit(code) from e

    return inner


def explain(error: BaseException) -> tuple[str, int]:
    """One line for the user, and the exit code.

    >>> from shoal.errors import BadInput
    >>> explain(BadInput("unknown key 'x'"))
    ("shoal: unknown key 'x'", 2)
    """
    text = " ".join(str(error).split())
    if isinstance(error, Interrupted):
        return text, error.exit_code
    if isinstance(error, ShoalError):
        return f"shoal: {text}", error.exit_code
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", INTERRUPTED
    if isinstance(error, OSError) and error.strerror:
        where = f" ({error.filename})" if error.filename else ""
        return f"shoal: the system refused: {error.strerror.lower()}{where}", 1
    if isinstance(error, MemoryError):
        return f"shoal: there is not enough memory{f': {text}' if text else ''}", 1
    what = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return f"shoal: this is a bug in Shoal: {what} (SHOAL_DEBUG=1 shows where)", 1


@contextmanager
def signals() -> Iterator[None]:
    """A request to end (SIGTERM) does what Ctrl-C does; who ignores Ctrl-C, as a shell's background job, still does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    last = -SAME_PRESS

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= SAME_PRESS:
            last = now
            raise KeyboardInterrupt

    heard = [s for s in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(s) is not signal.SIG_IGN]
    before = {s: signal.signal(s, stop) for s in heard}
    try:
        yield
    finally:
        for s, handler in before.items():
            signal.signal(s, handler)
