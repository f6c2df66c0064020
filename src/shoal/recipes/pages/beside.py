"""A figure of the paper beside two of ours, without and with something, and what that changes seed by seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, stdev

from shoal.recipes.judging.derived import values_of
from shoal.recipes.judging.relations import Known
from shoal.recipes.store import usable

__all__ = ["CHANGE", "beside", "by_seed", "change", "shown", "spread", "twin"]

CHANGE = "change by seed"


def twin(row: str, end: str, column: str, known: Known) -> list[str]:
    """The paper's figure, ours, and ours of the row with another data set."""
    return beside(f"{row}/{column}", f"{row}{end}/{column}", known)


def beside(without: str, with_: str, known: Known, quantity: str = "best_accuracy", scale: float = 100.0) -> list[str]:
    """The paper's figure, ours without and with, and the change by seed."""
    a, b = by_seed(without, known, quantity, scale), by_seed(with_, known, quantity, scale)
    return [printed(without, known, quantity), spread([*a.values()]), spread([*b.values()]), change(a, b)]


def by_seed(name: str, known: Known, quantity: str, scale: float = 100.0) -> dict[int, float]:
    """The values of a cell, in per cent if not told otherwise; none if it was not run."""
    result = usable(*known[name])
    if result is None:
        return {}
    return {seed: scale * value for seed, value in values_of(quantity, result).items()}


def change(a: Mapping[int, float], b: Mapping[int, float]) -> str:
    """What it does in the seeds that both have.

    >>> change({0: 96.0, 1: 95.0, 2: 94.0}, {0: 94.0, 1: 94.0}), change({}, {0: 94.0})
    ('-1.5; lower in 2 of 2', '-')
    """
    apart = [b[seed] - a[seed] for seed in sorted(a.keys() & b.keys())]
    if not apart:
        return "-"
    mean = fmean(apart)
    word, times = ("lower", sum(d < 0 for d in apart)) if mean < 0 else ("higher", sum(d > 0 for d in apart))
    return f"{mean:+.1f}; {word} in {times} of {len(apart)}"


def printed(name: str, known: Known, quantity: str = "best_accuracy") -> str:
    value = known[name][0].paper.get(quantity)
    return "-" if value is None else f"{value:.1f}"


def shown(name: str, known: Known, quantity: str = "best_accuracy") -> str:
    """Mean and spread of a cell in per cent; `not run` for none."""
    return spread([*by_seed(name, known, quantity).values()])


def spread(values: Sequence[float], digits: int = 1) -> str:
    """Mean ± standard deviation (seeds).

    >>> spread([1.0, 3.0]), spread([2.0]), spread([])
    ('2.0 ± 1.4 (2)', '2.0 (1)', 'not run')
    """
    if not values:
        return "not run"
    around = f" ± {stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{fmean(values):.{digits}f}{around} ({len(values)})"
