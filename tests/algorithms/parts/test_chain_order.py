"""Groups that stay, by hand: who comes later sits last in the group that is shortest by then."""

from __future__ import annotations

from shoal.algorithms.parts.chain_order import chain_order_of, chains_of, join_shortest_chain
from shoal.table import Table

SEATS = chain_order_of([("b", "a"), ("c", "f"), ("e",)])


def test_newcomers_fill_up_the_shortest() -> None:
    # Sizes 2 2 1: d goes to group 2, then all have 2 and g goes to group 0. Places go on from the largest, 1.
    seat = join_shortest_chain(SEATS, ("a", "b", "c", "d", "e", "f", "g"))
    assert seat.get(("d", "g"), -1).tolist() == [[2, 2], [0, 3]]
    assert chains_of(seat, ("a", "b", "c", "d", "e", "f", "g")) == [("b", "a", "g"), ("c", "f"), ("e", "d")]


def test_only_those_present_count() -> None:
    # Of group 1 nobody is there: it is the shortest.
    seat = join_shortest_chain(SEATS, ("a", "b", "d", "e"))
    assert seat.get(("d",), -1).tolist() == [[1, 2]]
    assert chains_of(seat, ("a", "b", "d", "e")) == [("b", "a"), ("d",), ("e",)]


def test_nobody_new_or_no_groups_yet() -> None:
    assert join_shortest_chain(SEATS, ("a", "c")) is SEATS
    empty = Table()
    assert join_shortest_chain(empty, ("a", "c")) is empty


def test_the_last_group_counts_also_when_all_of_it_are_away() -> None:
    # Sizes 2 2 0: e alone was in group 2, and is not there.
    seat = join_shortest_chain(SEATS, ("a", "b", "c", "d", "f"))
    assert seat.get(("d",), -1).tolist() == [[2, 2]]
