"""Training data released in steps."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.data.drift.federations import federations, made, plain

from shoal.data.drift import Incremental
from shoal.data.federation import Federation
from shoal.seeds import Key

KEY = Key(1)("drift")


def sizes(t: int, fed: Federation, scenario: Incremental | None = None) -> list[int]:
    found: list[int] = (scenario or Incremental())(t, fed, None, KEY.at(t))[0].train.sizes.tolist()
    return found


def test_shares_of_the_original_size() -> None:
    """Departure D22: 1/4, 1/2, 3/4, all of 40, not 1/8, 3/32; of 10: ceil 2.5 = 3, 5, ceil 7.5 = 8, 10; of 1: 1."""
    fed = made({"a": ([0] * 40, [0] * 9), "b": ([0] * 10, [0] * 9), "c": ([0], [0] * 9)})
    assert sizes(0, fed) == sizes(1, fed) == sizes(49, fed) == [10, 3, 1]
    assert sizes(50, fed) == sizes(99, fed) == [20, 5, 1]
    assert sizes(100, fed) == [30, 8, 1]
    assert sizes(150, fed) == sizes(1000, fed) == [40, 10, 1]


def test_data_shrink_where_the_papers_code_is_imitated() -> None:
    """Departure D22: 1/4, 1/8, 3/32 and 3/32 of 40 are 10, 5, ceil 3.75 = 4 and 4."""
    fed, scenario = made({"a": ([0] * 40, [0] * 9)}), Incremental(shrinking=True)
    assert [sizes(t, fed, scenario)[0] for t in (0, 49, 50, 100, 150, 999)] == [10, 10, 5, 4, 4, 4]


def test_rounding_adds_no_sample() -> None:
    """0.1 + 0.1 * 2 is 0.30000000000000004 in floating point; of 10 samples that is 3, not 4."""
    scenario = Incremental(start=0.1, step=0.1, every=1)
    assert [sizes(t, plain(1), scenario)[0] for t in range(11)] == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10]
    assert scenario.share(2) == 0.3
    assert Incremental(start=0.1, step=0.3, every=1).share(3) == 1.0  # 0.9999999999999999 otherwise


@settings(max_examples=60, deadline=None)
@given(fed=federations(), seed=st.integers(0, 99), start=st.floats(0.01, 1), step=st.floats(0.01, 1))
def test_what_is_released_stays_and_nothing_else_changes(fed: Federation, seed: int, start: float, step: float) -> None:
    scenario, had = Incremental(start=start, step=step, every=2), [set[int]() for _ in fed.ids]
    for t in (0, 1, 2, 5, 1000):
        new, _ = scenario(t, fed, None, Key(seed).at(t))
        assert new.test is fed.test and new.val is fed.val and new.view is fed.view and new.truth is fed.truth
        for i in range(len(fed.ids)):
            now = new.train[i].tolist()
            assert len(now) == math.ceil(round(scenario.share(t) * fed.train.sizes[i], 6)) >= 1
            assert had[i] <= set(now) <= set(fed.train[i].tolist())
            assert now == [k for k in fed.train[i].tolist() if k in now]  # in the old order
            had[i] = set(now)
    assert new is fed


def test_every_sample_has_the_same_chance() -> None:
    """One of four samples first, 2,000 seeds: 500 each, standard deviation 19.4."""
    fed = made({"a": ([0], [0]), "b": ([0] * 4, [0])})
    first = [int(Incremental()(0, fed, None, Key(s))[0].train[1][0]) for s in range(2000)]
    assert np.abs(np.bincount(first, minlength=6)[2:6] - 500).max() < 4 * 19.4


def test_events_say_when_something_is_released() -> None:
    told = {t: Incremental()(t, plain(2), None, KEY)[1] for t in range(201)}
    assert {t: e for t, e in told.items() if e} == {
        t: ({"kind": "released", "share": share},) for t, share in ((0, 0.25), (50, 0.5), (100, 0.75), (150, 1.0))
    }
    assert not any(Incremental(start=1.0)(t, plain(2), None, KEY)[1] for t in range(100))


def test_the_cold_start_sees_the_reduced_sets_unless_told_otherwise() -> None:
    """Departure D23."""
    fed = plain(3)
    assert sizes(0, fed) == [3, 3, 3]
    original = Incremental(cold_start_on_full_data=True)
    assert original(0, fed, None, KEY)[0] is fed
    assert [sizes(t, fed, original)[0] for t in (1, 49, 50)] == [3, 3, 5]
    assert [original(t, fed, None, KEY)[1] for t in (0, 1, 2)] == [(), ({"kind": "released", "share": 0.25},), ()]


@pytest.mark.parametrize("seed", [2, 3])
def test_the_order_depends_on_the_seed_alone(seed: int) -> None:
    fed = plain(3, size=40)
    one, two = (Incremental()(t, fed, None, Key(seed).at(t))[0].train.index.tolist() for t in (0, 30))
    assert one == two
    assert one != Incremental()(0, fed, None, Key(seed + 10))[0].train.index.tolist()
