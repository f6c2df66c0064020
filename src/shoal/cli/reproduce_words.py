"""The words of `shoal reproduce`: what they ask for, and the sentences for those that do not go together."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.errors import BadInput

UNITS = {"s": 1, "m": 60, "h": 3600}
LISTED = ("rows", "columns", "methods")  # keys of several values


@dataclass(frozen=True)
class Asked:
    """What the words of the command ask for.

    >>> asked = Asked.read(["flexcfl/table3", "rows=mnist-mclr,synthetic", "seeds=2"])
    >>> asked.tables, asked.rows, asked.seeds
    (('flexcfl/table3',), ('mnist-mclr', 'synthetic'), 2)
    """

    tables: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    seeds: int | None = None
    engine: str = "local"
    workers: int | None = None
    jobs: int = 1

    @classmethod
    def read(cls, words: Sequence[str]) -> Asked:
        tables = tuple(word.strip("/") for word in words if "=" not in word)
        pairs = once([word for word in words if "=" in word])
        empty = next((key for key, value in pairs.items() if not value or (key in LISTED and not listed(value))), None)
        if empty is not None:
            raise BadInput(f"{empty}= has no value; write {empty}=VALUE, or leave it out")
        rows, columns, methods = (listed(pairs.pop(key, None)) for key in LISTED)
        seeds, workers, jobs = (whole(key, pairs.pop(key, None)) for key in ("seeds", "workers", "jobs"))
        engine = pairs.pop("engine", "local")
        if pairs:
            raise BadInput(
                f"{next(iter(pairs))}= is not a key of reproduce, which has rows, columns, methods, seeds, jobs, "
                "engine and workers; the recipe has the settings, and `shoal run` takes others"
            )
        return cls(tables, rows, columns, methods, seeds, engine, workers, jobs or 1)

    def check_engine(self) -> None:
        """A sentence if there is no such engine, or none that plays runs side by side."""
        from shoal.setup.prepare import check_engine

        check_engine(self.engine)
        if self.jobs > 1 and self.engine == "ray":
            raise BadInput(
                "jobs= plays runs side by side on this machine, and engine=ray is about others; leave one out"
            )


def once(words: Sequence[str]) -> dict[str, str]:
    """Keys and values, each key once.

    >>> once(["columns=fedavg,ifca", "seeds=2"])
    {'columns': 'fedavg,ifca', 'seeds': '2'}
    >>> once(["columns=fedavg", "columns=ifca"])
    Traceback (most recent call last):
    shoal.errors.BadInput: columns= is given twice; write columns=fedavg,ifca
    """
    pairs: dict[str, str] = {}
    for key, value in (word.split("=", 1) for word in words):
        if key in pairs:
            mend = f"write {key}={pairs[key]},{value}" if key in LISTED else "leave one out"
            raise BadInput(f"{key}= is given twice; {mend}")
        pairs[key] = value
    return pairs


def listed(text: str | None) -> tuple[str, ...]:
    """Values with commas between them.

    >>> listed("fedavg,ifca"), listed(","), listed(None)
    (('fedavg', 'ifca'), (), ())
    """
    return tuple(filter(None, (text or "").split(",")))


def whole(key: str, text: str | None) -> int | None:
    """A number from 1 on.

    >>> whole("seeds", "5"), whole("seeds", None)
    (5, None)
    """
    if text is None:
        return None
    if not text.isdecimal() or int(text) < 1:
        raise BadInput(f"{key}={text} is not possible: give a whole number from 1 on")
    return int(text)


def seconds_of(text: str) -> float:
    """A time with its unit.

    >>> seconds_of("150m"), seconds_of("1.5h"), seconds_of("90s")
    (9000.0, 5400.0, 90.0)
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text)
    if not match or float(match[1]) == 0:
        raise BadInput(f"--budget {text} is not a time; write 90s, 150m or 8h")
    return float(match[1]) * UNITS[match[2]]


def first_given(given: Mapping[str, Any]) -> str | None:
    """The first word that has a value.

    >>> first_given({"rows=": (), "seeds=": 2}), first_given({"--keep": False})
    ('seeds=', None)
    """
    return next((word for word, value in given.items() if value), None)


def refuse_idle(given: Mapping[str, Any], instead: str = "") -> None:
    """A sentence if something is given that is about runs, and nothing would be run.

    Args:
        given: Values by word.
        instead: The option that asks for something else than runs, if there is one.

    >>> refuse_idle({"--budget": None, "seeds=": 2})
    Traceback (most recent call last):
    shoal.errors.BadInput: seeds= is about runs, and none is asked for; name a table, such as flexcfl/table3
    >>> refuse_idle({"--again": True}, "--list")
    Traceback (most recent call last):
    shoal.errors.BadInput: --again is about runs and does not go with --list, which runs nothing; leave one out
    """
    word = first_given(given)
    if word is not None and instead:
        raise BadInput(f"{word} is about runs and does not go with {instead}, which runs nothing; leave one out")
    if word is not None:
        raise BadInput(f"{word} is about runs, and none is asked for; name a table, such as flexcfl/table3")


def refuse_cells(given: Mapping[str, Any]) -> None:
    """A sentence if cells are chosen where statements are asked for, which are of whole tables.

    >>> refuse_cells({"rows=": ("mnist-mclr",), "seeds=": None})
    Traceback (most recent call last):
    shoal.errors.BadInput: rows= chooses cells, and --relations shows statements of whole tables; leave one out
    """
    word = first_given(given)
    if word is not None:
        raise BadInput(f"{word} chooses cells, and --relations shows statements of whole tables; leave one out")


def refuse_beside_check(given: Mapping[str, Any]) -> None:
    """A sentence if something is given that would change files, where runs are only compared.

    >>> refuse_beside_check({"--again": True})
    Traceback (most recent call last):
    shoal.errors.BadInput: --again does not go with --check, which leaves everything as it is; leave one out
    """
    word = first_given(given)
    if word is not None:
        raise BadInput(f"{word} does not go with --check, which leaves everything as it is; leave one out")


def refuse_guests(methods: Sequence[str]) -> None:
    """A sentence if methods are added where pages of the papers alone are written.

    >>> refuse_guests(["wecfl"])
    Traceback (most recent call last):
    shoal.errors.BadInput: methods= does not go with --write-docs, whose pages are the papers'; --html DIR shows them
    """
    if methods:
        raise BadInput("methods= does not go with --write-docs, whose pages are the papers'; --html DIR shows them")
