"""Things by name: algorithms, partitions, data sets, models, aggregators. Each is listed once, where it is declared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, TypeVar

from shoal.errors import BadInput, unknown
from shoal.registry.files import WORD, import_file
from shoal.registry.plugins import Plugin, installed_points, load

T = TypeVar("T")
Thing = TypeVar("Thing")


class Registry(Mapping[str, T], Generic[T]):
    """All things of one kind by name, in alphabetical order. Calling it declares one, with traits that others may read.

    The package's own things are found by importing their `home`, those of other packages by their entry points in the
    group `shoal.<kind>s` (such as `shoal.algorithms` or `shoal.datasets`), those of a user's file by importing that
    file, which `named` does for a text such as `mine.py:Square`.

    Args:
        kind: what one of the things is called in messages, such as "partition".
        home: the package whose import declares Shoal's own; "" if there is none.
        of: what things from outside must be records of; None: anything.

    >>> shapes = Registry[type]("shape", home="")
    >>> @shapes("square", "quad", corners=4)
    ... class Square: pass
    >>> list(shapes), shapes["quad"] is Square, shapes.traits("square")["corners"]
    (['quad', 'square'], True, 4)
    >>> shapes.find("sqare")
    Traceback (most recent call last):
    shoal.errors.BadInput: unknown shape 'sqare'; did you mean 'square'? Known: quad, square.
    """

    def __init__(self, kind: str, home: str, of: type | None = None) -> None:
        self.kind, self._home, self._of = kind, home, of
        self._things: dict[str, T] = {}
        self._traits: dict[str, Mapping[str, Any]] = {}
        self._plugins: dict[str, Plugin] = {}  # by the names that they brought
        self._modules: dict[str, str] = {}  # of records from files, which do not say it themselves
        self._broken: tuple[Plugin, ...] = ()
        self._loaded = False

    @property
    def group(self) -> str:
        """Of the entry points by which packages add to it."""
        return f"shoal.{self.kind.replace(' ', '')}s"

    def __call__(self, *names: str, **traits: Any) -> Callable[[Thing], Thing]:
        """Declare what follows under one name or several; traits are read with `traits` and `having`."""

        def declare(thing: Thing) -> Thing:
            for name in names:
                before = self._things.get(name)
                if before is not None and _place(before) != _place(thing):
                    both = f"{_place(before)} and {_place(thing)}"
                    raise BadInput(f"there are two {self.kind}s called {name!r}: {both}; give one another name")
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
            raise self.unknown(name, hint=hint)
        return self[name]

    def unknown(self, name: str, more: Iterable[str] = (), hint: str = "") -> BadInput:
        """The error for a name that nothing has; packages that cannot be loaded are mentioned, as it may be theirs.

        Args:
            name: As a user wrote it.
            more: Further words that would do.
            hint: One more sentence for the message.

        Returns:
            The error, to be raised.
        """
        broken = [f"({plugin.sentence}.)" for plugin in self.broken]
        return unknown(self.kind, name, (*self, *more), " ".join([hint, *broken]).strip())

    def named(self, text: str, **traits: Any) -> str:
        """The text with a name in place of `FILE.py:NAME`, which is imported and declared; any other text as it is.

        Args:
            text: `mine.py:Square`, with arguments behind it or none.
            traits: Of what has not been declared by the file itself.

        Returns:
            `Square`, or the name under which the file declares it, with the same arguments.

        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "my_squares.py"
        >>> _ = file.write_text("class Square: pass")
        >>> shapes = Registry[type]("shape", home="")
        >>> shapes.named(f"{file}:Square:3"), shapes.named("disc:3"), list(shapes)
        ('Square:3', 'disc:3', ['Square'])
        """
        word = WORD.fullmatch(text.strip())
        if not word:
            return text
        module = import_file(Path(word["file"]))
        self._load()
        name, known = word["name"], self._things.get(word["name"])
        thing = getattr(module, name, known if getattr(known, "__module__", None) == module.__name__ else None)
        if thing is None and self._of is not None:  # a record by its own name
            records = [v for v in vars(module).values() if isinstance(v, self._of)]
            thing = next((record for record in records if getattr(record, "name", None) == name), None)
        if thing is None:
            own = [k for k, v in vars(module).items() if k[0] != "_" and self._may_be(v, module.__name__)]
            raise unknown(f"{self.kind} of {word['file']}", name, own)
        called = [n for n, other in self._things.items() if other is thing]
        if called:
            name = name if name in called else min(called)
        else:
            name, thing = self._called(name, thing)
            self._try(name, thing, traits)
        self._modules.setdefault(name, module.__name__)
        return name + word["rest"]

    def _called(self, name: str, thing: Any) -> tuple[str, Any]:
        """Records have names of their own; one that was given none takes the name under which it was found."""
        if self._of is None or not isinstance(thing, self._of):
            return name, thing
        record: Any = thing
        unnamed = any(f.name == "name" and f.default == record.name for f in fields(record))
        return (name, replace(record, name=name)) if unnamed else (record.name, record)

    def _may_be(self, thing: Any, module: str) -> bool:
        """Whether something in a file could be one of these things."""
        if self._of is not None:
            return isinstance(thing, self._of)
        return getattr(thing, "__module__", "") == module

    def _try(self, name: str, thing: Any, traits: Mapping[str, Any]) -> None:
        """Declare something from outside; if it is none of these things, it is as if nothing had happened."""
        if self._of is not None and not isinstance(thing, self._of):
            raise BadInput(f"{name!r} is no {self.kind}: it is not a {self._of.__name__} but a {type(thing).__name__}")
        self(name, **traits)(thing)
        try:
            self[name]
        except BadInput:
            del self._things[name], self._traits[name]
            raise

    def module(self, name: str) -> str:
        """The module that something came from.

        Args:
            name: Of something that was declared.

        Returns:
            Its name.
        """
        return self._modules.get(name) or str(getattr(self[name], "__module__", ""))

    @property
    def broken(self) -> tuple[Plugin, ...]:
        """Entry points of installed packages that cannot be loaded."""
        self._load()
        return self._broken

    def package(self, name: str) -> str | None:
        """The name and version of the installed package that brought something, if one did.

        Args:
            name: Of something that was declared.

        Returns:
            Such as `toy 1.0`.
        """
        self._load()
        return self._plugins[name].package if name in self._plugins else None

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
        for point in installed_points().select(group=self.group):
            before = set(self._things)
            self._take(load(point), before)

    def _take(self, plugin: Plugin, before: set[str]) -> None:
        """What a package brought; whatever is wrong with it ends nothing but itself."""
        declared = [name for name, thing in self._things.items() if thing is plugin.thing]
        try:
            if plugin.thing is not None and not declared:
                self._try(*self._called(plugin.name, plugin.thing), {})
        except BadInput as e:
            plugin = replace(plugin, problem=str(e))
        if plugin.problem is not None:
            for name in set(self._things) - before:
                del self._things[name], self._traits[name]
            self._broken += (plugin,)
        self._plugins |= dict.fromkeys(set(self._things) - before, plugin)


def _place(thing: object) -> str:
    """Where a thing is defined: two of the same place are one, imported twice."""
    return f"{getattr(thing, '__module__', '')}.{getattr(thing, '__qualname__', repr(thing))}"
