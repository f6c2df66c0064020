"""The sites of a federation in words: who is there, who was late, who was left out and why, who came and went."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from shoal.report.figures.events import short
from shoal.report.headline import Card, Sheet
from shoal.report.loaded_run import LoadedRun
from shoal.store.sites_file import SiteSeen

COLUMNS = ("site", "node", "clients", "state", "last seen", "answered", "late", "left out", "why, the last time")
TRAFFIC = ("joined", "left", "not admitted", "lost its memory")
LISTED = 100


def site_card(loaded: LoadedRun) -> Card | None:
    """How many sites are there; None if it was no federation."""
    if loaded.sites is None:
        return None
    return Card("Sites", loaded.sites.words, f"online at {clock(loaded.sites.at)[11:]}", "sites")


def site_sheets(loaded: LoadedRun) -> list[Sheet]:
    """A line per site, and who came and went; nothing if it was no federation."""
    if loaded.sites is None:
        return []
    note = f"As the server saw them at {clock(loaded.sites.at)}, in round {loaded.sites.round}. Answered, late (missed "
    note += "the deadline of a call) and left out count rounds."
    rows = [line(site) for site in loaded.sites.sites]
    traffic = [event for event in loaded.events if event["kind"] in TRAFFIC]
    came = [[str(e["round"]), str(e["kind"]), told(e)] for e in traffic[-LISTED:]]
    more = f"The last {LISTED} of {len(traffic):,}; all are in events.jsonl." if len(traffic) > LISTED else ""
    sheets = [Sheet("Who is there", COLUMNS, rows, note)]
    heads = ("round", "what", "who")
    return [*sheets, Sheet(f"Who came and went ({len(traffic):,})", heads, came, more, folded=True)] if came else sheets


def line(site: SiteSeen) -> list[str]:
    """A site in cells.

    >>> line(SiteSeen("7", "north", 2, ("ann", "bob"), answered=3))[:4]
    ['north', '7', '2: ann, bob', 'online']
    """
    state = site.state
    if state == "online" and site.came:
        state = f"online since round {site.came}"
    if state == "offline":
        state = f"offline since round {site.went}" if site.went >= 0 else "offline"
    counts = [str(n) if site.clients else "-" for n in (site.answered, site.late, site.left_out)]
    return [site.name or "-", site.node, hosted(site), state, clock(site.seen), *counts, site.reason or "-"]


def hosted(site: SiteSeen) -> str:
    """
    >>> hosted(SiteSeen("7", "", 12, tuple("abcdefghijkl")))
    '12: a, b, c, d, e, f, g, h and 4 more'
    """
    names = ", ".join(site.ids[:8])
    more = f" and {site.clients - 8:,} more" if site.clients > 8 else ""
    return f"{site.clients:,}: {names}{more}" if site.clients else "-"


def told(event: Mapping[str, Any]) -> str:
    """Whom an event is about, and why.

    >>> told({"round": 2, "kind": "joined", "clients": ["ann", "bob"]})
    'ann, bob'
    """
    who = event.get("clients", event.get("client", f"node {event.get('node', '?')}"))
    named = short(list(who)).strip("()") if isinstance(who, list) else str(who)
    return f"{named}: {event['reason']}" if event.get("reason") else named


def clock(seconds: float) -> str:
    """A moment as one reads it; a dash for one that no calendar has.

    >>> clock(1e300)
    '-'
    """
    try:
        return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return "-"
