"""`shoal fetch`: get public data sets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.console import Format, FormatOption, echo, emit, err, out
from shoal.cli.failures import guarded

Names = Annotated[list[str], typer.Argument(metavar="NAME...", help="Data sets, see `shoal list data`.")]
Again = Annotated[bool, typer.Option("--again", help="Get it also if it is on this machine.")]


@guarded
def fetch(names: Names, again: Again = False, format: FormatOption = Format.text) -> None:
    """Get public data sets.

    They are checked and kept in the cache folder.
    """
    from shoal.data.fetch import SOURCES
    from shoal.errors import unknown

    for name in names:
        if name not in SOURCES:
            raise unknown("data set to fetch", name, SOURCES, "digits and synthetic need no download.")
    results = [get(name, again) for name in dict.fromkeys(names)]
    if format is Format.json:
        keys = ("name", "path", "fetched")
        emit({"data": [dict(zip(keys, (name, str(path), fresh), strict=True)) for name, path, fresh in results]})
        return
    for name, path, fresh in results:
        echo(out(), f"{name} is {'now' if fresh else 'already'} in {path}")


def get(name: str, again: bool) -> tuple[str, Path, bool]:
    """The place of a data set, and whether it was fetched just now."""
    from shoal.data.fetch import fetch as download
    from shoal.data.find import find
    from shoal.errors import DataMissing

    try:
        if not again:
            return name, find(name), False
    except DataMissing:
        pass
    console = err()
    return name, download(name, progress=lambda text: echo(console, text)), True
