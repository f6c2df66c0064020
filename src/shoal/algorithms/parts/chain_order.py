"""Groups that stay: a table from client to its group and its place in the group's order."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from shoal.table import Table
from shoal.types import Cohort


def chain_order_of(groups: Sequence[Cohort]) -> Table:
    """The members of each group in the order given.

    >>> chain_order_of([("b", "a"), ("c",)]).rows.tolist()       # of a, b and c: group and place
    [[0, 1], [0, 0], [1, 0]]
    """
    seats = {client: (k, place) for k, group in enumerate(groups) for place, client in enumerate(group)}
    return Table().put(tuple(seats), np.array(list(seats.values())))


def chains_of(seat: Table, who: Cohort) -> list[Cohort]:
    """The groups of those present, members in the order of their places; a group that nobody is left of is none.

    >>> chains_of(chain_order_of([("b", "a"), ("c",)]), ("a", "b"))
    [('b', 'a')]
    """
    rows = sorted((int(k), int(place), c) for c, (k, place) in zip(who, seat.get(who, 0), strict=True))
    return [tuple(c for _, _, c in group) for _, group in groupby(rows, lambda row: row[0])]


def join_shortest_chain(seat: Table, who: Cohort) -> Table:
    """Seats for those present who have none: each the last one of the group that is smallest by then.

    >>> join_shortest_chain(chain_order_of([("b", "a"), ("c",)]), ("a", "b", "c", "d", "e")).rows[3:].tolist()
    [[1, 2], [0, 3]]
    """
    new = tuple(c for c in who if c not in seat)
    if not new or not len(seat):
        return seat
    groups, last = 1 + int(seat.rows[:, 0].max()), int(seat.rows[:, 1].max())
    sizes_M = np.bincount(seat.get(tuple(c for c in who if c in seat), 0)[:, 0], minlength=groups)
    rows = []
    for place, _ in enumerate(new, last + 1):
        rows.append((int(sizes_M.argmin()), place))
        sizes_M[rows[-1][0]] += 1
    return seat.put(new, np.array(rows))
