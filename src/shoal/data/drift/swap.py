"""Clients that swap their data: all of it, or the samples of one label each. Drifts of FlexCFL, section 5.3."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from shoal.data.drift.scenario import Event, rearranged, splits
from shoal.data.federation import Federation
from shoal.errors import BadInput
from shoal.seeds import Key
from shoal.types import Array, Cohort

Who = Literal["all", "warm"]


@dataclass(frozen=True, kw_only=True)
class SwapAll:
    """Each round pairs of clients, each with probability p, exchange all their data.

    Training, test and validation samples move, and with them the view through which they are seen and the planted
    group; names, and the tags that owners publish, stay. `who="all"` draws from everybody, so that all algorithms
    meet the same drift; `who="warm"` from the clients that have a group, as the paper. About p n clients are affected
    in a round. Begins with round 1.

    Args:
        p: The probability of a pair to swap.
        who: `all`, or `warm`: clients that have a group.

    >>> fed = Federation.from_arrays({"a": (np.zeros((4, 1)), [0] * 4), "b": (np.ones((4, 1)), [1] * 4)}, test=0.25)
    >>> swapped, events = SwapAll(p=1)(1, fed, None, Key(0))
    >>> [swapped.client(c)("train")[1].tolist() for c in swapped.ids], events[0]["kind"]
    ([[1, 1, 1], [0, 0, 0]], 'swapped')
    """

    p: float = 0.05
    who: Who = "all"
    name: ClassVar[str] = "swap-all"
    cumulative: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check(self.p, self.name)

    def __call__(
        self, t: int, federation: Federation, warm: Cohort | None, key: Key
    ) -> tuple[Federation, tuple[Event, ...]]:
        found = pairs(t, federation.ids, warm if self.who == "warm" else None, self.p, key)
        if not found:
            return federation, ()
        source = np.arange(len(federation.ids))
        for i, j in found:
            source[[i, j]] = j, i
        moved = np.array(found).ravel()
        rows = {s: {i: getattr(federation, s)[source[i]] for i in moved.tolist()} for s in splits(federation)}
        view = None if federation.view is None else federation.view[source]
        truth = None if federation.truth is None else federation.truth[source]
        events = tuple({"kind": "swapped", "clients": [federation.ids[i], federation.ids[j]]} for i, j in found)
        return rearranged(federation, rows, view=view, truth=truth), events


@dataclass(frozen=True, kw_only=True)
class SwapPart:
    """Each round pairs of clients, drawn as by `SwapAll`, exchange all samples of one label each.

    The first gives a label that it both trains and tests on and that the second does not both train and test on, and
    the other way round; a pair without two such labels is passed over, that pair only (departure D21). Samples keep
    their split. A label is what the client calls it. Two clients with different views would not see in a sample what
    the giver saw, so that the receiver would not get the label the giver lost: such pairs are passed over too. A client
    stays in its planted group, for it keeps most of its data.

    In the event the first label went from the first client to the second.

    Args:
        p: The probability of a pair to swap.
        who: `all`, or `warm`: clients that have a group.
        early_end: Whether the first pair without two such labels ends the round's swaps, as in the paper's code.

    >>> y = {"a": [0, 0, 1, 1], "b": [0, 0, 2, 2]}
    >>> fed = Federation.from_arrays({c: (np.eye(4), v, np.eye(4), v) for c, v in y.items()})
    >>> swapped, events = SwapPart(p=1)(1, fed, None, Key(0))
    >>> [sorted(swapped.client(c)("train")[1].tolist()) for c in swapped.ids]
    [[0, 0, 2, 2], [0, 0, 1, 1]]
    """

    p: float = 0.05
    who: Who = "all"
    early_end: bool = False
    name: ClassVar[str] = "swap-part"
    cumulative: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check(self.p, self.name)

    def __call__(
        self, t: int, federation: Federation, warm: Cohort | None, key: Key
    ) -> tuple[Federation, tuple[Event, ...]]:
        rng = key.at(t)("labels").rng()
        rows: dict[str, dict[int, Array]] = {split: {} for split in splits(federation)}
        events: list[Event] = []
        for pair in pairs(t, federation.ids, warm if self.who == "warm" else None, self.p, key):
            a, b = (federation.ids[i] for i in pair)
            if federation.view_of(a) != federation.view_of(b):
                continue
            gives = _exclusive(federation, a, b), _exclusive(federation, b, a)
            if not all(gives):
                if self.early_end:
                    break
                continue
            labels = [choices[rng.integers(len(choices))] for choices in gives]
            for split in rows:
                kept_a, given_a = _cut(federation, a, split, labels[0])
                kept_b, given_b = _cut(federation, b, split, labels[1])
                rows[split][pair[0]] = np.concatenate([kept_a, given_b])
                rows[split][pair[1]] = np.concatenate([kept_b, given_a])
            events.append({"kind": "swapped part", "clients": [a, b], "labels": labels})
        return (rearranged(federation, rows), tuple(events)) if events else (federation, ())


def pairs(t: int, ids: Cohort, warm: Cohort | None, p: float, key: Key) -> list[tuple[int, int]]:
    """The places of the clients that swap: position i of a permutation with position -(i + 1), each with probability p.

    >>> pairs(1, ("a", "b", "c", "d"), ("b", "d"), 1.0, Key(0)) in ([(1, 3)], [(3, 1)])
    True
    """
    if t < 1:
        return []
    able = set(ids if warm is None else warm)
    rng = key.at(t).rng()
    order = rng.permutation([i for i, name in enumerate(ids) if name in able]).tolist()
    swap = rng.random(len(order) // 2) < p
    return [(order[i], order[-(i + 1)]) for i in np.flatnonzero(swap).tolist()]


def _check(p: float, name: str) -> None:
    if not 0 <= p <= 1:
        raise BadInput(f"p of {name} must be from 0 to 1, not {p}")


def _labels(federation: Federation, client: str, split: str) -> Array:
    return federation.view_of(client).relabel(federation.y[federation.indices(client, split)])


def _exclusive(federation: Federation, client: str, other: str) -> list[int]:
    """The labels that a client both trains and tests on and another client does not."""
    own, theirs = (
        set(_labels(federation, c, "train").tolist()) & set(_labels(federation, c, "test").tolist())
        for c in (client, other)
    )
    return sorted(own - theirs)


def _cut(federation: Federation, client: str, split: str, label: int) -> tuple[Array, Array]:
    """A client's samples of a split: those of other labels, and those of this one."""
    rows, given = federation.indices(client, split), _labels(federation, client, split) == label
    return rows[~given], rows[given]
