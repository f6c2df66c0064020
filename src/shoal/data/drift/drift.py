"""All scenarios of a run together: how they go with each other, and what a run carries from round to round."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from shoal.data.drift.indices import same, with_indices
from shoal.data.drift.presence import without
from shoal.data.drift.scenario import Event, Scenario, rearranged, splits
from shoal.data.federation import Federation, Source
from shoal.errors import BadInput
from shoal.seeds import Key
from shoal.types import Array, Cohort


@dataclass(frozen=True)
class DriftState:
    """The data of a round, before and after hiding.

    The complete federation is all that has to be saved (`indices_of`): the visible one follows from it and the round.

    Attributes:
        complete: Everybody, with everything they have.
        visible: What is there for the algorithm in this round.

    >>> import numpy as np
    >>> fed = Federation.from_arrays({c: (np.zeros((8, 1)), [0] * 8) for c in "ab"})
    >>> state = Drift().begin(fed)
    >>> state.complete is fed, state.visible is fed
    (True, True)
    """

    complete: Federation
    visible: Federation


@dataclass(frozen=True)
class Drift:
    """Any number of scenarios at once; none means that nothing ever changes.

    Each round first those that accumulate (swaps) act on the complete federation, in the order given, among the
    clients that are there this round: who is absent keeps its data, who left has taken them along. A swap moves
    complete sets, with samples that are not released yet. Then those that hide something (incremental, join, leave)
    are laid over it; a client is there if none of them hides it. Each scenario has random numbers of its own: one more
    changes what another draws only if it changes who is there.

    Args:
        scenarios: What happens, swaps in the order in which they act.

    >>> import numpy as np
    >>> from shoal.data.drift.text import parse_drift
    >>> fed = Federation.from_arrays({c: (np.zeros((8, 1)), [0] * 8) for c in "abcd"})
    >>> drift, key = parse_drift("swap-all:1+join:clients=d@2"), Key(1)("drift")
    >>> state, told = drift.begin(fed), []
    >>> for t in range(3):
    ...     state, events = drift(t, state, None, key.at(t))
    ...     told.append((len(state.visible.ids), [e["kind"] for e in events]))
    >>> told
    [(3, []), (3, ['swapped']), (4, ['swapped', 'swapped', 'joined'])]
    """

    scenarios: tuple[Scenario, ...] = ()

    def begin(self, source: Source) -> DriftState:
        """The data before anything happened.

        Args:
            source: The federation of the run, which must be in memory.

        Returns:
            The state to hand to round 0.
        """
        if not isinstance(source, Federation):
            raise BadInput(f"drift needs a federation in memory, and {source.name} is produced on demand")
        return DriftState(source, source)

    def resume(self, t: int, source: Source, saved: Mapping[str, Array], key: Key) -> DriftState:
        """The data after round t, from the federation a run began with and the saved indices.

        Args:
            t: The round after which the indices were saved.
            source: The federation that the run began with.
            saved: `indices_of` the complete federation.
            key: That of round t.

        Returns:
            The state to hand to round t + 1.
        """
        complete = with_indices(self.begin(source).complete, saved)
        return DriftState(complete, self._hide(t, complete, key)[0])

    def __call__(
        self, t: int, state: DriftState, warm: Cohort | None, key: Key
    ) -> tuple[DriftState, tuple[Event, ...]]:
        """The data of round t; a federation that did not change is the same object as before."""
        complete, moves = self._swap(t, state.complete, warm, key)
        visible, shown = self._hide(t, complete, key)
        if visible is not complete and same(visible, state.visible):
            visible = state.visible
        return DriftState(complete, visible), (*moves, *shown)

    def _swap(
        self, t: int, complete: Federation, warm: Cohort | None, key: Key
    ) -> tuple[Federation, tuple[Event, ...]]:
        """The complete federation after the swaps among those who are there."""
        moving = [(scenario, own) for scenario, own in self._keyed(key) if scenario.cumulative]
        if not moving:
            return complete, ()
        there = self._overlay(t, complete, key)[0].ids
        before = after = complete if there == complete.ids else complete.keep(there)
        events: list[Event] = []
        for scenario, own in moving:
            after, more = scenario(t, after, warm, own)
            events += more
        if after is before:
            return complete, tuple(events)
        return (after if after.ids == complete.ids else _put(complete, after)), tuple(events)

    def _hide(self, t: int, complete: Federation, key: Key) -> tuple[Federation, tuple[Event, ...]]:
        """The complete federation as the hiding scenarios show it, and who really came or went."""
        visible, events = self._overlay(t, complete, key)
        if any("clients" in event for event in events):
            crossed = set(visible.ids) ^ set(self._overlay(t - 1, complete, key)[0].ids)
            events = [_among(event, crossed) for event in events]
        return visible, tuple(event for event in events if event.get("clients") != [])

    def _overlay(self, t: int, complete: Federation, key: Key) -> tuple[Federation, list[Event]]:
        """What no scenario hides in round t. Each of them gets all clients; those it hides are left out at the end."""
        visible, hidden, events = complete, set[str](), list[Event]()
        for scenario, own in self._keyed(key):
            if not scenario.cumulative:
                shown, more = scenario(t, visible, None, own)
                if shown.ids == visible.ids:
                    visible = shown
                else:
                    hidden |= set(visible.ids).difference(shown.ids)
                events += more
        return without(visible, tuple(hidden), t), events

    def _keyed(self, key: Key) -> Iterator[tuple[Scenario, Key]]:
        """The scenarios, each with its key; the second of a name gets another than the first."""
        used: Counter[str] = Counter()
        for scenario in self.scenarios:
            yield scenario, key(scenario.name).member(used[scenario.name])
            used[scenario.name] += 1


def _put(complete: Federation, part: Federation) -> Federation:
    """The complete federation in which the clients of the part have what they have there."""
    at = {name: i for i, name in enumerate(complete.ids)}
    place = [at[name] for name in part.ids]
    rows = {split: dict(zip(place, _rows(part, split), strict=True)) for split in splits(complete)}
    others = {name: _placed(getattr(complete, name), getattr(part, name), place) for name in ("view", "truth")}
    return rearranged(complete, rows, **others)


def _rows(federation: Federation, split: str) -> list[Array]:
    return [federation.indices(name, split) for name in federation.ids]


def _among(event: Event, crossed: set[str]) -> Event:
    """An event of clients that came or went, without those for whom another scenario made no difference of it."""
    return {**event, "clients": [c for c in event["clients"] if c in crossed]} if "clients" in event else event


def _placed(whole: Array | None, part: Array | None, place: list[int]) -> Array | None:
    if whole is None or part is None:
        return None
    out = whole.copy()
    out[place] = part
    return out
