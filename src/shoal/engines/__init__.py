"""Engines: who runs the work of clients. `ENGINES` is the list everything else reads."""

from shoal.engines.front import Count, Front, Ledger
from shoal.engines.local import Workers
from shoal.engines.serial import Serial
from shoal.engines.unit import Backend, Outcome, Site, Unit

ENGINES: dict[str, type] = {"serial": Serial, "local": Workers}

__all__ = ["ENGINES", "Backend", "Count", "Front", "Ledger", "Outcome", "Serial", "Site", "Unit", "Workers"]
