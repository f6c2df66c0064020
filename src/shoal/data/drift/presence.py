"""Clients that join a run in the middle of it, and clients that leave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.data.drift.scenario import Event
from shoal.data.federation import Federation
from shoal.errors import BadInput
from shoal.seeds import Key, hash_ids
from shoal.types import Cohort


@dataclass(frozen=True, kw_only=True)
class Join:
    """Some clients are absent until a round and there from then on: a share of all, or those named (`a+b`).

    Wants the complete federation every round.

    Args:
        share: Of the clients; at least one of them.
        round: The first in which they are there.
        clients: Their names, instead of a share.

    >>> fed = Federation.from_arrays({c: (np.zeros((2, 1)), [0, 1]) for c in "abc"}, test=0)
    >>> [Join(clients="a+c", round=5)(t, fed, None, Key(0))[0].ids for t in (0, 4, 5)]
    [('b',), ('b',), ('a', 'b', 'c')]
    """

    share: float | None = None
    round: int
    clients: str | None = None
    name: ClassVar[str] = "join"
    cumulative: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check(self.name, self.share, self.round, self.clients)

    def __call__(
        self, t: int, federation: Federation, warm: Cohort | None, key: Key
    ) -> tuple[Federation, tuple[Event, ...]]:
        who = chosen(federation.ids, self.share, self.clients, key)
        if t < self.round:
            return without(federation, who, t), ()
        return federation, ({"kind": "joined", "clients": list(who)},) if t == self.round else ()


@dataclass(frozen=True, kw_only=True)
class Leave:
    """Some clients are gone from a round on: a share of all, or those named (`a+b`); they never come back.

    Wants the complete federation every round.

    Args:
        share: Of the clients; at least one of them.
        round: The first in which they are gone.
        clients: Their names, instead of a share.

    >>> fed = Federation.from_arrays({c: (np.zeros((2, 1)), [0, 1]) for c in "abc"}, test=0)
    >>> [Leave(clients="a+c", round=5)(t, fed, None, Key(0))[0].ids for t in (0, 4, 5)]
    [('a', 'b', 'c'), ('a', 'b', 'c'), ('b',)]
    """

    share: float | None = None
    round: int
    clients: str | None = None
    name: ClassVar[str] = "leave"
    cumulative: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check(self.name, self.share, self.round, self.clients)

    def __call__(
        self, t: int, federation: Federation, warm: Cohort | None, key: Key
    ) -> tuple[Federation, tuple[Event, ...]]:
        who = chosen(federation.ids, self.share, self.clients, key)
        if t < self.round:
            return federation, ()
        return without(federation, who, t), ({"kind": "left", "clients": list(who)},) if t == self.round else ()


def chosen(ids: Cohort, share: float | None, clients: str | None, key: Key) -> Cohort:
    """The clients a scenario is about, the same in every round; of a share at least one.

    >>> len(chosen(tuple("abcdefghij"), 0.2, None, Key(0))), chosen(("a", "b", "c"), None, "c+a", Key(0))
    (2, ('a', 'c'))
    """
    if clients is not None:
        named = {name.strip() for name in clients.split("+")}
        missing = sorted(named.difference(ids))
        if missing:
            raise BadInput(f"the federation has no client {missing[0]!r} that could join or leave")
        return tuple(sorted(named))
    scores_N = key.at(0).scores(hash_ids(ids))
    count = max(1, round((share or 0) * len(ids)))
    return tuple(ids[i] for i in np.sort(np.argsort(scores_N)[:count]))


def without(federation: Federation, who: Cohort, t: int) -> Federation:
    """The federation of the others."""
    gone = set(who)
    stay = [name for name in federation.ids if name not in gone]
    if not stay:
        raise BadInput(f"no client would be there in round {t}; let fewer leave, or join later")
    return federation if len(stay) == len(federation.ids) else federation.keep(stay)


def _check(name: str, share: float | None, at: int, clients: str | None) -> None:
    if (share is None) == (clients is None):
        raise BadInput(f"{name} needs a share or a list of clients: {name}:0.2@50 or {name}:clients=a+b@50")
    if share is not None and not 0 < share < 1:
        raise BadInput(f"share of {name} must lie between 0 and 1, not {share}")
    if at < 1:
        raise BadInput(f"round of {name} must be at least 1, not {at}")
