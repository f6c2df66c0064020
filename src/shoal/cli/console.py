"""What commands print with: tables, numbers for people, JSON for programs. Results go to stdout, all else to stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


class Format(StrEnum):
    """How a result is printed."""

    text = "text"
    json = "json"


FormatOption = Annotated[Format, typer.Option("--format", help="text for people, json for programs.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress; print only the folder.")]


def out() -> Console:
    """Standard output."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False)


def err() -> Console:
    """Standard error: progress, notes, warnings."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, markup=False, emoji=False)


def echo(console: Console, text: str = "", style: str | None = None) -> None:
    """A line that is never cut or wrapped, so that a path can be copied."""
    console.print(text, style=style, soft_wrap=True)


def emit(document: Any) -> None:
    """The one JSON document of a command."""
    try:
        print(json.dumps(document, indent=1, default=str), flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(1) from None


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], right: bool = False) -> Table:
    """A plain table; with `right` all columns but the first hold numbers."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, show_header=any(heads), header_style="bold")
    made.padding = (0, 1, 0, 0)
    for i, head in enumerate(heads):
        numbers = right and i > 0
        made.add_column(head, justify="right" if numbers else "left", no_wrap=numbers, overflow="fold")
    for row in rows:
        made.add_row(*row)
    return made


def first_line(thing: object) -> str:
    """The first sentence of a docstring, without the name it may begin with."""
    return (getattr(thing, "__doc__", None) or "").strip().partition("\n")[0].strip()
