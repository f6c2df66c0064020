"""Scenarios together, round by round."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.data.drift.federations import belongings, federations, holdings, plain

from shoal.data.drift import Drift, DriftState, SwapAll, indices_of, parse_drift
from shoal.data.drift.indices import same
from shoal.data.federation import Federation, OnDemand
from shoal.errors import BadInput
from shoal.seeds import Key
from shoal.types import Cohort

KEY = Key(1)("drift")
ALL = "swap-all:0.4+swap-part:0.4+incremental:every=3+join:clients=c0@4+leave:clients=c1@6"


def run_rounds(
    text: str, fed: Federation, rounds: int, warm: Cohort | None = None, key: Key = KEY
) -> list[tuple[DriftState, tuple[dict[str, Any], ...]]]:
    """The data of rounds 0, 1, ... with their events."""
    drift = parse_drift(text)
    state, told = drift.begin(fed), []
    for t in range(rounds + 1):
        state, events = drift(t, state, warm, key.at(t))
        told.append((state, events))
    return told


def kinds(events: tuple[dict[str, Any], ...]) -> list[str]:
    return [event["kind"] for event in events]


def test_one_scenario_alone_does_what_it_does() -> None:
    """Swaps add up; what hides is laid over the same complete federation every round."""
    fed = plain(6)
    by_hand = fed
    for t, (state, events) in enumerate(run_rounds("swap-all:0.5", fed, 8)):
        by_hand, expected = SwapAll(p=0.5)(t, by_hand, None, KEY("swap-all").at(t))
        assert events == expected
        assert same(state.complete, by_hand)
        assert state.visible is state.complete
    for state, _ in run_rounds("incremental+join:0.5@3", fed, 8):
        assert state.complete is fed


@pytest.mark.parametrize("text", ["none", "swap-all:0.1", "incremental:every=4", "join:0.5@4", "leave:0.5@4", ALL])
def test_what_does_not_change_is_the_same_object(text: str) -> None:
    fed = plain(5)
    renamed = Federation(**{**vars_of(fed), "ids": tuple(f"c{name}" for name in fed.ids)})
    told = run_rounds(text, renamed, 12)
    assert told[0][0].complete is renamed
    quiet = 0
    for (old, _), (new, events) in pairwise(told):
        assert (old.visible is new.visible) == same(old.visible, new.visible)
        assert (old.complete is new.complete) == (not {"swapped", "swapped part"} & set(kinds(events)))
        if not events:
            assert old.complete is new.complete and old.visible is new.visible
            quiet += 1
    assert quiet >= (2 if text == ALL else 5)


def vars_of(fed: Federation) -> dict[str, Any]:
    return {name: getattr(fed, name) for name in fed.__dataclass_fields__}


def test_who_is_absent_keeps_its_data_and_who_leaves_takes_them_along() -> None:
    fed = plain(6)
    told = run_rounds("swap-all:1+join:clients=0@3+leave:clients=5@6", fed, 9)
    for t, (state, events) in enumerate(told):
        present = [*("0" if t >= 3 else ""), "1", "2", "3", "4", *("5" if t < 6 else "")]
        assert state.visible.ids == tuple(present)
        assert {c for e in events if e["kind"] == "swapped" for c in e["clients"]} <= set(present)
        assert holdings(state.complete) == holdings(fed)
        if t < 3:
            assert belongings(state.complete, "0") == belongings(fed, "0")
        if t >= 6:
            assert belongings(state.complete, "5") == belongings(told[5][0].complete, "5")
        assert all(belongings(state.visible, c) == belongings(state.complete, c) for c in present)
    assert [e for e in told[3][1] if e["kind"] == "joined"] == [{"kind": "joined", "clients": ["0"]}]
    assert [e for e in told[6][1] if e["kind"] == "left"] == [{"kind": "left", "clients": ["5"]}]


def test_what_was_released_moves_with_the_data() -> None:
    """Two clients that swap every round: each shows what the other showed the round before, while the share stays."""
    fed = plain(2, size=20)
    told = [state.visible for state, _ in run_rounds("swap-all:1+incremental:every=5", fed, 4)]
    for old, new in pairwise(told):
        assert belongings(new, "0") == belongings(old, "1")
        assert belongings(new, "1") == belongings(old, "0")
        assert new.train.sizes.tolist() == [5, 5]


def test_only_who_really_came_or_went_is_told() -> None:
    """Client 0 leaves in round 2 before it would join in 4; client 1 joins and leaves in the same round."""
    fed = plain(4)
    text = "join:clients=0@4+leave:clients=0@2+join:clients=1+2@3+leave:clients=1@3"
    told = run_rounds(text, fed, 5)
    assert [state.visible.ids for state, _ in told] == [("3",), ("3",), ("3",), ("2", "3"), ("2", "3"), ("2", "3")]
    assert [events for _, events in told] == [(), (), (), ({"kind": "joined", "clients": ["2"]},), (), ()]
    with pytest.raises(BadInput, match="no client would be there in round 2"):
        run_rounds("join:clients=0@4+leave:clients=1@2", plain(2), 2)


def test_two_of_a_kind_draw_for_themselves() -> None:
    fed = plain(10)
    events = [events for _, events in run_rounds("join:0.3@2+join:0.3@4", fed, 5)]
    first, second = events[2][0]["clients"], events[4][0]["clients"]
    assert not set(first) & set(second) and len(second) == 3
    alone = run_rounds("swap-all:0.3", fed, 5)
    more = run_rounds("incremental+swap-all:0.3+swap-all:0.0", fed, 5)
    assert all(same(a.complete, b.complete) for (a, _), (b, _) in zip(alone, more, strict=True))


def test_warm_reaches_the_swaps() -> None:
    for _, events in run_rounds("swap-all:1:who=warm+leave:clients=3@1", plain(6), 5, warm=("2", "3", "4"))[1:]:
        assert [sorted(e["clients"]) for e in events if e["kind"] == "swapped"] == [["2", "4"]]


@settings(max_examples=40, deadline=None)
@given(fed=federations().filter(lambda f: len(f.ids) > 2), seed=st.integers(0, 99), stop=st.integers(0, 8))
def test_a_run_can_go_on_from_saved_indices(fed: Federation, seed: int, stop: int) -> None:
    key, drift = Key(seed), parse_drift(ALL)
    told = run_rounds(ALL, fed, 9, key=key)
    assert all(holdings(state.complete) == holdings(fed) for state, _ in told)
    state = drift.resume(stop, fed, indices_of(told[stop][0].complete), key.at(stop))
    assert same(state.visible, told[stop][0].visible)
    for t in range(stop + 1, 10):
        state, events = drift(t, state, None, key.at(t))
        assert events == told[t][1]
        assert same(state.complete, told[t][0].complete) and same(state.visible, told[t][0].visible)


def test_clients_on_demand_do_not_drift() -> None:
    def make(client: str) -> Any:
        raise AssertionError

    crowd = OnDemand(name="crowd", ids=("a",), sizes_N=np.array([1]), classes=2, make=make, shape=(1,))
    with pytest.raises(BadInput, match="drift needs a federation in memory, and crowd is produced on demand"):
        Drift().begin(crowd)
