"""The verdict of our runs on a statement of a paper."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Literal

from shoal.analysis.significance import paired
from shoal.recipes.judging.claims import POINTS, Relation
from shoal.recipes.judging.derived import values_of
from shoal.recipes.records import Cell
from shoal.recipes.store import Result, Store, usable

__all__ = ["Relation", "Verdict", "judge"]

Known = Mapping[str, tuple[Cell, Result | None]]  # cells by name
Says = Literal["holds", "does not hold", "undecided", "not run"]
AGREE = 3 / 4  # of the seeds, with two or more, must be on the side of the mean
SEEN = 0.1  # points: what tables of accuracies print is no finer
TWICE = 2.0  # so far apart must two spreads over a few seeds be
OVER: dict[str, Callable[[list[float]], float]] = {"mean": fmean, "least": min, "largest": max}


@dataclass(frozen=True)
class Verdict:
    """What our runs say of a relation.

    Attributes:
        relation: The statement.
        says: `holds`, `does not hold`, `undecided` where seeds disagree, or `not run`.
        ours: Mean of left minus right, or of left over right; None: not run.
        std: Its standard deviation over seeds; None: fewer than two.
        holds_in: Seeds in which it holds.
        n: Seeds that are compared.
        wanted: Seeds that the recipes ask for.
        paper: The same of the published figures; None: they are not all there.
        p: How often chance alone brings the mean so far from the bound; None where it cannot be said.
        without: Rows of the table that were not run and do not count.

    >>> Verdict(Relation("p/a", "", "", ()), "not run").shown
    'not run'
    >>> Verdict(Relation("p/a", "", "", ()), "holds", n=2, wanted=5).words
    'holds so far (2 of 5 seeds)'
    >>> Verdict(Relation("p/a", "", "", ()), "undecided", n=5, wanted=5, without=("mnist-cnn",)).words
    'undecided so far (5 of 5 seeds, without mnist-cnn)'
    >>> Verdict(Relation("p/a", "", "", (), terms="a small network"), "holds").words
    'holds, with a small network'
    """

    relation: Relation
    says: Says
    ours: float | None = None
    std: float | None = None
    holds_in: int = 0
    n: int = 0
    wanted: int = 0
    paper: float | None = None
    p: float | None = None
    without: tuple[str, ...] = ()

    @property
    def settled(self) -> bool:
        """Whether all rows count, and all seeds were run that the recipes ask for."""
        return self.says != "not run" and self.n >= self.wanted and not self.without

    @property
    def words(self) -> str:
        """The verdict, how far it is, and on which terms."""
        if self.says == "not run":
            return self.says
        without = f", without {', '.join(self.without)}" if self.without else ""
        far = "" if self.settled else f" so far ({self.n} of {self.wanted} seeds{without})"
        return f"{self.says}{far}{f', with {self.relation.terms}' if self.relation.terms else ''}"

    @property
    def shown(self) -> str:
        """Our figure and in how many seeds the relation holds."""
        if self.ours is None:
            return self.says
        sign = "" if self.relation.ratio or not self.relation.right else "+"
        digits = self.relation.digits
        if self.relation.spread:
            return f"{self.ours:{sign}.{digits}f}, over {self.n} seeds"
        spread = "" if self.std is None else f" ± {self.std:.{digits}f}"
        seeds = "seed" if self.n == 1 else "seeds"
        return f"{self.ours:{sign}.{digits}f}{spread}, in {self.holds_in} of {self.n} {seeds}"


def judge(relation: Relation, known: Known) -> Verdict:
    """Whether a statement holds in our runs, over the seeds that both sides have, by the rule of `decided`.

    Args:
        relation: The statement.
        known: All cells with what is stored of them.

    Returns:
        The verdict.

    >>> def run(value):
    ...     return {"complete": True, "rounds": 1, "figures": {"best_accuracy": value}}
    >>> printed = {"a": {"best_accuracy": 9}, "b": {"best_accuracy": 8}}
    >>> cells = [Cell("p/t", "r", name, "fedavg", {"rounds": 1}, paper) for name, paper in printed.items()]
    >>> values = ((0.9, 0.8), (0.7, 0.75))
    >>> known = {c.name: (c, Result(c.settings, dict(enumerate(map(run, v))))) for c, v in zip(cells, values)}
    >>> found = judge(Relation("p/a", "a above b", "", ("p/t/r/a",), ("p/t/r/b",), least=0), known)
    >>> found.says, round(found.ours, 1), found.holds_in, found.n, found.paper
    ('holds', 12.5, 2, 2, 1.0)
    """
    relation, without = counting(relation, known) if relation.partly else (relation, ())
    paper = published(relation, known)
    left = by_seed(relation, relation.left, known)
    right = by_seed(relation, relation.right, known) if relation.right else dict.fromkeys(left, 0.0)
    seeds = sorted(left.keys() & right.keys())
    if len(seeds) < (2 if relation.spread else 1):
        return Verdict(relation, "not run", paper=paper)
    sides = [(left[s], right[s]) for s in seeds]
    if relation.spread:
        sides = [(stdev(a for a, _ in sides), stdev(b for _, b in sides))]
    values = [combined(relation)(a, b) for a, b in sides]
    ours, holds_in = fmean(values), sum(within(relation, value) for value in values)
    near = too_near(relation, values) if not relation.spread else not apart(*sides[0])
    says = "undecided" if near else decided(within(relation, ours), holds_in, len(values))
    std = stdev(values) if len(values) > 1 else None
    wanted = min(known[name][0].seeds for name in (*relation.left, *relation.right))
    p = chance(relation, values)
    return Verdict(relation, says, ours, std, holds_in, len(seeds), wanted, paper, p, without)


def decided(mean_holds: bool, holds_in: int, n: int) -> Says:
    """The verdict: what the mean says if three quarters of the seeds say so too; a single seed decides alone.

    Args:
        mean_holds: Whether the mean over seeds keeps the bounds.
        holds_in: In how many seeds the value does.
        n: How many seeds there are.

    Returns:
        `holds`, `does not hold` or `undecided`.

    >>> decided(True, 4, 5), decided(True, 3, 5), decided(False, 1, 5), decided(False, 1, 3), decided(True, 1, 1)
    ('holds', 'undecided', 'does not hold', 'undecided', 'holds')
    """
    agree = holds_in if mean_holds else n - holds_in
    if n > 1 and agree < AGREE * n:
        return "undecided"
    return "holds" if mean_holds else "does not hold"


def too_near(relation: Relation, values: list[float]) -> bool:
    """Whether differences lie too near their bound to decide: by less than their standard error, or than is printed.

    >>> above = Relation("p/a", "", "", ("x",), ("y",), least=0, strict=True)
    >>> too_near(above, [0.4, -0.2, 0.1]), too_near(above, [0.4, 0.2, 0.1]), too_near(above, [-0.05])
    (True, False, True)
    """
    bounds = [bound for bound in (relation.least, relation.most) if bound is not None]
    if relation.ratio or not relation.right or len(bounds) != 1:
        return False
    error = stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    seen = SEEN if relation.scale == POINTS else 0.0
    return abs(fmean(values) - bounds[0]) < max(error, seen)


def apart(one: float, other: float) -> bool:
    """Whether two spreads over a few seeds differ by more than such spreads do anyway.

    >>> apart(1.0, 2.5), apart(2.5, 2.8)
    (True, False)
    """
    return max(one, other) >= TWICE * min(one, other)


def counting(relation: Relation, known: Known) -> tuple[Relation, tuple[str, ...]]:
    """The relation with the cells that count, those with a complete run on both sides, and the rows that do not.

    A relation of which no cell counts stays as it is. Half of what the paper prints for all is half of what it prints
    for these.
    """
    pairs = list(zip(relation.left, relation.right, strict=True))
    there = [all(has_values(relation, name, known) for name in pair) for pair in pairs]
    if not any(there):
        return relation, ()
    counts = tuple(zip(*(pair for pair, there_ in zip(pairs, there, strict=True) if there_), strict=True))
    rows = tuple(known[pair[0]][0].row for pair, there_ in zip(pairs, there, strict=True) if not there_)
    some = replace(relation, left=counts[0], right=counts[1])
    return (scaled(some, relation, known) if rows else some), rows


def scaled(some: Relation, every: Relation, known: Known) -> Relation:
    """With its one bound in the measure of the paper's figure of some cells, where it was set for that of all."""
    part, whole = published(some, known), published(every, known)
    if part is None or not whole or part / whole <= 0 or (some.least is not None and some.most is not None):
        return some
    least, most = (b if b is None else round(b * part / whole, 1) for b in (some.least, some.most))
    return replace(some, least=least, most=most)


