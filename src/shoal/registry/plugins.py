"""What installed packages add by entry points; one that cannot be loaded ends nothing but itself."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType
from typing import Any

__all__ = ["Plugin", "installed_points", "load"]


@dataclass(frozen=True)
class Plugin:
    """An entry point of an installed package that was loaded, or could not be.

    Args:
        package: Its name and version.
        name: Of the entry point.
        thing: What it stands for; None: it declares by itself what it has, or could not be loaded.
        problem: Why it could not be loaded.

    >>> Plugin("toy 1.0", "pacfl", problem="ImportError: no module named torch").sentence
    "the package toy 1.0 cannot be loaded, so 'pacfl' is missing: ImportError: no module named torch"
    """

    package: str
    name: str
    thing: Any = None
    problem: str | None = None

    @property
    def sentence(self) -> str:
        """What is wrong with it, for whoever misses it."""
        return f"the package {self.package} cannot be loaded, so {self.name!r} is missing: {self.problem}"


@lru_cache(maxsize=1)
def installed_points() -> Any:
    """What all installed packages declare; to look for it takes a while, and once is enough."""
    from importlib.metadata import entry_points

    return entry_points()


def load(point: Any) -> Plugin:
    """Load an entry point.

    Args:
        point: As `importlib.metadata` gives it. Its object is a module that declares names, or one thing that is
            declared under the name of the entry point.

    Returns:
        What it stands for, or why it cannot be loaded.
    """
    package = f"{point.dist.name} {point.dist.version}" if getattr(point, "dist", None) else "of " + str(point)
    try:
        found = point.load()
    except (Exception, SystemExit) as e:
        return Plugin(package, point.name, problem=f"{type(e).__name__}: {' '.join(str(e).split())}")
    return Plugin(package, point.name, None if isinstance(found, ModuleType) else found)
