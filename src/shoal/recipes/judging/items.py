"""What the five papers have, 231 items, and what became of each, by reading and by runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib.resources import files
from itertools import chain, combinations, product
from statistics import fmean
from typing import Literal

from shoal.recipes.judging.derived import values_of
from shoal.recipes.judging.relations import Known, Verdict
from shoal.recipes.records import Cell
from shoal.recipes.store import Result, usable

__all__ = ["ITEMS", "Item", "Status", "status_of", "variant_of"]

Status = Literal["same", "departs", "reproduced", "drawn", "partly", "undecided", "begun", "not run", "absent"]
BY_READING = ("same", "differs", "absent")  # kinds of methods and settings; all others are tables, figures and claims
NEAR, FAR, APART, ORDER = 2.5, 5.0, 0.25, 0.8  # points, points, share of the paper's figure, rank correlation
RULE = (
    "What a method or a setting is was judged by reading paper and code: `same` or `departs`; `see` says where. "
    "Tables, figures and claims are judged by runs; a few figures by what was measured or drawn without runs, on the "
    "page that `see` names. A table, or row of one, is reproduced if all of its cells were run with all seeds "
    "that the recipe asks for, and every quantity that the paper prints comes near: "
    f"accuracies and F1 within {NEAR} points on average and none more than {FAR:g} away, others within {APART:.0%} of "
    f"the paper's on average, and in nearly the same order (rank correlation {ORDER}). Where a recipe has variants "
    "that imitate the authors' code or data, these may count, for the whole row; their names are given. If all cells "
    "were run and no variant comes near, it departs. A figure is drawn if all of its curves were run with all seeds; "
    "whether it shows what the paper's does is left to the statements. Either is begun if some of its cells have a "
    "complete run, and not all of them all seeds. A claim is reproduced if all of its statements hold with all seeds, "
    "departs if one does not hold with all seeds, is undecided if all were judged with all seeds and one is undecided, "
    "and begun if some were judged. What would be reproduced or drawn, but lacks a part of the paper's, such as a data "
    "set or the network, is so partly; `see` says what is missing. Absent is what cannot be had, such as data that "
    "cannot be fetched, and tables that need it."
)


@dataclass(frozen=True)
class Item:
    """Something that a paper has.

    Attributes:
        paper: Its name.
        what: In our words.
        kind: Of a method or a setting `same`, `differs` or `absent`, as somebody judged. Of a table, a figure or a
            claim what decides: `cells`, `curves`, `claim`; or `partly` or `departs`, as somebody judged by a page.
        evidence: A file, a number of `docs/departures.md`, a reason; or what decides: patterns of names of cells or
            statements, or a table whose panels are meant.
        remark: Of tables, figures and claims: what of the paper's is missing, so that it is reproduced partly at most,
            or why it departs.

    >>> len(ITEMS), ITEMS[0].paper
    (231, 'fedgroup')
    """

    paper: str
    what: str
    kind: Literal["same", "differs", "absent", "cells", "curves", "claim", "partly", "departs"]
    evidence: str
    remark: str = ""


def read() -> tuple[Item, ...]:
    """The items of `items.tsv`."""
    text = (files("shoal.recipes.judging") / "items.tsv").read_text(encoding="utf-8")
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
        One of nine.

    >>> status_of(Item("cfl", "the exact cut", "same", "D4"), {}, {})
    'same'
    """
    if item.kind == "differs":
        return "departs"
    if item.kind == "claim":
        found = claim_status(item, verdicts)
    elif item.kind == "cells" or item.kind == "curves":
        found = cells_status(item, known)
    else:
        return item.kind
    return "partly" if item.remark and found in ("reproduced", "drawn") else found


def claim_status(item: Item, verdicts: Mapping[str, Verdict]) -> Status:
    """A claim by its statements."""
    words = item.evidence.split()
    said = {name: verdict for name, verdict in verdicts.items() if not verdict.relation.ours}
    mine = [v for name, v in said.items() if any(fnmatchcase(name, word) for word in words)]
    if any(v.says == "does not hold" and v.settled for v in mine):
        return "departs"
    if mine and all(v.settled and v.says in ("holds", "undecided") for v in mine):
        return "reproduced" if all(v.says == "holds" for v in mine) else "undecided"
    return "begun" if any(v.says != "not run" for v in mine) else "not run"


def cells_status(item: Item, known: Known) -> Status:
    """A table or a figure by its cells."""
    cells = covered(item, known)
    if cells and all(cell.why_not and not stored(cell, known).seeds_done for cell in cells):
        return "absent"
    if all(is_done(cell, known) for cell in cells):
        if item.kind == "curves":
            return "drawn"
        return "departs" if variant_of(item, known) is None else "reproduced"
    return "begun" if any(stored(cell, known).seeds_done for cell in cells) else "not run"


