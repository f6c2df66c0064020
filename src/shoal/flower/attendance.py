"""Who of a federation's sites is there and how they do, written into the run folder for whoever watches."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.flower.records import Site, printable
from shoal.store.sites_file import SiteSeen, SitesSeen, read_sites, write_sites

__all__ = ["Attendance"]

HEARTBEAT = 10.0  # seconds between two looks while answers are waited for
SHOWN = 50  # clients of a site whose names are written down


class Attendance:
    """Keeps a line per site. Nothing of it changes a result.

    Args:
        clock: Tells seconds since 1970.

    >>> book = Attendance(clock=lambda: 60.0)
    >>> book.admit(7, Site({"ann": 12}, {}, (8, 8), "float32", 10, "1.0", "north"))
    >>> book.answered(7)
    >>> book.seen.sites[0].name, book.seen.sites[0].answered
    ('north', 1)
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._folder: Path | None = None
        self._looked = float("-inf")
        self._sites: dict[int, SiteSeen] = {}
        self.round = 0

    @property
    def seen(self) -> SitesSeen:
        """All sites now, by name."""
        sites = sorted(self._sites.values(), key=lambda site: (not site.clients, site.name, site.ids, site.node))
        return SitesSeen(self._clock(), self.round, tuple(sites))

    def open(self, folder: Path, begin: int) -> None:
        """From now on everything is written down; a run that is resumed goes on with what its folder says.

        Args:
            folder: Of the run.
            begin: The round that it goes on from; 0: it is new.
        """
        before = read_sites(folder) if begin else None
        now, self._sites, self.round = self._sites, {}, begin
        for site in before.sites if before is not None else ():
            if site.state in ("online", "offline") and site.node.isdecimal():
                self._sites[int(site.node)] = replace(site, state="offline")
        for node, site in now.items():
            self._enter(node, replace(site, came=begin))
        self._folder = folder
        self.save()

    def save(self) -> None:
        """Write it down, if a run has begun."""
        if self._folder is not None:
            write_sites(self._folder, self.seen)

    def due(self) -> bool:
        """Whether it is time to look again."""
        return self._clock() - self._looked >= HEARTBEAT

    def look(self, online: Collection[int], admitted: Collection[int]) -> None:
        """Note who is there.

        Args:
            online: Nodes that Flower hears of.
            admitted: Nodes that are part of the federation.
        """
        now = self._looked = self._clock()
        for node, site in list(self._sites.items()):
            if node in online:
                back = site.state == "offline" and node in admitted
                self._sites[node] = replace(replace(site, state="online", went=-1) if back else site, seen=now)
            elif site.state == "greeted":
                del self._sites[node]
            elif site.state == "online":
                self._sites[node] = replace(site, state="offline", went=self.round)
        self.save()

    def greet(self, nodes: Iterable[int]) -> None:
        """Nodes have come, and are asked who they are."""
        for node in nodes:
            if node not in self._sites:
                now = self._clock()
                self._sites[node] = SiteSeen(str(node), state="greeted", since=now, seen=now, came=self.round)

    def admit(self, node: int, site: Site) -> None:
        """A site is part of the federation: one that was, under whatever number, goes on with its line.

        Args:
            node: Its number.
            site: What it says of itself.
        """
        now, ids = self._clock(), sorted(site.sizes)
        shown = tuple(printable(client) for client in ids[:SHOWN])
        self._enter(node, SiteSeen(str(node), printable(site.name), len(ids), shown, "online", now, now, self.round))

    def refuse(self, node: int, reason: str) -> None:
        """A node is not admitted."""
        now = self._clock()
        site = self._sites.get(node, SiteSeen(str(node), since=now, came=self.round))
        self._sites[node] = replace(site, state="not admitted", seen=now, reason=reason)

    def answered(self, node: int) -> None:
        """A site has answered a call."""
        if node in self._sites:
            self._sites[node] = replace(counted(self._sites[node], "answered", self.round), seen=self._clock())

    def late(self, node: int) -> None:
        """A site has missed the deadline of a call."""
        if node in self._sites:
            self._sites[node] = counted(self._sites[node], "late", self.round)

    def round_over(self, events: Iterable[Mapping[str, Any]], hosts: Mapping[str, int]) -> None:
        """A round is over: who was left out of it, and why.

        Args:
            events: Of the round.
            hosts: The node of each client.
        """
        for event in events:
            node = hosts.get(str(event.get("client")), -1)
            if event["kind"] == "left out" and node in self._sites:
                reason = f"round {self.round}: {printable(event.get('reason', ''))}"
                self._sites[node] = replace(counted(self._sites[node], "left_out", self.round), reason=reason)
        self.save()

    def _enter(self, node: int, site: SiteSeen) -> None:
        """A line for a site: the one it had under its number, or as one that is away and has the same clients."""
        own = self._sites.pop(node, None)
        away = [n for n, s in self._sites.items() if s.state == "offline" and hosting(s) == hosting(site)]
        had = self._sites.pop(away[0]) if away and (own is None or not own.clients) else own
        if had is not None:
            site = replace(
                site,
                since=had.since,
                came=had.came if had.state == "online" else site.came,
                answered=had.answered,
                late=had.late,
                left_out=had.left_out,
                reason=had.reason if had.clients else "",
                last=had.last,
            )
        self._sites[node] = site


def hosting(site: SiteSeen) -> tuple[int, tuple[str, ...]]:
    """By which a site is known that comes back under another number."""
    return site.clients, site.ids


def counted(site: SiteSeen, kind: str, round: int) -> SiteSeen:
    """A site with one round more of a kind, unless that round was counted.

    >>> once = counted(SiteSeen("7"), "late", 3)
    >>> once.late, counted(once, "late", 3).late, counted(once, "late", 4).late
    (1, 1, 2)
    """
    if site.last.get(kind, -1) >= round:
        return site
    more: dict[str, Any] = {kind: getattr(site, kind) + 1, "last": {**site.last, kind: round}}
    return replace(site, **more)
