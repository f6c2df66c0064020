"""How many of a figure's cells were run, in words that pages, captions and pictures share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from shoal.recipes.judging.relations import Known
from shoal.recipes.store import usable

__all__ = ["left_out", "ran", "ran_of", "until"]

Ran = Literal["run", "unfinished", "not run"]


def ran(name: str, known: Known) -> Ran:
    """Whether a cell was run with the settings that its recipe has now.

    Args:
        name: Of the cell.
        known: All cells with what is stored of them.

    Returns:
        `run` if one of its seeds is complete, `unfinished` if one has begun.

    >>> from shoal.recipes.records import Cell
    >>> from shoal.recipes.store import Result
    >>> cell = Cell("p/t", "r", "a", "fedavg", {"rounds": 9})
    >>> [ran("a", {"a": (cell, Result(cell.settings, {0: {"complete": whole}}))}) for whole in (True, False)]
    ['run', 'unfinished']
    >>> ran("a", {"a": (cell, None)})
    'not run'
    """
    result = usable(*known[name])
    if result is None or not result.runs:
        return "not run"
    return "run" if result.seeds_done else "unfinished"


def ran_of(names: Sequence[str], known: Known) -> str:
    """How many of some cells were run, and how many have begun only.

    Args:
        names: Of the cells.
        known: All cells with what is stored of them.

    Returns:
        A part of a sentence.

    >>> from shoal.recipes.records import Cell
    >>> from shoal.recipes.store import Result
    >>> cell = Cell("p/t", "r", "a", "fedavg", {"rounds": 9})
    >>> begun = Result(cell.settings, {0: {"complete": False}})
    >>> ran_of(["a", "b"], {"a": (cell, begun), "b": (cell, None)})
    '0 of the 2 cells that it shows were run, 1 unfinished'
    """
    found = [ran(name, known) for name in dict.fromkeys(names)]
    begun = found.count("unfinished")
    more = f", {begun} unfinished" if begun else ""
    return f"{found.count('run')} of the {len(found)} cells that it shows were run{more}"


def left_out(names: Sequence[str], known: Known) -> str:
    """The same as a sentence, where not all were run; else nothing.

    Args:
        names: Of the cells.
        known: All cells with what is stored of them.

    Returns:
        A sentence with a space before it, or nothing.

    >>> from shoal.recipes.records import Cell
    >>> left_out(["a"], {"a": (Cell("p/t", "r", "a", "fedavg", {"rounds": 9}), None)})
    ' 0 of the 1 cells that it shows were run.'
    >>> left_out([], {})
    ''
    """
    return f" {ran_of(names, known)}." if any(ran(name, known) != "run" for name in names) else ""


def until(name: str, last: float, known: Known) -> str:
    """How far a cell is that is unfinished; nothing of others.

    Args:
        name: Of the cell.
        last: The last round that is drawn.
        known: All cells with what is stored of them.

    Returns:
        Words in brackets with a space before them, or nothing.

    >>> from shoal.recipes.records import Cell
    >>> from shoal.recipes.store import Result
    >>> cell = Cell("p/t", "r", "a", "fedavg", {"rounds": 100})
    >>> until("a", 12, {"a": (cell, Result(cell.settings, {0: {"complete": False}}))})
    ' (until round 12 of 100)'
    """
    return f" (until round {last:g} of {known[name][0].rounds})" if ran(name, known) == "unfinished" else ""
