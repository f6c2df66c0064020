"""Fitting a `Preprocessing` on training rows, from statistics that add up over clients.

Means, variances and categories of a federation come from counts, sums and sums of squares per client, so that sites
could send these instead of rows. A median does not add up: it needs the values themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from shoal.data.columns import Columns, gaps, holds_words, text
from shoal.data.preprocess import Column, Preprocessing
from shoal.errors import BadInput
from shoal.types import Array

Fit = Literal["federation", "client"]
RULES = ("mean", "median", "most-frequent")
ENCODINGS = ("one-hot", "ordinal")
LEAVE_OUT = "name the features with features=... to leave it out, or give a constant"


@dataclass(frozen=True)
class Moments:
    """How many numbers, their mean and the sum of their squared deviations from it; two of them add up to one.

    >>> both = Moments.of(np.array([1.0, 3.0])) + Moments.of(np.array([8.0]))
    >>> both.count, both.mean, both.squares                 # of 1, 3, 8: mean 4, deviations 9 + 1 + 16
    (3, 4.0, 26.0)
    """

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0

    @classmethod
    def of(cls, numbers: Array) -> Moments:
        """Those of some numbers."""
        if not len(numbers):
            return cls()
        mean = float(numbers.mean())
        return cls(len(numbers), mean, float(np.square(numbers - mean).sum()))

    def __add__(self, other: Moments) -> Moments:
        count = self.count + other.count
        if not count:
            return self
        apart = other.mean - self.mean
        mean = self.mean + apart * other.count / count
        return Moments(count, mean, self.squares + other.squares + apart**2 * self.count * other.count / count)

    @property
    def deviation(self) -> float:
        """The standard deviation; 1 where all numbers are equal, so that one can divide by it."""
        found = float(np.sqrt(self.squares / self.count)) if self.count else 0.0
        return found if found > 1e-12 * abs(self.mean) else 1.0


@dataclass(frozen=True)
class Asked:
    """What `from_table` was asked to do with the columns.

    Args:
        impute: A rule, a constant, either of them by column, or None.
        encode: An encoding, one or a list of categories by column, or None.
        standardise: Whether, or which columns.
        fit: Whether every client has values of its own.
        indicator: Whether inputs say where a cell was empty.
    """

    impute: Any = None
    encode: Any = None
    standardise: bool | Sequence[str] = False
    fit: Fit = "federation"
    indicator: bool = False

    def check(self, names: Sequence[str]) -> None:
        """One sentence for the first wish that cannot be."""
        wishes = {"impute": self.impute, "encode": self.encode, "standardise": self.standardise}
        for what, wish in wishes.items():
            for name in wish if isinstance(wish, Mapping | Sequence) and not isinstance(wish, str) else ():
                if name not in names:
                    raise BadInput(f"{what} names {name!r}, which is no feature; these are {', '.join(names)}")
        if self.fit not in ("federation", "client"):
            raise BadInput(f"fit must be federation or client, not {self.fit!r}")
        for wish in self.encode.values() if isinstance(self.encode, Mapping) else [self.encode]:
            if isinstance(wish, str) and wish not in ENCODINGS:
                raise BadInput(f"encode must be one-hot or ordinal, or a list of categories in order, not {wish!r}")
        if self.indicator and self.impute is None:
            raise BadInput("indicator tells where gaps were filled; give impute= as well, such as impute=median")

    def of(self, wish: Any, name: str) -> Any:
        """What is wished for one column."""
        return wish.get(name) if isinstance(wish, Mapping) else wish


def fitted(table: Columns, names: Sequence[str], train: Mapping[str, Array], asked: Asked) -> Preprocessing:
    """The preprocessing of some columns, by the training rows of each client.

    Args:
        table: All rows.
        names: The columns to learn from.
        train: The numbers of the training rows by client.
        asked: What to do.

    Returns:
        The record.

    >>> from shoal.data.columns import read_table
    >>> table = read_table({"age": [20.0, 40.0, None, 99.0]})
    >>> fitted(table, ["age"], {"ann": np.array([0, 1, 2])}, Asked(impute="mean", standardise=True)).values()
    (array([30.]), array([30.]), array([10.]))
    """
    asked.check(names)
    clients = tuple(train) if asked.fit == "client" else ()
    columns, values = [], []
    for name in names:
        column = described(table, name, train, asked)
        raw = column.raw(table, asked.of(asked.impute, name) is not None)
        known = ~np.isnan(raw) if column.encode == "number" else raw >= 0  # of categories, -1 was never seen
        seen = {client: raw[rows[known[rows]]] for client, rows in train.items()}
        everybody = fill_of(column, [*seen.values()], asked), *scale_of(column, [*seen.values()], asked)
        own = [fill_of(column, [seen[c]], asked) if len(seen[c]) else everybody[0] for c in clients]
        scales = [scale_of(column, [seen[c]], asked) if len(seen[c]) else everybody[1:] for c in clients]
        columns.append(column)
        values.append([everybody, *((fill, *scale) for fill, scale in zip(own, scales, strict=True))])
    fill, shift, scale = np.array(values, np.float64).transpose(2, 1, 0)
    return Preprocessing(tuple(columns), fill, shift, scale, clients)


def described(table: Columns, name: str, train: Mapping[str, Array], asked: Asked) -> Column:
    """What a column is: numbers, or categories in order; and whether its gaps are told."""
    wish = asked.of(asked.encode, name)
    rows, cells = np.concatenate([*train.values()]), table.columns[name]
    if wish is None or (not isinstance(asked.encode, Mapping) and not holds_words(table, name)):
        column = Column(name)
        empty = np.isnan(column.raw(table, asked.of(asked.impute, name) is not None)[rows]).any()
    else:
        empty_N = gaps(cells)[rows]
        empty = empty_N.any()
        counted = sum((Counter(text(c) for c in cells[r][~gaps(cells[r])]) for r in train.values()), Counter[str]())
        given = isinstance(wish, list | tuple)
        words = tuple(map(str, wish)) if given else tuple(sorted(counted))
        constant = asked.of(asked.impute, name)
        if constant is not None and constant not in RULES and text(constant) not in words:
            words = (*words, text(constant))
        column = Column(name, "ordinal" if given else wish, words)
    return replace(column, indicator=bool(asked.indicator and empty))


def fill_of(column: Column, seen: Sequence[Array], asked: Asked) -> float:
    """What stands for an empty cell: of categories the most frequent, or the constant, by number."""
    rule = asked.of(asked.impute, column.name)
    if rule is None:
        return np.nan
    if rule not in RULES:
        if column.encode != "number":
            return float(column.categories.index(text(rule)))
        try:
            return float(rule)
        except (TypeError, ValueError):
            raise BadInput(
                f"impute must be mean, median, most-frequent or a constant, not {rule!r} for the numbers of "
                f"{column.name!r}"
            ) from None
    if not sum(map(len, seen)):
        raise BadInput(f"column {column.name!r} is empty in every training row; {LEAVE_OUT}")
    if rule == "mean" and column.encode == "number":
        return sum(map(Moments.of, seen), Moments()).mean
    if rule == "median" and column.encode == "number":
        return float(np.median(np.concatenate(seen)))
    counted = sum((Counter(cells.tolist()) for cells in seen), Counter[float]())
    return min(counted, key=lambda value: (-counted[value], value))


def scale_of(column: Column, seen: Sequence[Array], asked: Asked) -> tuple[float, float]:
    """Mean and standard deviation of the cells that are there, if they are to be standardised; of categories never."""
    wish = asked.standardise
    wanted = wish if isinstance(wish, bool) else column.name in wish
    if not wanted or column.encode == "one-hot":
        return 0.0, 1.0
    moments = sum(map(Moments.of, seen), Moments())
    return moments.mean, moments.deviation