def has_values(relation: Relation, name: str, known: Known) -> bool:
    result = usable(*known[name])
    return result is not None and bool(values_of(relation.quantity, result))


def chance(relation: Relation, values: list[float]) -> float | None:
    """How often chance alone brings a mean difference so far from its bound, by the signs of the differences.

    >>> chance(Relation("p/a", "", "", ("x",), ("y",), least=4), [5.0, 6.0, 5.0])  # 1, 2, 1: all signs or none
    0.25
    >>> chance(Relation("p/a", "", "", ("x",), ("y",), least=-1, most=1), [0.0, 0.5])  # two bounds
    """
    bounds = [bound for bound in (relation.least, relation.most) if bound is not None]
    if relation.ratio or not relation.right or len(bounds) != 1 or len(values) < 2:
        return None
    return paired(values, bounds * len(values)).p


def combined(relation: Relation) -> Callable[[float, float], float]:
    if not relation.ratio:
        return lambda a, b: a - b
    return lambda a, b: a / b if b else math.inf


def within(relation: Relation, value: float) -> bool:
    """Whether a value keeps the bounds of a relation.

    >>> relation = Relation("p/a", "", "", (), least=1, most=2)
    >>> within(relation, 1.5), within(relation, 2.5)
    (True, False)
    >>> within(Relation("p/a", "", "", (), most=0, strict=True), 0.0)
    False
    """
    room = -1e-9 if relation.strict else 1e-9
    above = relation.least is None or value >= relation.least - room
    return above and (relation.most is None or value <= relation.most + room)


