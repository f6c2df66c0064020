"""`shoal bench`: how fast Shoal is on this machine, beside a plain PyTorch loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.analysis.units import size
from shoal.cli.console import Format, FormatOption, echo, emit, err, out, table
from shoal.cli.failures import guarded

if TYPE_CHECKING:
    from rich.console import Console

Names = Annotated[
    list[str] | None, typer.Argument(metavar="WORKLOAD", help="W1 to W7, server, icg, scaling, agreement; none: all.")
]
Repeats = Annotated[int, typer.Option(min=1, help="Turns of every contender; figures are medians.")]
Quick = Annotated[bool, typer.Option("--quick", help="Few clients, one turn: only to see that it works.")]
Compiled = Annotated[bool, typer.Option("--compiled", help="Also time compile=on, which compiles for minutes first.")]
Peers = Annotated[bool, typer.Option("--peers", help="Also time other simulators that are installed.")]


@guarded
def bench(
    workloads: Names = None,
    repeats: Repeats = 5,
    quick: Quick = False,
    compiled: Compiled = False,
    peers: Peers = False,
    format: FormatOption = Format.text,
) -> None:
    """Time whole rounds, training and the test of all clients, beside a plain PyTorch loop.

    The loop (with one thread and with all) and Shoal's engines take turns. A ratio says how many times faster than
    the quicker of the plain loops; the one in brackets compares processor time with the loop of one thread.
    """
    from shoal.bench.run import NAMES, bench

    screen = err()
    found = bench(
        tuple(workloads or NAMES),
        repeats=repeats,
        quick=quick,
        compiled=compiled,
        peers=peers,
        notify=lambda line: echo(screen, line, style="dim"),
    )
    if format is Format.json:
        emit(found)
    else:
        show(out(), found)


def show(console: Console, found: dict[str, Any]) -> None:
    """The figures as tables."""
    machine = found["machine"]
    echo(
        console,
        f"{machine['cores']} cores, {machine['gemm_gflops']:.0f} GFLOP/s a core in a matrix product, "
        f"torch {machine['torch']}, kernels {machine['kernels']}, {found['repeats']} turns",
    )
    for w in found["workloads"]:
        echo(console, f"\n{w['workload']}  {w['title']}: {w['data']}", style="bold")
        echo(
            console,
            f"{w['clients_per_round']} clients, {w['steps_per_round']:,.0f} steps a round, {w['clients']:,} tested, "
            f"{size(w['peak_memory'])} at most, all contenders together",
        )
        heads = ["", "ms/step", "CPU ms/step", "ratio", "(CPU)", "of peak"]
        console.print(table(heads, map(cells, w["results"]), right=True))
    if "server" in found:
        echo(console, "\nServer", style="bold")
        heads = ["", "clients", "numbers", "ms", "CPU ms", "memory", "usual way", "CPU ms"]
        console.print(table(heads, map(server_cells, found["server"]), right=True))
    if "icg" in found:
        echo(console, "\nFedGSP's grouping, ten iterations, milliseconds", style="bold")
        heads = ["clients", "groups", *found["icg"][0]["ms"], "in all"]
        rows = (
            [f"{g['clients']:,}", f"{g['groups']:,}", *(f"{ms:.1f}" for ms in g["ms"].values()), f"{g['total_ms']:.1f}"]
            for g in found["icg"]
        )
        console.print(table(heads, rows, right=True))
    if "scaling" in found:
        echo(console, "\nHow a round grows", style="bold")
        heads = ["what varies", "workers", "clients", "parameters", "a round", "ms/round", "memory"]
        console.print(table(heads, map(scaling_cells, found["scaling"]), right=True))
    if "agreement" in found:
        echo(console, "\nUpdates of clients, relative error against double precision", style="bold")
        rows = (
            [a["workload"], a["solver"], a["kernel"], f"{a['median']:.1e}", f"{a['worst']:.1e}"]
            for a in found["agreement"]
        )
        console.print(table(["", "solver", "kernel", "median", "worst"], rows))
    if "peers" in found:
        echo(console, "\nPeers, training only", style="bold")
        rows = (
            [p["workload"], p["peer"], p["note"] if p["ms_per_step"] is None else f"{p['ms_per_step']:.3f}"]
            for p in found["peers"]
        )
        console.print(table(["", "simulator", "ms/step"], rows))


def cells(line: dict[str, Any]) -> list[str]:
    times = [f"{line['ms_per_step']:.4f}", f"{line['cpu_ms_per_step']:.4f}"]
    return [
        line["name"],
        *times,
        f"{line['ratio']:.2f}",
        f"({line['cpu_ratio']:.2f})",
        f"{100 * line['peak_fraction']:.1f} %",
    ]


def scaling_cells(line: dict[str, Any]) -> list[str]:
    counts = [f"{line[key]:,}" for key in ("workers", "clients", "parameters", "clients_per_round")]
    return [line["what"], *counts, f"{line['ms_per_round']:.1f}", size(line["memory"])]


def server_cells(line: dict[str, Any]) -> list[str]:
    usual = ["-", "-"] if line["way"] is None else [line["way"], f"{line['way_cpu_ms']:,.1f}"]
    took = [f"{line['ms']:,.1f}", f"{line['cpu_ms']:,.1f}", size(line["memory"])]
    return [line["name"], f"{line['clients']:,}", f"{line['parameters']:,}", *took, *usual]
