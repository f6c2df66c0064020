"""Differences between settings, against numbers worked out by hand or by scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from shoal.analysis.compare import Line, spread
from shoal.analysis.quantities import FIGURES
from shoal.analysis.significance import differences, holm, paired, sign_flips, welch
from shoal.errors import BadInput


def line(name: str, **by_seed: float | None) -> Line:
    """A setting whose best accuracy is given by seed: `s0=0.5`."""
    seeds, found = tuple(int(k[1:]) for k in by_seed), tuple(by_seed.values())
    values = {key: found if key == "best_accuracy" else (None,) * len(found) for key in FIGURES}
    figures = {key: spread(v) for key, v in values.items()}
    return Line(name, tuple(map(str, seeds)), True, figures, 0, seeds, values)


def test_sign_flips_by_hand() -> None:
    """All eight sums of +-1 +-2 +-4 are 7 5 3 1 and their negatives; 5 or more: 7 5 -5 -7."""
    assert sign_flips([1, 2, 4]) == 2 / 8
    assert sign_flips([-1, 2, 4]) == 4 / 8
    assert sign_flips([0.1, 0.1, 0.1]) == 2 / 8  # sums of tenths are not exact; equal ones still count
    assert sign_flips([0.1, 0.2, -0.3]) == 1


@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_few_seeds_cannot_be_significant(n: int) -> None:
    found = paired([1.0] * n, [0.01 * i for i in range(n)])
    assert found.p == found.least_p == 2 / 2**n


def test_sign_flips_agree_with_scipy() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=7), rng.normal(size=7) + 0.5
    want = stats.permutation_test((a - b,), np.sum, permutation_type="samples", n_resamples=np.inf)
    assert sign_flips(list(a - b)) == pytest.approx(want.pvalue)


def test_paired_interval_and_effect_by_hand() -> None:
    """Differences 1 2 3: mean 2, deviation 1, error 1 / sqrt 3; t(0.975, 2) = 4.3027."""
    found = paired([3, 5, 7], [2, 3, 4])
    assert (found.mean, found.effect, found.n, found.test) == (2, 2, (3, 3), "sign flips")
    assert paired([2, 4, 6], [0, 0, 0]).effect == 2  # mean 4, deviation 2
    assert (found.low, found.high) == pytest.approx((2 - 4.3027 / 3**0.5, 2 + 4.3027 / 3**0.5), abs=1e-4)


@pytest.mark.parametrize(("n", "test"), [(16, "sign flips"), (17, "paired t")])
def test_up_to_sixteen_pairs_every_choice_of_signs_is_tried(n: int, test: str) -> None:
    found = paired([1.0] * n, [0.01 * i for i in range(n)])
    assert (found.test, found.least_p) == (test, 2 / 2**16 if n == 16 else None)
    assert found.p is not None
    assert found.p <= 2 / 2**16  # all differences have one sign


def test_many_pairs_take_students_t() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=20) + 0.4, rng.normal(size=20)
    found, want = paired(list(a), list(b)), stats.ttest_rel(a, b)
    interval = want.confidence_interval(0.95)
    assert (found.test, found.least_p) == ("paired t", None)
    assert (found.p, found.low, found.high) == pytest.approx((want.pvalue, interval.low, interval.high))


def test_welch_agrees_with_scipy() -> None:
    a, b = [1.0, 2.0, 4.0], [2.0, 4.5, 6.0, 9.0]
    found, want = welch(a, b), stats.ttest_ind(a, b, equal_var=False)
    interval = want.confidence_interval(0.95)
    assert (found.p, found.low, found.high) == pytest.approx((want.pvalue, interval.low, interval.high))
    pooled = ((np.var(a, ddof=1) + np.var(b, ddof=1)) / 2) ** 0.5
    assert found.effect == pytest.approx((np.mean(a) - np.mean(b)) / pooled)


def test_no_spread() -> None:
    assert (paired([1, 1], [1, 1]).p, paired([1, 1], [1, 1]).effect) == (1, None)
    assert (welch([1, 1], [1, 1]).p, welch([2, 2], [1, 1]).p) == (1, 0)
    assert paired([1.0] * 17, [1.0] * 17).p == 1
    same = welch([2, 2], [1, 1, 1])
    assert (same.mean, same.low, same.high, same.effect, same.test) == (1, 1, 1, None, "Welch")


def test_one_run_on_one_side_has_no_spread() -> None:
    found = welch([0.9], [0.1, 0.2, 0.3])
    assert (found.n, found.p, found.low, found.test) == ((1, 3), None, None, None)
    assert found.mean == pytest.approx(0.7)


def test_one_run_has_a_difference_and_no_test() -> None:
    [found] = differences([line("a", s0=0.7), line("b", s0=0.5)])
    assert (found.setting, found.against, found.p, found.low) == ("b", "a", None, None)
    assert found.mean == pytest.approx(-0.2)


def test_holm_by_hand() -> None:
    """Sorted .01 .02 .04 .2: times 4 3 2 1 is .04 .06 .08 .2."""
    assert holm([0.2, 0.01, 0.04, 0.02]) == pytest.approx([0.2, 0.04, 0.08, 0.06])
    assert holm([0.5, 0.6]) == [1, 1]
    assert holm([0.9, 0.95]) == [1, 1]  # not 1.8
    assert holm([]) == []


def test_runs_are_paired_by_seed_not_by_place() -> None:
    a, b = line("a", s0=0.1, s1=0.2, s2=0.3), line("b", s2=0.6, s0=0.4, s1=0.5, s7=0.0)
    [found] = differences([a, b], against="a")
    assert (found.n, found.test) == ((3, 3), "sign flips")
    assert found.mean == pytest.approx(0.3)
    assert found.high is not None
    assert found.high - 0.3 == pytest.approx(0, abs=1e-9)  # every pair is 0.3 apart


def test_without_common_seeds_it_is_welch() -> None:
    [found] = differences([line("a", s0=0.1, s1=0.2), line("b", s2=0.5, s3=0.9)], against="a")
    assert (found.n, found.test) == ((2, 2), "Welch")


def test_one_common_seed_of_several_is_no_pairing() -> None:
    """Of the seeds 0 1 and 1 2 only one is in both; of a single run each, a common seed makes a pair."""
    [found] = differences([line("a", s0=0.9, s1=0.8), line("b", s1=0.5, s2=0.4)])
    assert (found.test, found.n) == ("Welch", (2, 2))
    assert found.mean == pytest.approx(-0.4)
    [found] = differences([line("a", s1=0.9), line("b", s1=0.5)])
    assert (found.test, found.n) == (None, (1, 1))


def test_the_best_is_what_the_others_are_held_against_and_holm_counts_them() -> None:
    lines = [line("low", s0=0.1, s1=0.2), line("top", s0=0.8, s1=0.9), line("mid", s0=0.3, s1=0.5)]
    found = differences(lines)
    assert [(d.setting, d.against) for d in found] == [("low", "top"), ("mid", "top")]
    assert [d.p for d in found] == [0.5, 0.5]
    assert [d.p_holm for d in found] == [1, 1]


def test_what_is_refused() -> None:
    with pytest.raises(BadInput, match="unknown figure 'acuracy'"):
        differences([line("a", s0=0.1)], "acuracy")
    with pytest.raises(BadInput, match="unknown setting 'c'"):
        differences([line("a", s0=0.1)], against="c")
    with pytest.raises(BadInput, match="no run has the figure ari"):
        differences([line("a", s0=0.1)], "ari")


@pytest.mark.parametrize("figure", ["t_comm", "d_comm", "t_comp", "megabytes_relayed", "seconds"])
def test_of_what_is_spent_the_least_is_best(figure: str) -> None:
    """Two settings that spent 1 and 3: the first is the one that others are held against."""
    values = {key: (value,) if key == figure else (None,) for key in FIGURES for value in (0.0,)}
    lines = [
        Line(name, (name,), True, {k: spread(v) for k, v in found.items()}, 0, (0,), found)
        for name, found in (("much", {**values, figure: (3.0,)}), ("little", {**values, figure: (1.0,)}))
    ]
    [found] = differences(lines, figure)
    assert (found.setting, found.against, found.mean) == ("much", "little", 2.0)


def test_where_neither_way_is_better_the_first_setting_is_the_base() -> None:
    lines = [
        Line(name, (name,), True, {"groups": spread([n])}, 0, (0,), {"groups": (n,)})
        for name, n in (("first", 2.0), ("second", 5.0))
    ]
    [found] = differences(lines, "groups")
    assert (found.setting, found.against) == ("second", "first")
