"""`shoal bench`: how fast Shoal is on this machine, beside a plain PyTorch loop."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.bench_tables import show
from shoal.cli.console import Format, FormatOption, echo, emit, err, out
from shoal.cli.failures import guarded

Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="WORKLOAD",
        help="W1 to W8, whole (a run from the command line), clustered (methods that find groups), server, icg, "
        "scaling, agreement; none: all of these. engines: what a round costs on local, ray and Flower's simulation; "
        "million: memory by process with a million clients; everybody: what comes back when all clients train; "
        "busy: rounds beside two busy processes.",
    ),
]
Repeats = Annotated[int, typer.Option(min=1, help="Turns of every contender; figures are medians.")]
Quick = Annotated[bool, typer.Option("--quick", help="Few clients, one turn: only to see that it works.")]
Compiled = Annotated[bool, typer.Option("--compiled", help="Also time compile=on, which compiles for minutes first.")]
Peers = Annotated[bool, typer.Option("--peers", help="Also time other simulators that are installed.")]
Against = Annotated[
    Path | None,
    typer.Option(
        "--against",
        metavar="FILE",
        help="Say what got slower or faster by more than 10 % since an earlier --format json, in ratios.",
    ),
]
History = Annotated[
    Path | None,
    typer.Option("--history", metavar="FILE", help="Append a line of JSON: date, commit, version, machine, ratios."),
]


@guarded
def bench(
    workloads: Names = None,
    repeats: Repeats = 5,
    quick: Quick = False,
    compiled: Compiled = False,
    peers: Peers = False,
    against: Against = None,
    history: History = None,
    format: FormatOption = Format.text,
) -> None:
    """Time whole rounds, training and the test of all clients, beside a plain PyTorch loop.

    The loop (with one thread and with all) and Shoal's engines take turns. A ratio says how many times faster than
    the quicker of the plain loops; the one in brackets compares processor time with the loop of one thread.
    """
    from shoal.bench.history import against as compare
    from shoal.bench.history import append, history_line, read_earlier
    from shoal.bench.run import NAMES, bench

    earlier = None if against is None else read_earlier(against, quick)
    if history is not None:
        append(history)  # better now than after an hour
    screen = err()
    found = bench(
        tuple(workloads or NAMES),
        repeats=repeats,
        quick=quick,
        compiled=compiled,
        peers=peers,
        notify=lambda line: echo(screen, line, style="dim"),
    )
    if against is not None and earlier is not None:
        found["against"] = compare(against, earlier, found)
    if format is Format.json:
        emit(found)
    else:
        show(out(), found)
    if history is not None:
        append(history, history_line(found))
