"""A comparison as a table: columns that know their head and unit, cells with value, text and the mark of the best.

Terminal, CSV, LaTeX and HTML render these records; none of them works out a figure, a head or a mark by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from shoal.analysis.compare import Line, Spread, figures_for
from shoal.analysis.quantities import Quantity
from shoal.analysis.significance import Difference
from shoal.errors import unknown
from shoal.loop.words import clients_of as clients_of
from shoal.scores import ACCURACY

__all__ = ["Cell", "Comparison", "tabulate"]

NOTHING = "-"
NOT_COMPLETE = "not complete: go on with shoal resume"


class Head(NamedTuple):
    """A head of a column: where room is scarce, and on a page."""

    short: str
    long: str


@dataclass(frozen=True)
class Cell:
    """A figure of a setting: its value, how it is shown, and whether no other setting has a better one.

    Attributes:
        value: The spread over runs; None where there is none for all clients.
        text: The mean as text.
        around: The standard deviation as text, if there is one.
        note: Which runs or clients it is about, where not all.
        best: Whether it is the best of its column.

    >>> Cell().shown(), Cell(Spread(0.934, None, 1), "93.4", best=True).shown()
    ('-', '93.4')
    """

    value: Spread | None = None
    text: str = NOTHING
    around: str = ""
    note: str = ""
    best: bool = False

    def shown(self, sign: str = "±") -> str:
        """All of it as text.

        >>> Cell(None, "93.4", "0.2", "2 of 3").shown(" ± ")
        '93.4 ± 0.2 (2 of 3)'
        """
        around = f"{sign}{self.around}" if self.around else ""
        return f"{self.text}{around}{f' ({self.note})' if self.note else ''}"


@dataclass(frozen=True)
class Comparison:
    """Settings side by side: a row of cells per line, a cell per column.

    Attributes:
        columns: The figures that are shown.
        lines: The settings.
        rows: For each setting a cell per figure.

    >>> tabulate([Line("fedavg", ("runs/a",), False, {"best_accuracy": Spread(0.5, None, 1)})]).names
    ['fedavg *']
    """

    columns: tuple[Quantity, ...]
    lines: tuple[Line, ...]
    rows: tuple[tuple[Cell, ...], ...]

    @property
    def names(self) -> list[str]:
        """What the rows are called; a star marks those that are not complete."""
        return [line.name + ("" if line.complete else " *") for line in self.lines]

    @property
    def complete(self) -> bool:
        return all(line.complete for line in self.lines)

    @property
    def stopped(self) -> str | None:
        """Which runs ended before their last round; None: all played all of theirs.

        >>> tabulate([Line("ifca", ("a", "b", "c"), True, {}, stopped=(41, 37))]).stopped
        'stopped before their last round: ifca, 2 of 3 runs, after 37 to 41 rounds'
        """
        told = []
        for line in self.lines:
            if line.stopped:
                first, last = min(line.stopped), max(line.stopped)
                after = f"{first} rounds" if first == last else f"{first} to {last} rounds"
                which = f", {len(line.stopped)} of {len(line.runs)} runs" if len(line.runs) > 1 else ""
                told.append(f"{line.name}{which}, after {after}")
        return f"stopped before their last round: {'; '.join(told)}" if told else None

    def meanings(self, target: float | None = None) -> list[tuple[Head, str]]:
        """What each column means; `target` is the value of the score that was asked for, if one was."""
        found = []
        score = self.lines[0].score if self.lines else ACCURACY
        for quantity in self.columns:
            aim = f" ({score.show(target)})" if target is not None and quantity.key == "rounds_to_target" else ""
            found.append((Head(quantity.head, quantity.long_head), quantity.meaning + aim))
            some = any(cell.value is None and cell.note for row in self.rows for cell in row)
            if quantity.key == score.key("best") and some:
                partial = (
                    f"no round had a model for all: best {score.title} of those that had one, and how many had one"
                )
                found.append((Head("(clients)", "(clients)"), partial))
        return found


def chosen_columns(lines: Sequence[Line], wanted: Sequence[str]) -> list[Quantity]:
    """The figures of some names, in their order; a sentence for a name that the runs do not have.

    >>> [q.head for q in chosen_columns([], ["ari", "best_accuracy"])]
    ['ARI', 'best %']
    """
    known = figures_for(lines)
    for key in wanted:
        if key not in known:
            raise unknown("column", key, known)
    return [known[key] for key in dict.fromkeys(wanted)]


def stand_in(line: Line, quantity: Quantity) -> Spread | None:
    """What is shown, with its coverage, where no round had a model for all clients."""
    return line.figures.get(line.score.key("best_partial")) if quantity.key == line.score.key("best") else None


def tabulate(lines: Sequence[Line], columns: Iterable[Quantity] | None = None, everything: bool = False) -> Comparison:
    """Lines of a comparison as a table.

    Args:
        lines: what `compare` found.
        columns: the figures to show; by default those that some line has a value for.
        everything: whether the rarer figures are among these.

    Returns:
        The table, in which the best cells of ranked columns are marked.

    >>> lines = [Line(name, ("run",), True, {"ari": Spread(x, None, 1)}) for name, x in (("a", -0.2), ("b", -0.01))]
    >>> [(cell.text, cell.best) for [cell] in tabulate(lines).rows]
    [('-0.20', False), ('-0.01', True)]
    """
    if columns is None:
        wanted = ("always", "rarely") if everything else ("always",)
        columns = [q for q in figures_for(lines).values() if q.shown in wanted and any(has(line, q) for line in lines)]
    chosen = tuple(columns)
    by_column = [marked([cell_of(line, quantity) for line in lines], lines, quantity) for quantity in chosen]
    rows = tuple(tuple(cells[i] for cells in by_column) for i in range(len(lines)))
    return Comparison(chosen, tuple(lines), rows)


def has(line: Line, quantity: Quantity) -> bool:
    return line.figures.get(quantity.key) is not None or stand_in(line, quantity) is not None


def cell_of(line: Line, quantity: Quantity) -> Cell:
    """A figure of a setting; one that not every run has says how many do, one of some clients how many these are."""
    found = line.figures.get(quantity.key)
    if found is None:
        return partial_cell(line, quantity)
    note = f"{found.n} of {len(line.runs)}" if found.n < len(line.runs) else ""
    return Cell(found, quantity.text(found.mean), quantity.around(found.std) if found.std else "", note)


def partial_cell(line: Line, quantity: Quantity) -> Cell:
    """The best score where no round had all clients: of those that had a model, and how many these are."""
    found = stand_in(line, quantity)
    if found is None:
        return Cell()
    around = quantity.around(found.std) if found.std else ""
    clients, of = (line.figures.get(f"best_partial_{part}") for part in ("clients", "of"))
    note = clients_of(None if clients is None else clients.mean, None if of is None else of.mean)
    return Cell(None, quantity.text(found.mean), around, note)


def partial_note(summary: Mapping[str, Any], which: Literal["best", "last"]) -> str:
    """Whom the score of a partial round in a summary is about, and the round.

    >>> partial_note({"best_partial_clients": 78, "best_partial_of": 1000, "best_partial_round": 1}, "best")
    'of 78 of 1,000 clients, in round 1'
    """
    clients, of, at = (summary.get(f"{which}_partial_{part}") for part in ("clients", "of", "round"))
    return f"of {clients_of(clients, of)}, in round {at}"


def marked(cells: Sequence[Cell], lines: Sequence[Line], quantity: Quantity) -> list[Cell]:
    """The cells of a column with the best of them marked, as far as the shown digits tell; all runs must have it."""
    values = {
        i: quantity.rounded(cell.value.mean)
        for i, (cell, line) in enumerate(zip(cells, lines, strict=True))
        if cell.value is not None and cell.value.n == len(line.runs)
    }
    if not quantity.ranked or quantity.better is None or len(values) < 2:
        return list(cells)
    best = (min if quantity.better == "lower" else max)(values.values())
    return [replace(cell, best=values.get(i) == best) for i, cell in enumerate(cells)]


def difference_heads(quantity: Quantity) -> list[Head]:
    """The heads of a table of differences in one figure."""
    unit = "points" if quantity.unit == "%" else quantity.unit
    return [
        Head("setting", "setting"),
        Head(f"{quantity.head} diff.", f"difference ({unit})" if unit else "difference"),
        Head("95 %", "95 % interval"),
        Head("d", "effect d"),
        Head("p", "p"),
        Head("Holm", "p (Holm)"),
        Head("n", "n"),
        Head("test", "test"),
    ]


def difference_cells(found: Difference, quantity: Quantity) -> list[str]:
    """A difference as text.

    >>> found = Difference("a", "b", (3, 3), -0.05, -0.1, 0.0, -1.2, 0.25, 0.25, 0.5, "sign flips")
    >>> difference_cells(found, figures_for([])["best_accuracy"])
    ['a', '-5.00', '-10.00 to 0.00', '-1.2', '0.25', '0.5', '3', 'sign flips']
    """
    low, high, form = found.low, found.high, ".2f" if quantity.digits is not None else ".3g"
    scale = quantity.scale
    interval = NOTHING if low is None or high is None else f"{scale * low:{form}} to {scale * high:{form}}"
    small = [NOTHING if v is None else f"{v:.2g}" for v in (found.effect, found.p, found.p_holm)]
    n = f"{found.n[0]}" if found.test != "Welch" else f"{found.n[0]} and {found.n[1]}"
    return [found.setting, f"{scale * found.mean:+{form}}", interval, *small, n, found.test or "one run: none"]


TESTS = {
    "sign flips": "exact: the signs of the differences are flipped in all ways",
    "paired t": "Student's t of the differences, which takes them as normal",
    "Welch": "Welch's t of two samples: the settings share fewer than two seeds",
}


def difference_notes(found: Sequence[Difference], quantity: Quantity) -> dict[str, str]:
    """What the columns mean that have something in them, the tests that were made, and how little few seeds can tell.

    Args:
        found: the differences of one table.
        quantity: the figure they are in.

    Returns:
        What is explained, by its short head.
    """
    way = {"higher": ": above 0 is better", "lower": ": below 0 is better", None: ""}[quantity.better]
    unit = ", in points" if quantity.unit == "%" else f", in {quantity.unit}" if quantity.unit else ""
    notes = {"diff.": f"mean of the setting minus {found[0].against}{unit}{way}"}
    if any(d.low is not None for d in found):
        notes["95 %"] = "interval of the difference, by Student's t"
    if any(d.effect is not None for d in found):
        notes["d"] = "effect: the difference in standard deviations"
    tested = [d for d in found if d.p is not None]
    if tested:
        notes["p"] = "how often chance alone gives a difference this large"
        several = len(tested) > 1
        notes["Holm"] = (
            f"p corrected for looking at {len(tested)} differences" if several else "as p: nothing to correct"
        )
    pairs, apart = any(d.test != "Welch" for d in found), any(d.test == "Welch" for d in found)
    kinds = ["pairs of runs with the same seed"] * pairs + ["runs of the setting and of the other"] * apart
    notes["n"] = ", or ".join(kinds)
    notes |= {test: why for test, why in TESTS.items() if any(d.test == test for d in found)}
    least = sorted({d.n[0]: d.least_p for d in found if d.least_p is not None}.items())
    never = "exact sign flips cannot give a p below {:.2g}, however clear the case"
    return notes | {f"{n} pairs": never.format(p) for n, p in least}
