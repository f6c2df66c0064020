"""A statement of a paper as a comparison of cells, and the verdict of our runs on it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Literal

from shoal.analysis.significance import paired
from shoal.recipes.derived import values_of
from shoal.recipes.records import ACCURACY, Cell
from shoal.recipes.store import Result, Store, differs

__all__ = ["Relation", "Verdict", "judge"]

Cause = Literal["", "our error", "the setting", "the paper", "chance"]
Known = Mapping[str, tuple[Cell, Result | None]]  # cells by name


@dataclass(frozen=True)
class Relation:
    """Left against right: the difference, or the ratio, of two means over cells lies within bounds.

    Attributes:
        name: Paper and a word: `flexcfl/rac-below-fedavg`.
        says: The statement, in our words.
        source: Where the paper says it, or what else it is about.
        left: Names of cells; their mean counts, seed by seed.
        right: Names of cells; none: left stands alone.
        least: Of left minus right, as the paper prints the quantity; None: no bound.
        most: Of left minus right; None: no bound.
        quantity: What is compared.
        scale: What values are multiplied with to be in the paper's units.
        ratio: Left over right instead of left minus right.
        spread: Of standard deviations over seeds instead of means.
        strict: The bound itself is not enough: "above" and not "not below".
        ours: It is a statement of ours, not of the paper, and counted apart.
        cause: What is behind it if it does not hold here; empty: that is not known yet.
        why: How we know.
        tells: Names of statements that tell, of the same paper.
        printed: The paper's figure, where it does not follow from those of the cells.

    >>> Relation("p/a", "A is above B", "Table 1", ("p/t/r/a",), ("p/t/r/b",), least=0).quantity
    'best_accuracy'
    """

    name: str
    says: str
    source: str
    left: tuple[str, ...]
    right: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    quantity: str = ACCURACY
    scale: float = 100.0
    ratio: bool = False
    spread: bool = False
    strict: bool = False
    ours: bool = False
    cause: Cause = ""
    why: str = ""
    tells: tuple[str, ...] = ()
    printed: float | None = None

    @property
    def bounds(self) -> str:
        """What is asked, in words.

        >>> Relation("p/a", "", "", ("x",), ("y",), least=4).bounds
        'at least +4'
        >>> Relation("p/a", "", "", ("x",), ("y",), most=0, strict=True).bounds
        'below 0'
        """
        show = "{:g}" if self.ratio or not self.right else "{:+g}"
        at_least, at_most = ("above", "below") if self.strict else ("at least", "at most")
        least = "" if self.least is None else f"{at_least} {show.format(self.least) if self.least else 0}"
        most = "" if self.most is None else f"{at_most} {show.format(self.most) if self.most else 0}"
        return " and ".join(filter(None, (least, most)))


@dataclass(frozen=True)
class Verdict:
    """What our runs say of a relation.

    Attributes:
        relation: The statement.
        says: `holds`, `does not hold`, or `not run`.
        ours: Mean of left minus right, or of left over right; None: not run.
        std: Its standard deviation over seeds; None: fewer than two.
        holds_in: Seeds in which it holds.
        n: Seeds that are compared.
        wanted: Seeds that the recipes ask for.
        paper: The same of the published figures; None: they are not all there.
        p: How often chance alone brings the mean so far from the bound; None where it cannot be said.

    >>> Verdict(Relation("p/a", "", "", ()), "not run").shown
    'not run'
    >>> Verdict(Relation("p/a", "", "", ()), "holds", n=2, wanted=5).words
    'holds so far (2 of 5 seeds)'
    """

    relation: Relation
    says: Literal["holds", "does not hold", "not run"]
    ours: float | None = None
    std: float | None = None
    holds_in: int = 0
    n: int = 0
    wanted: int = 0
    paper: float | None = None
    p: float | None = None

    @property
    def settled(self) -> bool:
        """Whether all seeds were run that the recipes ask for."""
        return self.says != "not run" and self.n >= self.wanted

    @property
    def words(self) -> str:
        """The verdict, and how far it is."""
        if self.settled or self.says == "not run":
            return self.says
        return f"{self.says} so far ({self.n} of {self.wanted} seeds)"

    @property
    def shown(self) -> str:
        """Our figure and in how many seeds the relation holds."""
        if self.ours is None:
            return self.says
        sign = "" if self.relation.ratio or not self.relation.right else "+"
        if self.relation.spread:
            return f"{self.ours:{sign}.2f}, over {self.n} seeds"
        spread = "" if self.std is None else f" ± {self.std:.2f}"
        return f"{self.ours:{sign}.2f}{spread}, in {self.holds_in} of {self.n} seeds"


def judge(relation: Relation, known: Known) -> Verdict:
    """Whether a statement holds in our runs, on average over the seeds that both sides have.

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
    paper = published(relation, known)
    left = mean_by_seed(relation, relation.left, known)
    right = mean_by_seed(relation, relation.right, known) if relation.right else dict.fromkeys(left, 0.0)
    seeds = sorted(left.keys() & right.keys())
    if len(seeds) < (2 if relation.spread else 1):
        return Verdict(relation, "not run", paper=paper)
    sides = [(left[s], right[s]) for s in seeds]
    if relation.spread:
        sides = [(stdev(a for a, _ in sides), stdev(b for _, b in sides))]
    values = [combined(relation)(a, b) for a, b in sides]
    ours, holds_in = fmean(values), sum(within(relation, value) for value in values)
    says: Literal["holds", "does not hold"] = "holds" if within(relation, ours) else "does not hold"
    std = stdev(values) if len(values) > 1 else None
    wanted = min(known[name][0].seeds for name in (*relation.left, *relation.right))
    return Verdict(relation, says, ours, std, holds_in, len(seeds), wanted, paper, chance(relation, values))


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


def mean_by_seed(relation: Relation, names: tuple[str, ...], known: Known) -> dict[int, float]:
    """The mean over cells of the quantity, for the seeds that all cells have; empty if one of them was not run."""
    columns = []
    for name in names:
        cell, result = known[name]
        if result is None or differs(cell, result) is not None:
            return {}
        values = {seed: relation.scale * v for seed, v in values_of(relation.quantity, result).items()}
        columns.append(values)
    shared = set.intersection(*(set(column) for column in columns)) if columns else set()
    return {seed: fmean(column[seed] for column in columns) for seed in sorted(shared)}


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
        sides.append(fmean(float(v) for v in values if v is not None) if values else None)
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
