"""`shoal list`: algorithms, keys, data sets, partitions, models, tasks, metrics, aggregators, engines, trackers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.console import Format, FormatOption, echo, emit, err, out, table
from shoal.cli.failures import guarded

if TYPE_CHECKING:
    from shoal.cli.catalogue import Entry

TOPICS = "algorithms, keys, data, partitions, models, tasks, metrics, aggregators, engines, trackers; or one algorithm."
Topic = Annotated[str | None, typer.Argument(metavar="TOPIC", help=TOPICS)]


@guarded
def listing(topic: Topic = None, format: FormatOption = Format.text) -> None:
    """Show what there is to choose from, or the keys of one algorithm.

    \b
    shoal list
    shoal list partitions
    shoal list fedprox
    shoal list mine.py:Mine
    """
    from shoal.cli.catalogue import CATALOGUE, broken
    from shoal.cli.list_tables import LAYOUTS

    found = {name: make() for name, make in CATALOGUE.items() if topic in (None, name)}
    if topic is not None and topic not in CATALOGUE:
        found, topic = {"algorithms": one_algorithm(topic)}, "algorithms"
    for sentence in broken():
        echo(err(), sentence)
    if format is Format.json:
        emit(found)
        return
    console = out()
    if topic is None:
        console.print(table(["topic", "what there is"], [[name, overview(found[name])] for name in found]))
        echo(console, "\nEach with an explanation: shoal list algorithms, shoal list keys, and so on.")
    else:
        console.print(table(*LAYOUTS[topic](found[topic])))
        if topic == "algorithms" and len(found[topic]) > 1:
            echo(console, "\nNo idea which? shoal run auto tries some, runs the one that fits, says why.")


def one_algorithm(word: str) -> list[Entry]:
    """What there is to know about an algorithm, by its name or as FILE.py:CLASS."""
    from shoal.algorithms import ALGORITHMS
    from shoal.cli.catalogue import CATALOGUE, algorithms
    from shoal.errors import unknown

    name = ALGORITHMS.named(word)
    if name not in ALGORITHMS:
        raise unknown("topic", word, CATALOGUE, "The name of an algorithm, or FILE.py:CLASS, will do as well.")
    return algorithms(name)


def overview(entries: list[Entry]) -> str:
    """The names; what is not on this machine is marked.

    >>> overview([{"name": "digits"}, {"name": "mnist", "found": False}])
    'digits, mnist (not here)'
    """
    return ", ".join(e["name"] + ("" if e.get("found", True) else " (not here)") for e in entries)
