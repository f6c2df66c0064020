"""`shoal list`: algorithms, keys, data sets, partitions, models, aggregators, engines, trackers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.console import Format, FormatOption, echo, emit, out, table
from shoal.cli.failures import guarded

if TYPE_CHECKING:
    from shoal.cli.catalogue import Entry

TOPICS = "algorithms, keys, data, partitions, models, aggregators, engines, trackers."
Topic = Annotated[str | None, typer.Argument(metavar="TOPIC", help=TOPICS)]


@guarded
def listing(topic: Topic = None, format: FormatOption = Format.text) -> None:
    """Show what there is to choose from."""
    from shoal.cli.catalogue import CATALOGUE
    from shoal.cli.list_tables import LAYOUTS
    from shoal.errors import unknown

    if topic is not None and topic not in CATALOGUE:
        raise unknown("topic", topic, CATALOGUE)
    found = {name: make() for name, make in CATALOGUE.items() if topic in (None, name)}
    if format is Format.json:
        emit(found)
        return
    console = out()
    if topic is None:
        console.print(table(["topic", "what there is"], [[name, overview(found[name])] for name in found]))
        echo(console, "\nEach with an explanation: shoal list algorithms, shoal list keys, and so on.")
    else:
        console.print(table(*LAYOUTS[topic](found[topic])))
        if topic == "algorithms":
            echo(console, "\nNo idea which? shoal run auto tries some, runs the one that fits, says why.")


def overview(entries: list[Entry]) -> str:
    """The names; what is not on this machine is marked.

    >>> overview([{"name": "digits"}, {"name": "mnist", "found": False}])
    'digits, mnist (not here)'
    """
    return ", ".join(e["name"] + ("" if e.get("found", True) else " (not here)") for e in entries)
