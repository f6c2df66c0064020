"""Whether two settings differ by more than their seeds do: p values, intervals and effect sizes as pure functions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Literal

from shoal.analysis.compare import Line, figures_for
from shoal.errors import BadInput, unknown
from shoal.scores import ACCURACY

__all__ = ["Difference", "differences", "holm", "is_tie", "paired", "sign_flips", "welch"]

ENUMERATED = 16  # pairs up to which every choice of signs is tried
ROUNDING = 1e-12  # relative: sums of the same numbers in another order may differ by this much


@dataclass(frozen=True)
class Difference:
    """How much a setting is above another in one figure. What cannot be said is None.

    Attributes:
        setting: Its name.
        against: The name of the other.
        n: Pairs of runs with the same seed, twice; or the runs of both, if they share no seeds.
        mean: Of the setting minus that of the other.
        low: Of the 95 % interval.
        high: Of the 95 % interval.
        effect: Cohen's d: the difference in standard deviations (of the differences, if paired).
        p: How often chance alone gives a difference this large.
        least_p: Below which this test cannot go with so few seeds.
        p_holm: p, corrected for the number of differences that are looked at.
        test: What p comes from.

    >>> replace(paired([3, 5, 7], [2, 3, 4]), setting="a", against="b").mean
    2.0
    """

    setting: str
    against: str
    n: tuple[int, int]
    mean: float
    low: float | None = None
    high: float | None = None
    effect: float | None = None
    p: float | None = None
    least_p: float | None = None
    p_holm: float | None = None
    test: Literal["sign flips", "paired t", "Welch"] | None = None


def sign_flips(differences: Sequence[float]) -> float:
    """Exact two-sided permutation test of paired differences: if a and b were alike, every sign would be as likely.

    p is the share of the 2^n choices of signs whose sum is at least as far from 0. It cannot be below 2 / 2^n.

    Args:
        differences: One per pair; 2^n choices are tried.

    Returns:
        p.

    >>> sign_flips([1, 2, 3]), sign_flips([1, 2, -3]), sign_flips([0, 0])
    (0.25, 1.0, 1.0)
    """
    seen = abs(math.fsum(differences)) * (1 - ROUNDING)
    signs = itertools.product((1, -1), repeat=len(differences))
    far = sum(abs(math.fsum(s * d for s, d in zip(row, differences, strict=True))) >= seen for row in signs)
    return float(far / 2 ** len(differences))


def paired(a: Sequence[float], b: Sequence[float]) -> Difference:
    """Runs with the same seed side by side: exact sign flips up to 16 pairs, then Student's t; the interval by t.

    Args:
        a: Figures of a setting, by seed.
        b: Those of the other, by the same seeds.

    Returns:
        The difference a - b, without names.

    >>> round(paired([3, 5, 7], [2, 3, 4]).low, 2)  # 2 - 4.303 * 1 / sqrt(3)
    -0.48
    """
    from scipy.stats import t as student

    apart = [x - y for x, y in zip(a, b, strict=True)]
    n, mean = len(apart), fmean(apart)
    found = Difference("", "", (n, n), mean)
    if n < 2:
        return found
    spread = stdev(apart)
    reach = float(student.ppf(0.975, n - 1)) * spread / math.sqrt(n)
    found = replace(found, low=mean - reach, high=mean + reach, effect=mean / spread if spread else None)
    if n <= ENUMERATED:
        return replace(found, p=sign_flips(apart), least_p=2 / 2**n, test="sign flips")
    p = 2 * float(student.sf(abs(mean) * math.sqrt(n) / spread, n - 1)) if spread else float(mean == 0)
    return replace(found, p=p, test="paired t")


def welch(a: Sequence[float], b: Sequence[float]) -> Difference:
    """Runs with different seeds: Welch's t test, whose spreads may differ.

    Args:
        a: Figures of a setting.
        b: Those of the other.

    Returns:
        The difference a - b, without names.

    >>> round(welch([1, 2, 3], [2, 4, 6]).p, 3)  # t = -2 / sqrt(1/3 + 4/3) with 2.94 degrees of freedom
    0.221
    """
    from scipy.stats import t as student

    found = Difference("", "", (len(a), len(b)), fmean(a) - fmean(b))
    if min(len(a), len(b)) < 2:
        return found
    share_a, share_b = stdev(a) ** 2 / len(a), stdev(b) ** 2 / len(b)
    error, pooled = math.sqrt(share_a + share_b), math.sqrt((stdev(a) ** 2 + stdev(b) ** 2) / 2)
    if error == 0:
        return replace(found, low=found.mean, high=found.mean, p=float(found.mean == 0), test="Welch")
    freedom = (share_a + share_b) ** 2 / (share_a**2 / (len(a) - 1) + share_b**2 / (len(b) - 1))
    reach = float(student.ppf(0.975, freedom)) * error
    p = 2 * float(student.sf(abs(found.mean) / error, freedom))
    low, high = found.mean - reach, found.mean + reach
    return replace(found, low=low, high=high, effect=found.mean / pooled, p=p, test="Welch")


def holm(p: Sequence[float]) -> list[float]:
    """p values corrected for being several: the smallest times m, the next times m - 1, never falling, at most 1.

    Args:
        p: As the tests gave them.

    Returns:
        As many, corrected, in the same order.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    out, floor = [0.0] * len(p), 0.0
    for rank, i in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        floor = out[i] = min(1.0, max(floor, (len(p) - rank) * p[i]))
    return out


