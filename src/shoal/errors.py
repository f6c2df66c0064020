"""What goes wrong because of something a user can mend: one sentence, one exit code, no traceback."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterable

__all__ = ["BadInput", "DataMissing", "RunFolderError", "ShoalError", "TooFewAnswers", "command", "unknown"]


class ShoalError(Exception):
    """A run could not go on; the message is one sentence that says what is wrong and what to do.

    >>> raise ShoalError("no client answered; look at events.jsonl")
    Traceback (most recent call last):
    shoal.errors.ShoalError: no client answered; look at events.jsonl
    """

    exit_code = 1


class BadInput(ShoalError):
    """An unknown name, key or value.

    >>> BadInput("rounds must be at least 0, not -1").exit_code
    2
    """

    exit_code = 2


class DataMissing(ShoalError):
    """A data set that is not on this machine, or a folder that holds none.

    >>> DataMissing("data set 'mnist' is not on this machine; run `shoal fetch mnist`").exit_code
    3
    """

    exit_code = 3


class RunFolderError(ShoalError):
    """A run folder that cannot be written, read or continued.

    >>> RunFolderError("there is no folder runs/first").exit_code
    4
    """

    exit_code = 4


class TooFewAnswers(ShoalError):
    """Fewer clients answered than `min_answers` asks for; the round changes nothing.

    Args:
        message: One sentence.
        came: How many clients answered.

    >>> TooFewAnswers("2 of 20 clients answered, 5 are needed", came=2).came
    2
    """

    def __init__(self, message: str, came: int) -> None:
        super().__init__(message)
        self.came = came


def unknown(kind: str, word: str, known: Iterable[str], hint: str = "") -> BadInput:
    """The error for a name that does not exist, with the nearest one that does.

    Args:
        kind: What such things are called, as in "unknown algorithm".
        word: What was given.
        known: What there is.
        hint: One more sentence.

    Returns:
        The error, to be raised.

    >>> str(unknown("algorithm", "fedagv", ["fedavg", "fedprox"]))
    "unknown algorithm 'fedagv'; did you mean 'fedavg'? Known: fedavg, fedprox."
    >>> str(unknown("algorithm", "FedAvg", ["fedavg", "fedprox"]))
    "unknown algorithm 'FedAvg'; did you mean 'fedavg'? Known: fedavg, fedprox."
    """
    names = sorted(known)
    plain = {name.lower(): name for name in reversed(names)}
    near = [plain[name] for name in difflib.get_close_matches(word.lower(), plain, n=1)]
    guess = f"; did you mean {near[0]!r}?" if near else ";"
    listed = f" Known: {', '.join(names)}." if near else f" known: {', '.join(names)}."
    return BadInput(f"unknown {kind} {word!r}{guess}{listed}{' ' + hint if hint else ''}")


def command(*words: object) -> str:
    """What to type next: a command of Shoal, with what a shell would take apart in quotation marks.

    Args:
        words: of the command, such as a path or `rounds=40`.

    Returns:
        One line for a shell.

    >>> command("resume", "my runs/first", "rounds=40")
    "shoal resume 'my runs/first' rounds=40"
    """
    return shlex.join(["shoal", *map(str, words)])


def listing(names: Iterable[str]) -> str:
    """Names as one says them.

    >>> listing(["fedavg"]), listing(["fedavg", "local", "ifca"])
    ('fedavg', 'fedavg, local and ifca')
    """
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