def by_seed(relation: Relation, names: tuple[str, ...], known: Known) -> dict[int, float]:
    """What counts of some cells, for the seeds that all of them have; empty if one of them was not run."""
    columns = []
    for name in names:
        result = usable(*known[name])
        if result is None:
            return {}
        values = {seed: relation.scale * v for seed, v in values_of(relation.quantity, result).items()}
        columns.append(values)
    shared = set.intersection(*(set(column) for column in columns)) if columns else set()
    return {seed: OVER[relation.over]([column[seed] for column in columns]) for seed in sorted(shared)}


def published(relation: Relation, known: Known) -> float | None:
    """The paper's own figure of the relation, if it prints all that is needed; it has none of statements of ours."""
    if relation.ours or relation.printed is not None:
        return relation.printed
    one, other = ({printed_in(name, known) for name in names} for names in (relation.left, relation.right))
    if relation.spread or one & other:
        return None
    sides = []
    for names in (relation.left, relation.right):
        values = [known[name][0].paper.get(relation.quantity) for name in names]
        if any(value is None for value in values):
            return None
        sides.append(OVER[relation.over]([float(v) for v in values if v is not None]) if values else None)
    left, right = sides
    if left is None or (right is None and relation.right):
        return None
    return left if right is None else combined(relation)(left, right)


def printed_in(name: str, known: Known) -> str:
    """The cell of the paper whose figure a cell is set beside."""
    return known[name][0].of or name


def known_cells(cells: tuple[Cell, ...] | list[Cell], store: Store) -> dict[str, tuple[Cell, Result | None]]:
    """Every cell with what is stored of it.

    Args:
        cells: All there are.
        store: Where results are.

    Returns:
        Cells and results by name.

    >>> import tempfile
    >>> known_cells([Cell("p/t", "r", "a", "fedavg", {"rounds": 1})], Store(tempfile.mkdtemp()))["p/t/r/a"][1] is None
    True
    """
    return {cell.name: (cell, store.load(cell)) for cell in cells}
