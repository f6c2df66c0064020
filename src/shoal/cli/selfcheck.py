"""`shoal selfcheck`: whether what must be equal is equal on this machine."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from shoal.cli.console import Format, FormatOption, echo, emit, out
from shoal.cli.failures import guarded
from shoal.errors import unknown

TOPICS = ("engines",)
Topic = Annotated[str, typer.Argument(metavar="TOPIC", help="engines: one short run on each, with the same result?")]


@guarded
def selfcheck(topic: Topic = "engines", format: FormatOption = Format.text) -> None:
    """Check that engines agree: one short run on each gives one digest.

    An engine that is not available says why. Ends with 1 if two digests differ.
    """
    from shoal.backends import BACKENDS
    from shoal.experiment.engines_agree import run_engines

    if topic not in TOPICS:
        raise unknown("topic", topic, TOPICS)
    console, found = out(), []
    for one in run_engines(BACKENDS):
        found.append(one)
        if format is Format.text:
            echo(console, f"{one.engine:<8} {one.digest or f'not available: {one.why}'}")
    digests = {one.digest for one in found if one.digest}
    if format is Format.json:
        emit({"equal": len(digests) == 1, "engines": [asdict(one) for one in found]})
    else:
        ran = sum(bool(one.digest) for one in found)
        echo(console, f"\nequal: {ran} engines, one result" if len(digests) == 1 else "\nthe digests differ")
    if len(digests) != 1:
        raise typer.Exit(1)
