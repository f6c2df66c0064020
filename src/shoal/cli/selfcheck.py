"""`shoal selfcheck`: whether what must be equal is equal on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from importlib.util import find_spec
from itertools import chain
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.console import Format, FormatOption, echo, emit, out
from shoal.cli.failures import guarded
from shoal.errors import unknown

if TYPE_CHECKING:
    from shoal.experiment.engines_agree import Digest

TOPICS = ("engines",)
Topic = Annotated[str, typer.Argument(metavar="TOPIC", help="engines: one short run on each, with the same result?")]


def over_flower() -> Iterator[Digest]:
    """The same run at sites that are asked by Flower's messages, in this process."""
    from shoal.errors import ShoalError
    from shoal.experiment.engines_agree import SHORT, Digest, digest_of

    if find_spec("flwr") is None:
        yield Digest("flower", why="it needs the package flwr; install it with: pip install 'shoal[flower]'")
        return
    from shoal.flower.loopback import run_over_messages

    try:
        yield Digest("flower", digest_of(run_over_messages(SHORT)))
    except ShoalError as e:
        yield Digest("flower", why=str(e))


@guarded
def selfcheck(topic: Topic = "engines", format: FormatOption = Format.text) -> None:
    """Check that engines agree: one short run on each gives one digest.

    flower is real sites, here in this process, asked by Flower's messages. An engine that is not available says why.
    Ends with 1 if two digests differ.
    """
    from shoal.backends import BACKENDS
    from shoal.experiment.engines_agree import run_engines

    if topic not in TOPICS:
        raise unknown("topic", topic, TOPICS)
    console, found = out(), []
    for one in chain(run_engines(BACKENDS), over_flower()):
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
