"""Swaps of all data and of one label each."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.data.drift.federations import belongings, federations, holdings, made, named, plain

from shoal.data.drift import SwapAll, SwapPart
from shoal.data.drift.swap import pairs
from shoal.data.federation import Federation
from shoal.data.samples import View
from shoal.seeds import Key

KEY = Key(1)("drift")
Swap = type[SwapAll] | type[SwapPart]
both = pytest.mark.parametrize("swap", [SwapAll, SwapPart])


def test_everything_of_two_clients_is_exchanged() -> None:
    """Samples are numbered in order: a has 0, 1 | 2 | 3 (training, test, validation), b has 4 | 5, 6 | 7."""
    fed = made(
        {"a": ([0, 0], [0], [0]), "b": ([1], [1, 1], [1])},
        views=(View(), View(turns=1)),
        view=np.array([0, 1]),
        truth=np.array([5, 7]),
        tags={"a": {"site": "north"}},
    )
    new, events = SwapAll(p=1)(1, fed, None, KEY)
    assert belongings(new, "a") == (((4,), (5, 6), (7,)), View(turns=1), 7)
    assert belongings(new, "b") == (((0, 1), (2,), (3,)), View(), 5)
    assert new.x is fed.x and new.y is fed.y and new.views is fed.views and new.tags is fed.tags
    assert [(e["kind"], sorted(e["clients"])) for e in events] == [("swapped", ["a", "b"])]
    assert new.roster.sizes_N.tolist() == [1, 2]
    assert belongings(fed, "a")[0] == ((0, 1), (2,), (3,))  # the old one is untouched


def test_everybody_but_the_middle_one_swaps_at_p_1() -> None:
    fed = plain(7)
    new, events = SwapAll(p=1)(3, fed, None, KEY)
    assert len(events) == 3
    assert new.truth is not None
    assert sorted(new.truth.tolist()) == list(range(7))
    assert (new.truth == np.arange(7)).sum() == 1  # position 3 of 7 has no partner
    for event in events:
        a, b = event["clients"]
        assert belongings(new, a) == belongings(fed, b)
        assert belongings(new, b) == belongings(fed, a)


def test_pairs_are_the_two_ends_of_a_permutation() -> None:
    order = KEY.at(4).rng().permutation(5).tolist()
    assert pairs(4, tuple("abcde"), None, 1.0, KEY) == [(order[0], order[4]), (order[1], order[3])]


@both
def test_a_share_p_of_the_clients_is_affected(swap: Swap) -> None:
    """40 clients, 400 rounds: 8,000 pairs, of which 5 % swap: 400 expected, standard deviation 19.5.

    Every client has a label of its own, in training and test set, so that no pair of swap-part is passed over.
    """
    fed, swapped = plain(40, size=2), 0
    rounds = []
    for t in range(1, 401):
        fed, events = swap()(t, fed, None, KEY.at(t))
        swapped += len(events)
        rounds.append(len(events))
    assert abs(swapped - 400) < 4 * 19.5
    assert 0 in rounds and max(rounds) > 2


@both
@settings(max_examples=80, deadline=None)
@given(fed=federations(), t=st.integers(1, 9), p=st.sampled_from([0.3, 1.0]), seed=st.integers(0, 99))
def test_nothing_is_lost_or_won(swap: Swap, fed: Federation, t: int, p: float, seed: int) -> None:
    before = holdings(fed)
    new, events = swap(p=p)(t, fed, None, Key(seed))
    assert holdings(new) == before == holdings(fed)
    assert (new is fed) == (not events)
    assert new.ids == fed.ids and new.x is fed.x and new.y is fed.y
    touched = {name for event in events for name in event["clients"]}
    assert len(touched) == 2 * len(events)  # nobody twice
    for name in set(fed.ids) - touched:
        assert belongings(new, name) == belongings(fed, name)
    again, _ = swap(p=p)(t, fed, None, Key(seed))
    assert all(belongings(new, name) == belongings(again, name) for name in fed.ids)


@both
def test_rounds_and_seeds_differ_and_round_0_is_quiet(swap: Swap) -> None:
    fed = plain(12)
    told = {str(swap(p=1)(t, fed, None, Key(seed))[1]) for t in (1, 2, 3) for seed in (0, 1)}
    assert len(told) == 6
    assert swap(p=1)(0, fed, None, KEY) == (fed, ())
    assert swap(p=1)(0, fed, None, KEY)[0] is fed
    assert swap(p=0)(1, fed, None, KEY)[0] is fed
    assert swap(p=1)(1, plain(1), None, KEY)[1] == ()


@both
def test_only_warm_clients_swap_if_so_wished(swap: Swap) -> None:
    fed = plain(10)
    warm = ("01", "4", "5", "7", "nobody")
    for t in range(1, 20):
        _, events = swap(p=1, who="warm")(t, fed, warm, KEY)
        assert [sorted(e["clients"]) for e in events] in ([["4", "5"]], [["4", "7"]], [["5", "7"]])
        assert len(swap(p=1, who="warm")(t, fed, None, KEY)[1]) == 5  # no groups: everybody
        assert len(swap(p=1)(t, fed, warm, KEY)[1]) == 5  # who=all
    assert swap(p=1, who="warm")(1, fed, (), KEY)[0] is fed


def test_one_label_each_is_exchanged_in_all_splits() -> None:
    """a has {0, 1}, b has {0, 2}: a gives 1, b gives 2; both keep their zeros.

    a: training samples 0-2, test 3-4, validation 5-6; b: training 7-8, test 9-11, validation 12.
    """
    fed = made({"a": ([0, 1, 1], [1, 0], [0, 1]), "b": ([2, 0], [0, 2, 2], [2])}, truth=np.array([3, 4]))
    new, events = SwapPart(p=1)(1, fed, None, KEY)
    assert [sorted(new.indices("a", s)) for s in ("train", "test", "val")] == [[0, 7], [4, 10, 11], [5, 12]]
    assert [sorted(new.indices("b", s)) for s in ("train", "test", "val")] == [[1, 2, 8], [3, 9], [6]]
    assert new.truth is fed.truth
    (event,) = events
    gave = dict(zip(event["clients"], event["labels"], strict=True))
    assert (event["kind"], gave) == ("swapped part", {"a": 1, "b": 2})


@pytest.mark.parametrize(
    ("a", "b", "gave"),
    [
        (([0, 1], [0, 1]), ([2, 1], [2, 1]), {"a": 0, "b": 2}),  # a cannot give 1, which b trains and tests on
        (([0, 1], [0]), ([2], [2]), {"a": 0, "b": 2}),  # nor here, as it does not test on it itself
        (([1], [1]), ([2], [2, 1]), {"a": 1, "b": 2}),  # but here it can: b only tests on it
        (([1], [1]), ([2, 1], [2]), {"a": 1, "b": 2}),  # or only trains on it
        (([1], [1], [1]), ([2], [2], [1]), {"a": 1, "b": 2}),  # or only validates on it
        (([0, 1], [0, 1]), ([0, 1], [0, 1]), None),  # the same labels
        (([0, 1], [0, 1]), ([0], [0]), None),  # b has nothing that a has not
        (([0, 1], [1, 0]), ([2, 0, 1], [2, 0, 1]), None),  # b trains and tests on all that a has
        (([0], []), ([2], [2]), None),  # a tests on nothing
    ],
)
def test_labels_must_be_exclusive_and_both_trained_and_tested(
    a: tuple[list[int], ...], b: tuple[list[int], ...], gave: dict[str, int] | None
) -> None:
    for t in range(1, 6):  # several draws
        _, events = SwapPart(p=1)(t, made({"a": a, "b": b}), None, KEY)
        assert [dict(zip(e["clients"], e["labels"], strict=True)) for e in events] == ([gave] if gave else [])


def test_a_pair_without_exclusive_labels_is_passed_over_alone() -> None:
    """Departure D21: eight clients have label 0, two have label 1. A pair of one of the eight and one of the two swaps,
    wherever it stands among the pairs of the round; the others have nothing to exchange.
    """
    fed = made({**{f"a{i}": ([0], [0]) for i in range(8)}, "b": ([1], [1]), "c": ([1], [1])})
    met = late = 0
    for t in range(1, 100):
        found = [{fed.ids[i], fed.ids[j]} for i, j in pairs(t, fed.ids, None, 1.0, KEY)]
        _, events = SwapPart(p=1)(t, fed, None, KEY)
        mixed = [pair for pair in found if len(pair & {"b", "c"}) == 1]
        assert [set(e["clients"]) for e in events] == mixed
        met += len(mixed)
        late += sum(found.index(pair) > 0 for pair in mixed)
        _, first = SwapPart(p=1, early_end=True)(t, fed, None, KEY)  # as the paper's code: until the first other pair
        assert [set(e["clients"]) for e in first] == [*takewhile(mixed.__contains__, found)]
    assert met > 100 and late > 50


def test_labels_are_what_clients_call_them_and_views_must_agree() -> None:
    """Under the map 0 -> 1 -> 2 -> 0 both clients see other labels than are stored; the event says the seen ones."""
    turned = View(labels=(1, 2, 0))
    fed = made({"a": ([0, 1], [0, 1]), "b": ([0, 2], [0, 2])}, views=(View(), turned), view=np.array([1, 1]))
    new, events = SwapPart(p=1)(1, fed, None, KEY)
    assert dict(zip(events[0]["clients"], events[0]["labels"], strict=True)) == {"a": 2, "b": 0}
    assert named(new, "a", "train") == [0, 1]
    mixed = replace(fed, view=np.array([0, 1]))
    assert SwapPart(p=1)(1, mixed, None, KEY)[0] is mixed
    equal = replace(mixed, views=(turned, turned))
    assert len(SwapPart(p=1)(1, equal, None, KEY)[1]) == 1
