"""Clients that join and leave."""

from __future__ import annotations

import pytest
from tests.data.drift.federations import belongings, plain

from shoal.data.drift import Join, Leave
from shoal.data.drift.presence import chosen
from shoal.errors import BadInput
from shoal.seeds import Key

KEY = Key(1)("drift")


def test_a_share_joins_at_its_round() -> None:
    fed, join = plain(10), Join(share=0.2, round=50)
    early = [join(t, fed, None, KEY.at(t)) for t in (0, 1, 49)]
    assert {new.ids for new, _ in early} == {early[0][0].ids}
    late = sorted(set(fed.ids) - set(early[0][0].ids))
    assert len(late) == 2
    assert all(belongings(early[0][0], name) == belongings(fed, name) for name in early[0][0].ids)
    assert [events for _, events in early] == [(), (), ()]
    assert join(50, fed, None, KEY.at(50)) == (fed, ({"kind": "joined", "clients": late},))
    assert join(51, fed, None, KEY.at(51))[0] is fed
    assert join(51, fed, None, KEY.at(51))[1] == ()


def test_a_share_leaves_at_its_round() -> None:
    fed, leave = plain(10), Leave(share=0.1, round=80)
    for t in (0, 1, 79):
        assert leave(t, fed, None, KEY.at(t))[0] is fed
    new, ((event),) = leave(80, fed, None, KEY.at(80))
    assert event == {"kind": "left", "clients": sorted(set(fed.ids) - set(new.ids))}
    assert len(new.ids) == 9
    later, events = leave(200, fed, None, KEY.at(200))
    assert (later.ids, events) == (new.ids, ())


def test_the_choice_is_uniform_and_of_the_right_size() -> None:
    """2 of 5 clients, 1,000 seeds: each 400 times, standard deviation 15.5."""
    ids = tuple("abcde")
    count = dict.fromkeys(ids, 0)
    for seed in range(1000):
        who = chosen(ids, 0.4, None, Key(seed))
        assert len(who) == 2
        for name in who:
            count[name] += 1
    assert all(abs(n - 400) < 4 * 15.5 for n in count.values())
    assert len(chosen(ids, 0.01, None, KEY)) == 1


def test_named_clients() -> None:
    fed = plain(4)
    assert Join(clients="0+2", round=3)(2, fed, None, KEY)[0].ids == ("1", "3")
    assert Leave(clients="3", round=3)(3, fed, None, KEY)[0].ids == ("0", "1", "2")
    with pytest.raises(BadInput, match="no client '7'"):
        Leave(clients="0+7", round=99)(0, fed, None, KEY)


def test_somebody_must_stay() -> None:
    with pytest.raises(BadInput, match="no client would be there in round 5"):
        Leave(clients="0+1", round=5)(5, plain(2), None, KEY)
    with pytest.raises(BadInput, match="no client would be there in round 0"):
        Join(share=0.9, round=5)(0, plain(2), None, KEY)
