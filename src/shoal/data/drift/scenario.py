"""What a drift scenario is, and the one way in which all of them rearrange a federation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

from shoal.data.federation import SPLITS, Federation
from shoal.data.samples import Ragged
from shoal.seeds import Key
from shoal.types import Array, Cohort

Event = dict[str, Any]


class Scenario(Protocol):
    """What happens to a federation at the start of round t; t = 0 is before the algorithm's `init`.

    A frozen record with one pure function: a new federation that shares the samples, the very same object where
    nothing changes, and what happened as events. All randomness comes from the key. `warm` are the clients that have
    a group; None: the algorithm has no groups, so everybody counts as warm.

    `cumulative` says what to hand it. True: what it made of the federation in the round before; its changes add up
    (swaps). False: the complete federation, every round anew; it hides clients or samples for as long as it says,
    and what is hidden could not be found again in its own result (incremental, join, leave).

    >>> import numpy as np
    >>> from shoal.data.drift import SwapAll
    >>> fed = Federation.from_arrays({c: (np.zeros((8, 1)), [0] * 8) for c in "ab"})
    >>> SwapAll(p=1)(0, fed, None, Key(0)) == (fed, ())  # swaps begin with round 1
    True
    """

    @property
    def name(self) -> str: ...

    @property
    def cumulative(self) -> bool: ...

    def __call__(
        self, t: int, federation: Federation, warm: Cohort | None, key: Key
    ) -> tuple[Federation, tuple[Event, ...]]: ...


def splits(federation: Federation) -> list[str]:
    """The splits a federation has."""
    return [split for split in SPLITS if federation.has(split)]


def rearranged(federation: Federation, rows: Mapping[str, Mapping[int, Array]], **others: Any) -> Federation:
    """The federation in which some clients, given by place, have other samples in some splits."""
    new: dict[str, Any] = {}
    for split, own in rows.items():
        old: Ragged = getattr(federation, split)
        new[split] = old.with_rows(own)
    return replace(federation, **new, **others)