def differences(lines: Sequence[Line], figure: str | None = None, against: str | None = None) -> list[Difference]:
    """Every setting against one of them.

    Runs of two settings are paired by their seeds if at least two seeds are in both; a seed decides data and draws,
    so that pairs differ in the method alone.

    Args:
        lines: what `compare` found.
        figure: the name of the figure that is looked at; by default the best value of the score.
        against: the name of a line; by default the best, or the first where neither more nor less is better.

    Returns:
        A difference for every other line that has the figure.

    >>> from shoal.analysis.compare import spread
    >>> def line(name, *values):
    ...     figures = {"best_accuracy": spread(values)}
    ...     return Line(name, ("run",) * 3, True, figures, seeds=(0, 1, 2), values={"best_accuracy": values})
    >>> [found] = differences([line("a", 0.5, 0.6, 0.7), line("b", 0.6, 0.8, 1.0)])
    >>> found.setting, found.against, round(found.mean, 2), found.p
    ('a', 'b', -0.2, 0.25)
    """
    figures = figures_for(lines)
    figure = figure or (lines[0].score if lines else ACCURACY).key("best")
    if figure not in figures:
        raise unknown("figure", figure, figures)
    if against is not None and against not in {line.name for line in lines}:
        raise unknown("setting", against, [line.name for line in lines])
    known = {line.name: known_values(line, figure) for line in lines}
    counted = [line.name for line in lines if known[line.name]]
    if not counted:
        raise BadInput(f"no run has the figure {figure}")
    means = {name: fmean(known[name].values()) for name in counted}
    better = figures[figure].better
    best = {"higher": max, "lower": min}[better](counted, key=means.__getitem__) if better else counted[0]
    base = against or best
    if base not in counted:
        raise BadInput(f"{base} has no figure {figure}")
    found = [one(name, base, known[name], known[base]) for name in counted if name != base]
    at = [i for i, d in enumerate(found) if d.p is not None]
    for i, p in zip(at, holm([found[i].p or 0.0 for i in at]), strict=True):
        found[i] = replace(found[i], p_holm=p)
    return found


def is_tie(found: Difference) -> bool:
    """Whether seeds alone may make a difference: its 95 % interval holds 0. One run each ties only where it is equal.

    Args:
        found: A difference.

    Returns:
        Whether two settings are to be called a tie.

    >>> is_tie(paired([3, 5, 7], [2, 3, 4])), is_tie(paired([3, 5, 7], [1, 3, 5.1])), is_tie(paired([3], [2]))
    (True, False, False)
    """
    if found.low is None or found.high is None:
        return found.mean == 0
    return found.low <= 0 <= found.high


def one(name: str, base: str, mine: Mapping[int, float], theirs: Mapping[int, float]) -> Difference:
    both = sorted(mine.keys() & theirs.keys())
    if len(both) >= 2 or (both and len(mine) == len(theirs) == 1):
        found = paired([mine[s] for s in both], [theirs[s] for s in both])
    else:
        found = welch(list(mine.values()), list(theirs.values()))
    return replace(found, setting=name, against=base)


def known_values(line: Line, figure: str) -> dict[int, float]:
    """The figure by seed, where a run has it."""
    pairs = zip(line.seeds, line.values.get(figure, (None,) * len(line.seeds)), strict=True)
    return {seed: value for seed, value in pairs if value is not None and not math.isnan(value)}
