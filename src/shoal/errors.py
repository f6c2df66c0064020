"""What goes wrong because of something a user can mend: one sentence, one exit code, no traceback."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class ShoalError(Exception):
    """A run could not go on; the message is one sentence that says what is wrong and what to do.

    >>> raise ShoalError("no client answered; look at events.jsonl")
    Traceback (most recent call last):
    shoal.errors.ShoalError: no client answered; look at events.jsonl
    """

    exit_code = 1


class BadInput(ShoalError):
    """An unknown name, key or value."""

    exit_code = 2


class DataMissing(ShoalError):
    """A data set that is not on this machine, or a folder that holds none."""

    exit_code = 3


class RunFolderError(ShoalError):
    """A run folder that cannot be written, read or continued."""

    exit_code = 4


class TooFewAnswers(ShoalError):
    """Fewer clients answered than `min_answers` asks for; the round changes nothing."""

    def __init__(self, message: str, came: int) -> None:
        super().__init__(message)
        self.came = came


def unknown(kind: str, word: str, known: Iterable[str], hint: str = "") -> BadInput:
    """The error for a name that does not exist, with the nearest one that does.

    >>> str(unknown("algorithm", "fedagv", ["fedavg", "fedprox"]))
    "unknown algorithm 'fedagv'; did you mean 'fedavg'? Known: fedavg, fedprox."
    """
    names = sorted(known)
    near = difflib.get_close_matches(word, names, n=1)
    guess = f"; did you mean {near[0]!r}?" if near else ";"
    listed = f" Known: {', '.join(names)}." if near else f" known: {', '.join(names)}."
    return BadInput(f"unknown {kind} {word!r}{guess}{listed}{' ' + hint if hint else ''}")
