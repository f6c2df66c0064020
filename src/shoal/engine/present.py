"""Who of a cohort is there: worked out once for a cohort that is asked again."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from shoal.types import EVERYBODY, Array, Cohort, Failure, Roster

REMEMBERED = 8  # cohorts of which is remembered what was worked out for them
NOT_THERE = "not in the federation this round"
T = TypeVar("T")


@dataclass(frozen=True)
class Present:
    """The clients of a cohort that are there, in canonical order. Who has no samples is left out quietly.

    Args:
        clients: Who they are.
        order_N: Where each stood in the cohort.
        sizes_N: Their training samples.
        gone: Those that are not in the federation.
        single: Whether each is one client, and there once.

    >>> here = Present.of(Roster(("ann", "bob"), np.array([3, 5])), ("bob", "zoe", "ann"), np.array([7, 8, 9]))
    >>> here.clients, here.order_N.tolist(), here.sizes_N.tolist(), here.gone[0].client
    (('ann', 'bob'), [2, 0], [3, 5], 'zoe')
    """

    clients: Cohort
    order_N: Array
    sizes_N: Array
    gone: tuple[Failure, ...]
    single: bool

    @classmethod
    def of(cls, roster: Roster, cohort: Cohort, sent: Array) -> Present:
        """Those of the cohort that are in the roster; a client that is there twice by the model it is sent."""
        sizes = roster.sizes(cohort)
        here = [i for i, size in enumerate(sizes) if size]
        single = len(set(cohort)) == len(cohort) and EVERYBODY not in cohort
        here.sort(key=cohort.__getitem__ if single else lambda i: (cohort[i], sent[i]))
        gone = tuple(Failure(c, NOT_THERE) for c, size in zip(cohort, sizes, strict=True) if size is None)
        clients = cohort if here == list(range(len(cohort))) else tuple(cohort[i] for i in here)
        return cls(tuple(clients), np.array(here, np.int64), np.array([sizes[i] for i in here], np.int64), gone, single)

    def __len__(self) -> int:
        return len(self.clients)


def remember(known: dict[Hashable, T], mark: Hashable, make: Callable[[], T]) -> T:
    """What was made under a mark before, or is made now; the oldest of too many is forgotten.

    >>> known = {}
    >>> remember(known, "a", lambda: 1), remember(known, "a", lambda: 2)
    (1, 1)
    """
    if mark not in known:
        if len(known) >= REMEMBERED:
            known.pop(next(iter(known)))
        known[mark] = make()
    return known[mark]
