"""The sites of a federation as its server last saw them: `sites.json` in the run folder, for whoever watches."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

__all__ = ["SiteSeen", "SitesSeen", "read_sites", "write_sites"]

NAME = "sites.json"
STATES = ("online", "offline", "greeted", "not admitted")


@dataclass(frozen=True)
class SiteSeen:
    """One site. Rounds are counted once, also if they were played again after a resume.

    Args:
        node: Its number in Flower, which is another one after a restart without a key.
        name: What it calls itself.
        clients: How many it hosts.
        ids: The first of them.
        state: `online`, `offline`, `greeted` (it has not said yet who it is) or `not admitted`.
        since: When it was first seen, in seconds since 1970.
        seen: When it was last seen.
        came: The round in which it came, 0 if it was there from the start.
        went: The round in which it left; -1: it is there.
        answered: Rounds in which it answered.
        late: Rounds in which it missed the deadline of a call.
        left_out: Rounds in which it, or some of its clients, were left out.
        reason: Why, the last time; of a site that is not admitted, why not.
        last: The last round that was counted, by kind.

    >>> SiteSeen("7", "north", 2, ("ann", "bob")).state
    'online'
    """

    node: str
    name: str = ""
    clients: int = 0
    ids: tuple[str, ...] = ()
    state: str = "online"
    since: float = 0.0
    seen: float = 0.0
    came: int = 0
    went: int = -1
    answered: int = 0
    late: int = 0
    left_out: int = 0
    reason: str = ""
    last: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class SitesSeen:
    """All sites at one moment.

    Args:
        at: When the server looked, in seconds since 1970.
        round: The round that it was in.
        sites: Those that are or were there.

    >>> SitesSeen(0.0, 3, (SiteSeen("7"), SiteSeen("8", state="offline"))).counts()
    {'online': 1, 'offline': 1, 'greeted': 0, 'not admitted': 0}
    """

    at: float
    round: int
    sites: tuple[SiteSeen, ...]

    def counts(self) -> dict[str, int]:
        """How many sites are in each state.

        Returns:
            Numbers by state.
        """
        return {state: sum(site.state == state for site in self.sites) for state in STATES}

    @property
    def words(self) -> str:
        """How many are there, of those that were admitted at some time."""
        found = self.counts()
        return f"{found['online']} of {found['online'] + found['offline']}"


def write_sites(folder: Path, seen: SitesSeen) -> Path:
    """Write them down, all or nothing.

    Args:
        folder: Of the run.
        seen: What the server saw.

    Returns:
        The file.

    >>> import tempfile
    >>> write_sites(Path(tempfile.mkdtemp()), SitesSeen(12.5, 3, ())).name
    'sites.json'
    """
    partial = folder / f".{NAME}.partial"
    partial.write_text(json.dumps(asdict(seen)) + "\n", encoding="utf-8")
    return partial.rename(folder / NAME)


def read_sites(folder: Path) -> SitesSeen | None:
    """The sites of a run folder.

    Args:
        folder: Of the run.

    Returns:
        What the server saw last; None if it is no federation's, or if the file was not written by a server.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = write_sites(folder, SitesSeen(12.5, 3, (SiteSeen("7", "north"),)))
    >>> read_sites(folder).sites[0].name, read_sites(folder / "none")
    ('north', None)
    """
    try:
        found = json.loads((folder / NAME).read_text(encoding="utf-8"))
        sites = tuple(site_of(entry) for entry in found["sites"])
        return SitesSeen(number(found["at"]), whole(found["round"]), sites)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        return None


def site_of(entry: Any) -> SiteSeen:
    """A site as it was written; an error if it cannot have been."""
    kinds: dict[str, Callable[[Any], Any]] = {
        "int": whole,
        "float": number,
        "str": words,
        "tuple[str, ...]": names,
        "dict[str, int]": rounds,
    }
    known = {f.name: kinds[str(f.type)] for f in fields(SiteSeen)}
    site = SiteSeen(**{key: read(entry[key]) for key, read in known.items() if key in entry})
    if site.state not in STATES:
        raise ValueError(f"unknown state {site.state!r}")
    return site


def number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"not a number: {value!r}")
    return float(value)


def whole(value: Any) -> int:
    if type(value) is not int or abs(value) >= 2**63:
        raise ValueError(f"not a whole number: {value!r}")
    return value


def words(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"not text: {value!r}")
    return value


def names(value: Any) -> tuple[str, ...]:
    return tuple(words(name) for name in value)


def rounds(value: Any) -> dict[str, int]:
    return {words(kind): whole(t) for kind, t in value.items()}
