"""What calls cost, added up."""

from __future__ import annotations

from shoal.engine.ledger import Count


def test_counting_begins_at_nothing() -> None:
    assert set(vars(Count()).values()) == {0}


def test_everything_is_added_to_its_like() -> None:
    total = Count(1, 2, 3, 4, 5, 6, 7)
    total.add(Count(10, 20, 30, 40, 50, 60, 70))
    assert total == Count(11, 22, 33, 44, 55, 66, 77)
