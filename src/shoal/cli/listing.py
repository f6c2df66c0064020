"""`shoal list`: algorithms, keys, data sets, partitions, models, engines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.guard import guarded
from shoal.cli.screen import Format, FormatOption, emit, out, say, table

if TYPE_CHECKING:
    from shoal.cli.catalogue import Entry

Topic = Annotated[str | None, typer.Argument(metavar="TOPIC", help="algorithms, keys, data, partitions, models, engines.")]


@guarded
def listing(topic: Topic = None, format: FormatOption = Format.text) -> None:
    """Show what there is to choose from."""
    from shoal.cli.catalogue import TOPICS
    from shoal.errors import unknown

    if topic is not None and topic not in TOPICS:
        raise unknown("topic", topic, TOPICS)
    found = {name: make() for name, make in TOPICS.items() if topic in (None, name)}
    if format is Format.json:
        emit(found)
        return
    console = out()
    for name, entries in found.items():
        say(console, name.capitalize(), style="bold")
        if topic is None and name == "keys":
            say(console, f"  {', '.join(e['name'] for e in entries)}\n", style=None)
            continue
        heads, rows = LAYOUTS[name](entries)
        console.print(table(heads, rows))
        say(console)
    if topic is None:
        say(console, "More: shoal list algorithms, shoal list keys, and so on.")


def show(value: Any) -> str:
    """A default as one would type it.

    >>> show(2e9), show(None), show(True), show(0.03)
    ('2e9', '', 'true', '0.03')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}".replace("e+0", "e") if isinstance(value, float) else str(value)


def spelled(arguments: dict[str, Any]) -> str:
    """
    >>> spelled({"groups": 4, "path": None})
    'groups=4 path=...'
    """
    return " ".join(f"{key}={show(value) or '...'}" for key, value in arguments.items())


Rows = tuple[list[str], list[list[str]]]


def of_algorithms(entries: list[Entry]) -> Rows:
    rows = []
    for e in entries:
        rows.append([e["name"], "", e["about"]])
        rows += [["", f"{k['name']}={show(k['default'])}", k["about"]] for k in e["keys"]]
    return ["name", "own keys", ""], rows


def of_keys(entries: list[Entry]) -> Rows:
    return ["key", "default", ""], [[e["name"], show(e["default"]), e["about"]] for e in entries]


def of_data(entries: list[Entry]) -> Rows:
    rows = [[e["name"], "yes" if e["found"] else "no", f"{e['about']}\n{e['where']}"] for e in entries]
    return ["name", "here", ""], rows


def of_partitions(entries: list[Entry]) -> Rows:
    return ["name", ""], [[e["name"], f"{e['about']}\n{spelled(e['arguments'])}"] for e in entries]


def of_models(entries: list[Entry]) -> Rows:
    rows = []
    for e in entries:
        count = f"{e['parameters']:,}" if e["parameters"] else "by data"
        rows.append([e["name"], count, " ".join([e["about"], spelled(e["arguments"])]).strip()])
    return ["name", "parameters", ""], rows


def of_engines(entries: list[Entry]) -> Rows:
    return ["name", ""], [[e["name"], e["about"]] for e in entries]


LAYOUTS = {
    "algorithms": of_algorithms,
    "keys": of_keys,
    "data": of_data,
    "partitions": of_partitions,
    "models": of_models,
    "engines": of_engines,
}
