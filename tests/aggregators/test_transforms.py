"""Transforms by hand, in what order they come, and what randomness they get."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from torch import nn

from shoal.aggregators import (
    Clip,
    GaussianNoise,
    Median,
    RandomMask,
    Transform,
    Transformed,
    WholeRule,
    parse_aggregator,
    per_group,
    plain_mean,
    weighted_mean,
)
from shoal.errors import BadInput
from shoal.layout import Layout
from shoal.seeds import Key
from shoal.types import Answers, Array

LINE = Layout.of(lambda: nn.Linear(1, 2, bias=False), np.zeros((1, 1)), "float64")  # two numbers
NORM = Layout.of(lambda: nn.Sequential(nn.Flatten(), nn.BatchNorm1d(1)), np.zeros((1, 1)), "float64")


def answers(*updates: list[float], which: tuple[int, ...] | None = None) -> Answers:
    n = len(updates)
    fields = {"update": np.array(updates), "count": np.arange(1, n + 1)}
    return Answers(tuple("abcdef"[:n]), np.array(which or [0] * n), fields)


def test_clipping_by_hand() -> None:
    # Norms 10 and 1: the first is halved, the second stays. Means: (3 + 0) / 2, (4 + 1) / 2.
    got = answers([6.0, 8.0], [0.0, 1.0])
    w_KP, _ = per_group(plain_mean().after(Clip(5.0)), LINE).apply(np.zeros((1, 2)), got, {}, Key(0))
    np.testing.assert_allclose(w_KP, [[1.5, 2.5]], rtol=1e-15)
    assert got["update"].tolist() == [[6.0, 8.0], [0.0, 1.0]]


def test_a_bound_that_binds_nobody_changes_no_bit() -> None:
    rows = np.random.default_rng(0).normal(size=(4, 2)).astype(np.float32)
    got = Answers(("a", "b", "c", "d"), np.array([0, 1, 0, 1]), {"update": rows, "count": np.array([3, 1, 2, 9])})
    start_KP = np.ones((2, 2), np.float32)
    plain, _ = per_group(weighted_mean(), LINE).apply(start_KP, got, {}, Key(0))
    bound, _ = per_group(weighted_mean().after(Clip(1e9)), LINE).apply(start_KP, got, {}, Key(0))
    assert plain.tobytes() == bound.tobytes()


def test_the_first_comes_first() -> None:
    @dataclass(frozen=True)
    class Add(Transform):
        number: float

        def __call__(self, update_P: Array, key: Key) -> Array:
            return update_P + self.number

    # One more of each of (5, 7) is (6, 8), clipped to 5 it is (3, 4). The other way round with a bound of 10: (5, 7) is
    # shorter, stays, and becomes (6, 8). What is put in front later comes first.
    got = answers([5.0, 7.0])
    first, second = plain_mean().after(Add(1.0), Clip(5.0)), plain_mean().after(Clip(10.0), Add(1.0))
    for rule, want in (
        (first, [3.0, 4.0]),
        (second, [6.0, 8.0]),
        (plain_mean().after(Clip(5.0)).after(Add(1.0)), [3, 4]),
    ):
        np.testing.assert_allclose(
            per_group(rule, LINE).apply(np.zeros((1, 2)), got, {}, Key(0))[0][0], want, rtol=1e-15
        )


def test_noise_is_drawn_from_round_client_and_place() -> None:
    noisy = per_group(plain_mean().after(GaussianNoise(2.0)), LINE)

    def model(got: Answers, key: Key) -> list[list[float]]:
        return [list(row) for row in noisy.apply(np.zeros((2, 2)), got, {}, key)[0]]

    zero = [0.0, 0.0]
    key = Key(7).at(3)("aggregate")
    want = 2.0 * key("transform 0").of("a").rng().standard_normal(2)
    assert model(answers(zero), key)[0] == want.tolist()
    assert model(answers(zero), key) == model(answers(zero), key)
    assert model(answers(zero), key) != model(answers(zero), key.at(4))
    alone = model(answers(zero, zero, which=(0, 1)), key)
    assert alone[0] == want.tolist()  # whoever else is there
    assert alone[0] != alone[1]
    twice = per_group(plain_mean().after(GaussianNoise(1.0), GaussianNoise(1.0)), LINE)
    one, two = (key(f"transform {j}").of("a").rng().standard_normal(2) for j in (0, 1))
    assert twice.apply(np.zeros((1, 2)), answers(zero), {}, key)[0][0].tolist() == (one + two).tolist()


def test_noise_has_the_law_it_says() -> None:
    drawn = GaussianNoise(3.0)(np.full(40_000, 5.0), Key(0))
    # Standard errors: 3 / 200 = 0.015 of the mean, 3 / sqrt(80,000) = 0.0106 of the deviation; five of them.
    assert drawn.mean() == pytest.approx(5.0, abs=0.075)
    assert drawn.std() == pytest.approx(3.0, abs=0.053)


def test_a_mask_keeps_some_and_the_mean() -> None:
    drawn = RandomMask(0.25)(np.full(40_000, 2.0), Key(0))
    assert set(drawn.tolist()) == {0.0, 8.0}
    # A quarter is kept; the standard error of the share is sqrt(0.25 * 0.75 / 40,000) = 0.0022.
    assert (drawn > 0).mean() == pytest.approx(0.25, abs=0.011)
    assert RandomMask(1.0)(np.array([3.0]), Key(0)).tolist() == [3.0]


def test_statistics_pass_as_they_are() -> None:
    # weight, bias | running mean, variance | counter: only the first two are transformed.
    got = answers([3.0, 4.0, 30.0, 40.0, 2.0])
    for rule in (plain_mean().after(Clip(0.5)), Median().after(Clip(0.5))):
        w_KP, _ = per_group(rule, NORM).apply(np.zeros((1, 5)), got, {}, Key(0))
        np.testing.assert_allclose(w_KP, [[0.3, 0.4, 30.0, 40.0, 2.0]], rtol=1e-15)


def test_transforms_stand_in_front_of_rules_with_a_memory() -> None:
    rule = parse_aggregator("clip:5+server-optimiser:adam:1:beta1=0:beta2=1:tau=0.5")
    lift = per_group(rule, LINE)
    s = lift.init(np.zeros((1, 2)))
    assert {name: rows.tolist() for name, rows in s.items()} == {"m": [[0.0, 0.0]], "v": [[0.25, 0.25]]}
    # D = (3, 4) after clipping, v stays 0.25: D / (0.5 + 0.5).
    np.testing.assert_allclose(lift.apply(np.zeros((1, 2)), answers([6.0, 8.0]), s, Key(0))[0], [[3.0, 4.0]])


def test_names_with_arguments() -> None:
    assert parse_aggregator("weighted-mean") == weighted_mean()
    assert parse_aggregator("clip:1e+1 + median") == Transformed(Median(), (Clip(10.0),))
    said = {
        "clip:3": "ends with a transform; write an aggregator behind it",
        "median+plain-mean": "names two aggregators",
        "clop:3+median": "unknown transform 'clop'; did you mean 'clip'",
        "clip+median": "transform 'clip' needs 'norm'",
        "trimmed-mean:0.5": "below 0.5",
    }
    for text, sentence in said.items():
        with pytest.raises(BadInput, match=sentence):
            parse_aggregator(text)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Clip(0.0),
        lambda: Clip(float("nan")),
        lambda: GaussianNoise(-1.0),
        lambda: RandomMask(0.0),
        lambda: RandomMask(1.5),
    ],
)
def test_what_is_out_of_range_is_said(wrong: object) -> None:
    with pytest.raises(BadInput):
        wrong()  # type: ignore[operator]


def test_a_part_that_makes_the_wrong_numbers_is_named() -> None:
    class Short(WholeRule):
        def apply(self, params_P, updates_NP, counts_N, s, key):  # type: ignore[no-untyped-def]
            return params_P[:1], s

    class Scalar(Transform):
        def __call__(self, update_P: Array, key: Key) -> Array:
            return update_P.sum()  # type: ignore[no-any-return]

    got = answers([1.0, 2.0])
    for rule, name in ((Short(), "Short"), (plain_mean().after(Scalar()), "Scalar")):
        with pytest.raises(BadInput, match=f"{name} makes numbers of shape"):
            per_group(rule, LINE).apply(np.zeros((1, 2)), got, {}, Key(0))
    with pytest.raises(BadInput, match="object is no aggregator: derive it from MeanRule or WholeRule"):
        per_group(object(), LINE).apply(np.zeros((1, 2)), got, {}, Key(0))  # type: ignore[arg-type]


@pytest.mark.parametrize("sigma", [-0.1, np.inf, np.nan])
def test_noise_has_a_finite_deviation(sigma: float) -> None:
    with pytest.raises(BadInput, match="noise has a standard deviation from 0 up"):
        GaussianNoise(sigma)
