"""Things by name: algorithms, partitions, data sets, models, aggregators. Each is listed once, where it is declared."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from importlib import import_module, invalidate_caches
from pathlib import Path
from typing import Any, Generic, TypeVar

from shoal.errors import BadInput, ShoalError, unknown

T = TypeVar("T")
Thing = TypeVar("Thing")


class Registry(Mapping[str, T], Generic[T]):
    """All things of one kind by name, in alphabetical order. Calling it declares one, with traits that others may read.

    The package's own things are found by importing their `home`, those of other packages by their entry points in the
    group `shoal.<kind>s` (such as `shoal.algorithms`), those of a user's file by importing that file.

    Args:
        kind: what one of the things is called in messages, such as "partition".
        home: the package whose import declares Shoal's own; "" if there is none.

    >>> shapes = Registry[type]("shape", home="")
    >>> @shapes("square", "quad", corners=4)
    ... class Square: pass
    >>> list(shapes), shapes["quad"] is Square, shapes.traits("square")["corners"]
    (['quad', 'square'], True, 4)
    >>> shapes.find("sqare")
    Traceback (most recent call last):
    shoal.errors.BadInput: unknown shape 'sqare'; did you mean 'square'? Known: quad, square.
    """

    def __init__(self, kind: str, home: str) -> None:
        self.kind, self._home = kind, home
        self._things: dict[str, T] = {}
        self._traits: dict[str, Mapping[str, Any]] = {}
        self._loaded = False

    def __call__(self, *names: str, **traits: Any) -> Callable[[Thing], Thing]:
        """Declare what follows under one name or several; traits are read with `traits` and `having`."""

        def declare(thing: Thing) -> Thing:
            for name in names:
                before = self._things.get(name)
                if before is not None and _place(before) != _place(thing):
                    raise BadInput(f"there are two {self.kind}s called {name!r}: {_place(before)} and {_place(thing)}")
                self._things[name] = thing  # type: ignore[assignment]
                self._traits[name] = traits
            return thing

        return declare

    def find(self, name: str, hint: str = "") -> T:
        """The thing of this name, or one sentence with the nearest name that exists.

        Args:
            name: As a user wrote it.
            hint: One more sentence for the message.

        Returns:
            What was declared.
        """
        if name not in self:
            raise unknown(self.kind, name, self, hint)
        return self[name]

    def traits(self, name: str) -> Mapping[str, Any]:
        """What was declared beside the name.

        Args:
            name: Of something that was declared.

        Returns:
            Traits by name.
        """
        self._load()
        return self._traits[name]

    def having(self, trait: str) -> tuple[str, ...]:
        """The names of the things for which a trait is true.

        Args:
            trait: A name.

        Returns:
            Names of things, sorted.
        """
        return tuple(name for name in self if self.traits(name).get(trait))

    def __getitem__(self, name: str) -> T:
        self._load()
        return self._things[name]

    def __iter__(self) -> Iterator[str]:
        self._load()
        return iter(sorted(self._things))

    def __len__(self) -> int:
        self._load()
        return len(self._things)

    def _load(self) -> None:
        if self._loaded:
            return
        self._loaded = True
        if self._home:
            import_module(self._home)
        for point in installed_points().select(group=f"shoal.{self.kind.replace(' ', '_')}s"):
            point.load()


@lru_cache(maxsize=1)
def installed_points() -> Any:
    """What all installed packages declare; to look for it takes a while, and once is enough."""
    from importlib.metadata import entry_points

    return entry_points()


def _place(thing: object) -> str:
    """Where a thing is defined: two of the same place are one, imported twice."""
    return f"{getattr(thing, '__module__', '')}.{getattr(thing, '__qualname__', repr(thing))}"


def import_file(path: Path) -> None:
    """Import a file of a user's own, so that what it declares has a name; its folder stays importable for workers.

    Args:
        path: A Python file.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "my_shapes.py"
    >>> _ = file.write_text("corners = 4")
    >>> import_file(file)
    >>> sys.modules["my_shapes"].corners
    4
    """
    file = path.expanduser().resolve()
    if not file.is_file():
        raise BadInput(f"there is no file {path}")
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))
    invalidate_caches()
    try:
        found = import_module(file.stem)
    except ShoalError:
        raise
    except Exception as e:
        raise BadInput(f"{path} cannot be imported: {type(e).__name__}: {e}") from e
    if Path(found.__file__ or "").resolve() != file:
        raise BadInput(f"{path} has the name of another module, {found.__file__ or file.stem}; give it another name")