def variant_of(item: Item, known: Known) -> tuple[str, ...] | None:
    """By what a table comes near the paper: the names of a variant, none if the paper's own cells do.

    Args:
        item: Judged by cells, all of which were run.
        known: All cells with what is stored of them.

    Returns:
        Ends of rows and columns, such as `shared` and `first`; None: nothing comes near.
    """
    for ends, way in ways(covered(item, known), known).items():
        if near(way, known):
            return tuple(end.removeprefix("-") for end in ends if end)
    return None


def covered(item: Item, known: Known) -> list[Cell]:
    """The paper's own cells that an item is about.

    >>> from shoal.recipes import PAPERS
    >>> known = {cell.name: (cell, None) for paper in PAPERS.values() for table in paper.tables for cell in table.cells}
    >>> [cell.row for cell in covered(Item("fedgroup", "Fig. 1", "curves", "fedgroup/fig1"), known)]
    ['classes-1', 'classes-3', 'classes-5', 'classes-10']
    """
    from shoal.recipes import PAPERS

    figures = {table.name: table for paper in PAPERS.values() for table in paper.tables if table.panels}
    names: dict[str, None] = {}
    for word in item.evidence.split():
        if word in figures:
            names |= dict.fromkeys(name for panel in figures[word].panels for name in panel.cells)
        else:
            names |= dict.fromkeys(name for name in known if fnmatchcase(name, word))
    return [cell for name in names if not (cell := known[name][0]).of]


def stored(cell: Cell, known: Known) -> Result:
    """What is stored of a cell under its settings; empty if nothing is."""
    return usable(*known[cell.name]) or Result(cell.settings)


def is_done(cell: Cell, known: Known) -> bool:
    return len(stored(cell, known).seeds_done) >= cell.seeds


def ways(cells: Sequence[Cell], known: Known) -> dict[tuple[str, ...], list[tuple[Cell, Cell]]]:
    """The paper's cells, each with the one of ours that is set beside it: itself, or a variant, the same for all.

    A variant is told by what its row and its column have beyond the paper's: `-shared`, `-first`. There may be several
    of columns, such as `-first` of one method and `-counts` of another; a column without a variant stands as it is. The
    paper's own cells come first, then what needs few variants.
    """
    variants: dict[str, dict[tuple[str, str], Cell]] = {}
    for one, _ in known.values():
        base = known[one.of][0] if one.of else one
        ends = (one.row.removeprefix(base.row), one.column.removeprefix(base.column))
        variants.setdefault(base.name, {})[ends] = one
    both = {ends for cell in cells for ends in variants[cell.name]}
    rows, columns = sorted({row for row, _ in both}), sorted({column for _, column in both if column})
    found = {}
    for row, some in product(rows, chain.from_iterable(combinations(columns, n) for n in range(len(columns) + 1))):
        chosen = [variant((row, *some), variants[cell.name]) for cell in cells]
        way = [(paper, ours) for paper, ours in zip(cells, chosen, strict=True) if ours is not None]
        if len(way) == len(cells) and all(is_done(ours, known) for _, ours in way):
            found[row, *some] = way
    return found


def variant(ends: Sequence[str], there: Mapping[tuple[str, str], Cell]) -> Cell | None:
    """Of the variants of a cell the one with this end of its row, and one of these of its column if there is one."""
    row, *columns = ends
    return next((there[row, column] for column in (*columns, "") if (row, column) in there), None)


def near(way: Sequence[tuple[Cell, Cell]], known: Known) -> bool:
    """Whether everything that the paper prints of some cells comes near in ours, in distance and in order."""
    quantities = dict.fromkeys(name for paper, _ in way for name, value in paper.paper.items() if value is not None)
    for quantity in quantities:
        points = quantity.endswith(("accuracy", "f1"))
        printed, found = [], []
        for paper, ours in way:
            value = paper.paper.get(quantity)
            if value is not None:
                mine = values_of(quantity, stored(ours, known))
                if not mine:
                    return False
                printed.append(value)
                found.append((100 if points else 1) * fmean(mine.values()))
        distances = [abs(a - b) / (1 if points else abs(a)) for a, b in zip(printed, found, strict=True)]
        if fmean(distances) > (NEAR if points else APART) or (points and max(distances) > FAR):
            return False
        if len(printed) > 2 and correlation(printed, found) < ORDER:
            return False
    return True


def correlation(a: Sequence[float], b: Sequence[float]) -> float:
    """Of ranks, by Spearman.

    >>> correlation([1, 2, 3], [10, 20, 15]), correlation([1, 1, 2], [1, 1, 3])
    (0.5, 1.0)
    """
    from scipy.stats import spearmanr

    return round(float(spearmanr(a, b).statistic), 12)
