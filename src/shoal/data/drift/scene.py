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
class Scene:
    """The data of a round: `world` is everybody and everything, `seen` is what is there for the algorithm.

    The world is all that has to be saved (`indices_of`): `seen` follows from it and from the round.
    """

    world: Federation
    seen: Federation


@dataclass(frozen=True)
class Drift:
    """Any number of scenarios at once; none means that nothing ever changes.

    Each round first those that accumulate (swaps) act on the world, in the order given, among the clients that are
    there this round: who is absent keeps its data, who left has taken them along. A swap moves complete sets, with
    samples that are not released yet. Then those that hide something (incremental, join, leave) are laid over the
    world; a client is there if none of them hides it. Each scenario has random numbers of its own: one
    more changes what another draws only if it changes who is there.

    >>> import numpy as np
    >>> from shoal.data.drift.text import parse_drift
    >>> fed = Federation.from_arrays({c: (np.zeros((8, 1)), [0] * 8) for c in "abcd"})
    >>> drift, key = parse_drift("swap-all:1+join:clients=d@2"), Key(1)("drift")
    >>> scene, told = drift.begin(fed), []
    >>> for t in range(3):
    ...     scene, events = drift(t, scene, None, key.at(t))
    ...     told.append((len(scene.seen.ids), [e["kind"] for e in events]))
    >>> told
    [(3, []), (3, ['swapped']), (4, ['swapped', 'swapped', 'joined'])]
    """

    scenarios: tuple[Scenario, ...] = ()

    def begin(self, source: Source) -> Scene:
        """The scene before anything happened."""
        if not isinstance(source, Federation):
            raise BadInput(f"drift needs a federation in memory, and {source.name} is produced on demand")
        return Scene(source, source)

    def resume(self, t: int, source: Source, saved: Mapping[str, Array], key: Key) -> Scene:
        """The scene after round t, from the federation a run began with and the indices of its world."""
        world = with_indices(self.begin(source).world, saved)
        return Scene(world, self._look(t, world, key)[0])

    def __call__(self, t: int, scene: Scene, warm: Cohort | None, key: Key) -> tuple[Scene, tuple[Event, ...]]:
        """The scene of round t; an unchanged world, or view of it, is the same object as before."""
        world, moves = self._move(t, scene.world, warm, key)
        seen, shown = self._look(t, world, key)
        if seen is not world and same(seen, scene.seen):
            seen = scene.seen
        return Scene(world, seen), (*moves, *shown)

    def _move(self, t: int, world: Federation, warm: Cohort | None, key: Key) -> tuple[Federation, tuple[Event, ...]]:
        """The world after the swaps among those who are there."""
        moving = [(scenario, own) for scenario, own in self._keyed(key) if scenario.cumulative]
        if not moving:
            return world, ()
        there = self._overlay(t, world, key)[0].ids
        before = after = world if there == world.ids else world.keep(there)
        events: list[Event] = []
        for scenario, own in moving:
            after, more = scenario(t, after, warm, own)
            events += more
        if after is before:
            return world, tuple(events)
        return (after if after.ids == world.ids else _put(world, after)), tuple(events)

    def _look(self, t: int, world: Federation, key: Key) -> tuple[Federation, tuple[Event, ...]]:
        """The world as the hiding scenarios show it, and who really came or went."""
        seen, events = self._overlay(t, world, key)
        if any("clients" in event for event in events):
            crossed = set(seen.ids) ^ set(self._overlay(t - 1, world, key)[0].ids)
            events = [_among(event, crossed) for event in events]
        return seen, tuple(event for event in events if event.get("clients") != [])

    def _overlay(self, t: int, world: Federation, key: Key) -> tuple[Federation, list[Event]]:
        """What no scenario hides in round t. Each of them gets all clients; those it hides are left out at the end."""
        seen, hidden, events = world, set[str](), list[Event]()
        for scenario, own in self._keyed(key):
            if not scenario.cumulative:
                shown, more = scenario(t, seen, None, own)
                if shown.ids == seen.ids:
                    seen = shown
                else:
                    hidden |= set(seen.ids).difference(shown.ids)
                events += more
        return without(seen, tuple(hidden), t), events

    def _keyed(self, key: Key) -> Iterator[tuple[Scenario, Key]]:
        """The scenarios, each with its key; the second of a name gets another than the first."""
        seen: Counter[str] = Counter()
        for scenario in self.scenarios:
            yield scenario, key(scenario.name).member(seen[scenario.name])
            seen[scenario.name] += 1


def _put(world: Federation, part: Federation) -> Federation:
    """The world in which the clients of the part have what they have there."""
    at = {name: i for i, name in enumerate(world.ids)}
    place = [at[name] for name in part.ids]
    rows = {split: dict(zip(place, _rows(part, split), strict=True)) for split in splits(world)}
    others = {name: _placed(getattr(world, name), getattr(part, name), place) for name in ("view", "truth")}
    return rearranged(world, rows, **others)


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
