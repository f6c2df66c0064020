"""A statement of a paper as a comparison of cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from shoal.recipes.records import ACCURACY

__all__ = ["POINTS", "Relation"]

POINTS = 100.0  # the scale of accuracies and F1, in the papers' units
Cause = Literal["", "our error", "the setting", "the paper", "text and code differ"]


@dataclass(frozen=True)
class Relation:
    """Left against right: the difference, or the ratio, of two cells, or of two means over cells, lies within bounds.

    Attributes:
        name: Paper and a word: `flexcfl/rac-below-fedavg`.
        says: The statement, in our words.
        source: Where the paper says it, or what else it is about.
        left: Names of cells.
        right: Names of cells; none: left stands alone.
        over: What counts of several cells on a side, seed by seed: their mean, the least or the largest.
        partly: Cells, and those beside them on the other side, count only if both were run.
        least: Of left minus right, as the paper prints the quantity; None: no bound.
        most: Of left minus right; None: no bound.
        quantity: What is compared.
        scale: What values are multiplied with to be in the paper's units.
        ratio: Left over right instead of left minus right.
        spread: Of standard deviations over seeds instead of means.
        strict: The bound itself is not enough: "above" and not "not below".
        printed: The paper's figure, where it does not follow from those of the cells.
        ours: It is a statement of ours, not of the paper, and counted apart.
        cause: What is behind it if it does not hold here; empty: that is not known yet.
        why: How we know; without a cause what was found all the same.
        tells: Names of statements that tell, of the same paper.
        terms: What the runs have that the paper's have not, such as a smaller network.

    >>> Relation("p/a", "A is above B", "Table 1", ("p/t/r/a",), ("p/t/r/b",), least=0).quantity
    'best_accuracy'
    """

    name: str
    says: str
    source: str
    left: tuple[str, ...]
    right: tuple[str, ...] = ()
    over: Literal["mean", "least", "largest"] = "mean"
    partly: bool = False
    least: float | None = None
    most: float | None = None
    quantity: str = ACCURACY
    scale: float = POINTS
    ratio: bool = False
    spread: bool = False
    printed: float | None = None
    strict: bool = False
    ours: bool = False
    cause: Cause = ""
    why: str = ""
    tells: tuple[str, ...] = ()
    terms: str = ""

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

    @property
    def digits(self) -> int:
        """Behind the point of our figure: more than bounds below 1 have, so that it is seen on which side it lies.

        >>> Relation("p/a", "", "", ("x",), least=0.01).digits, Relation("p/a", "", "", ("x",), most=1).digits
        (3, 2)
        """
        bounds = (bound for bound in (self.least, self.most) if bound is not None)
        return max([2, *(len(f"{bound:g}".partition(".")[2]) + 1 for bound in bounds if 0 < abs(bound) < 1)])
