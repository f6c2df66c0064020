"""How a site reads its data: what its node-config says, and the clients it hosts."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.data.build import as_source, build, is_own
from shoal.data.drift import parse_drift
from shoal.data.federation import Federation, Source
from shoal.data.spec import parse
from shoal.errors import BadInput
from shoal.registry import import_file
from shoal.seeds import Key

__all__ = ["SiteConfig", "SiteData"]

KEYS = ("data", "clients", "policy", "state", "partition", "seed", "drift", "idle", "name")


@dataclass(frozen=True)
class SiteConfig:
    """What the node-config of a SuperNode says.

    Args:
        data: As the key `data` of a run (`folder:/srv/site`, `csv:/srv/visits.csv:label=ill`, `digits`), or
            `FILE.py:FUNCTION`, which gives a federation, or arrays by client.
        state: A folder of the site's own: memories, the secret, the socket.
        clients: Those that it hosts, with commas; None: all that are in the data.
        policy: A file of `shoal deploy policy`; None: the default.
        partition: Of a data set that has no clients of its own, for rehearsals.
        seed: Of that partition.
        drift: What happens to the data, for rehearsals.
        idle: Seconds without a message after which the process at the site ends.
        name: What the site calls itself, for whoever watches the federation.

    >>> SiteConfig.of({"data": "folder:/srv/site", "state": "/var/lib/shoal", "clients": "ann,bob"}).clients
    'ann,bob'
    """

    data: str
    state: str
    clients: str | None = None
    policy: str | None = None
    partition: str | None = None
    seed: int = 0
    drift: str | None = None
    idle: float = 600.0
    name: str = ""

    @classmethod
    def of(cls, node_config: Mapping[str, Any]) -> SiteConfig:
        """From a node-config; what Flower puts into it beside ours is left alone.

        Args:
            node_config: Of the SuperNode.

        Returns:
            The site's configuration.
        """
        for key in ("data", "state"):
            if not node_config.get(key):
                raise BadInput(
                    f"the node-config of this SuperNode has no {key}; start it with "
                    '--node-config \'data="folder:/srv/site" state="/var/lib/shoal"\''
                )
        given: dict[str, Any] = {key: str(node_config[key]) for key in KEYS if key in node_config}
        kinds = {"idle": float, "seed": int}
        return cls(**{**given, **{key: kind(given[key]) for key, kind in kinds.items() if key in given}})


class SiteData:
    """The data of a site, round by round.

    A function that takes an argument is called again in every round, with its number: data that change come in that
    way. Files are read again when they change.

    Args:
        config: Of the site.
        load: Gives the data, instead of what the configuration names.

    >>> data = SiteData(SiteConfig("digits", "/tmp", clients="00,01"))
    >>> data.at(1).ids
    ('00', '01')
    """

    def __init__(self, config: SiteConfig, load: Callable[..., Any] | None = None) -> None:
        self._config = config
        self._load = load or loader(config)
        self._again = bool(inspect.signature(self._load).parameters)
        self._mark: Any = None
        self._held: Source | None = None

    def at(self, round: int) -> Source:
        """What the clients of this site have in a round.

        Args:
            round: Its number.

        Returns:
            A federation of the clients that the site hosts.
        """
        mark = round if self._again else changed(self._config.data)
        if self._held is None or mark != self._mark:
            found = self._load(round) if self._again else self._load()
            self._held, self._mark = hosted(as_source(found), self._config.clients), mark
        return self._held


def loader(config: SiteConfig) -> Callable[..., Any]:
    """What reads the data that a node-config names."""
    path, _, name = config.data.rpartition(":")
    if path.endswith(".py"):
        function = getattr(import_file(Path(path)), name, None)
        if not callable(function):
            raise BadInput(f"data={config.data}: {path} has no function {name!r}")
        return function  # type: ignore[no-any-return]
    if config.drift:
        return drifting(config)
    return lambda: build(config.data, config.partition, Key(config.seed))


def drifting(config: SiteConfig) -> Callable[[int], Source]:
    """A simulated federation under drift, for rehearsals: the data of a round, as a run with this seed has them.

    Scenarios must not depend on who has a group (`who=warm`), which a site does not know.
    """
    drift, key = parse_drift(config.drift or "none"), Key(config.seed)
    if "warm" in (config.drift or ""):
        raise BadInput(f"drift={config.drift} depends on the groups of a run, which no site knows; leave who=warm out")
    states = [drift.begin(build(config.data, config.partition, key))]

    def load(round: int) -> Source:
        while len(states) <= round + 1:
            t = len(states) - 1
            states.append(drift(t, states[-1], None, key("drift").at(t))[0])
        return states[round + 1].visible

    return load


def hosted(source: Source, clients: str | None) -> Source:
    """The clients that a site hosts, of those in its data."""
    if clients is None:
        return source
    if not isinstance(source, Federation):
        raise BadInput("clients=... needs data in memory; leave it out to host all clients of the data")
    wanted = [name.strip() for name in clients.split(",") if name.strip()]
    here = [name for name in wanted if name in source.ids]
    if not here:
        raise BadInput(f"the data of this site hold none of the clients that it is to host: {', '.join(wanted)}")
    return source.keep(here)


def changed(data: str) -> Any:
    """A mark of own files that is another one when they change; None for a data set by name."""
    if data.rpartition(":")[0].endswith(".py") or not is_own(data):
        return None
    path = Path(str(parse(data).args[0])).expanduser()
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    return [(file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in files if file.exists()]
