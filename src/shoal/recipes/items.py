"""What the five papers have, 231 items, and what became of each: reproduced, departs, or not run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib.resources import files
from statistics import fmean
from typing import Literal

from shoal.recipes.records import Cell
from shoal.recipes.relations import Known, Verdict
from shoal.recipes.store import differs

__all__ = ["ITEMS", "Item", "Status", "count", "status_of"]

Status = Literal["reproduced", "departs", "not run"]
SCORES = ("best_accuracy", "last_three_accuracy")  # by which cells are judged
NEAR, ORDER = 2.5, 0.8  # mean distance in points, and rank correlation, from which on a table is reproduced
RULE = (
    "A table, or row of one, is reproduced if all of its cells were run, with one seed at least, and come near the "
    f"paper's figures: {NEAR} points on average, and in nearly the same order (rank correlation {ORDER}); where a "
    "recipe has a variant that imitates the authors' code or data, the nearer of both counts. A figure is reproduced "
    "if all of its curves were run. Either departs if at least half of its cells were run. A claim is reproduced if "
    "it holds in our runs. What a method does was judged by reading paper and code; `see` says where."
)


@dataclass(frozen=True)
class Item:
    """Something that a paper has.

    Attributes:
        paper: Its name.
        what: In our words.
        kind: `same`, `differs` or `absent`, as somebody judged; or what decides: `cells`, `curves`, `claim`.
        evidence: A file, a number of `docs/departures.md`, a reason; or a pattern of names of cells or statements.

    >>> len(ITEMS), ITEMS[0].paper
    (231, 'fedgroup')
    """

    paper: str
    what: str
    kind: Literal["same", "differs", "absent", "cells", "curves", "claim"]
    evidence: str


def read() -> tuple[Item, ...]:
    """The items of `items.tsv`."""
    text = (files("shoal.recipes") / "items.tsv").read_text(encoding="utf-8")
    return tuple(Item(*line.split("\t")) for line in text.splitlines())  # type: ignore[arg-type]


ITEMS = read()


def status_of(item: Item, known: Known, verdicts: Mapping[str, Verdict]) -> Status:
    """What became of an item.

    By `RULE`, which stands on the page of items.

    Args:
        item: The item.
        known: All cells with what is stored of them.
        verdicts: On all statements, by name.

    Returns:
        One of three.

    >>> status_of(Item("cfl", "the exact cut", "same", "D4"), {}, {})
    'reproduced'
    """
    if item.kind in ("same", "differs", "absent"):
        judged: dict[str, Status] = {"same": "reproduced", "differs": "departs", "absent": "not run"}
        return judged[item.kind]
    if item.kind == "claim":
        says = {v.says for name, v in verdicts.items() if fnmatchcase(name, item.evidence)}
        return "departs" if "does not hold" in says else "not run" if says != {"holds"} else "reproduced"
    cells = [cell for name, (cell, _) in known.items() if fnmatchcase(name, item.evidence) and not cell.of]
    done = [cell for cell in cells if ours(cell, known) is not None]
    if len(done) < len(cells):
        return "departs" if 2 * len(done) >= len(cells) else "not run"
    return "reproduced" if item.kind == "curves" or near(done, known) else "departs"


def ours(cell: Cell, known: Known) -> float | None:
    """Our mean score of a cell in per cent, None if no run of it is complete."""
    _, result = known[cell.name]
    if result is None or differs(cell, result) is not None:
        return None
    score = next((s for s in SCORES if s in cell.paper), SCORES[0])
    values = result.values(score)
    return 100 * fmean(values.values()) if values else None


def near(cells: Sequence[Cell], known: Known) -> bool:
    """Whether the cells that have a published score come near it, in distance and in order."""
    printed, found = [], []
    variants: dict[str, list[Cell]] = {}
    for cell, _ in known.values():
        if cell.of:
            variants.setdefault(cell.of, []).append(cell)
    for cell in cells:
        paper = next((cell.paper[s] for s in SCORES if cell.paper.get(s) is not None), None)
        if paper is None:
            continue
        mine = [v for one in (cell, *variants.get(cell.name, ())) if (v := ours(one, known)) is not None]
        printed.append(paper)
        found.append(min(mine, key=lambda v: abs(v - paper)))
    if not printed:
        return True
    distance = fmean(abs(a - b) for a, b in zip(printed, found, strict=True))
    return distance <= NEAR and (len(printed) < 3 or correlation(printed, found) >= ORDER)


def correlation(a: Sequence[float], b: Sequence[float]) -> float:
    """Of ranks, by Spearman.

    >>> correlation([1, 2, 3], [10, 20, 15]), correlation([1, 1, 2], [1, 1, 3])
    (0.5, 1.0)
    """
    from scipy.stats import spearmanr

    return round(float(spearmanr(a, b).statistic), 12)


def count(statuses: Sequence[Status]) -> Counter[Status]:
    """How many of each.

    Args:
        statuses: Of items.

    Returns:
        Counts by status.

    >>> count(["departs", "departs"])["departs"]
    2
    """
    return Counter(statuses)
