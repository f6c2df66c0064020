"""The figures of `shoal bench` as tables, one function for each kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal.analysis.units import size
from shoal.cli.console import echo, table

if TYPE_CHECKING:
    from rich.console import Console

Line = dict[str, Any]


def show(console: Console, found: Line) -> None:
    """All that was timed."""
    machine = found["machine"]
    echo(
        console,
        f"{machine['cores']} cores, {machine['gemm_gflops']:.0f} GFLOP/s a core in a matrix product, "
        f"torch {machine['torch']}, kernels {machine['kernels']}, {found['repeats']} turns",
    )
    for kind, tell in KINDS.items():
        if found.get(kind):
            tell(console, found[kind])


def tell_workloads(console: Console, found: list[Line]) -> None:
    for w in found:
        echo(console, f"\n{w['workload']}  {w['title']}: {w['data']}", style="bold")
        echo(
            console,
            f"{w['clients_per_round']} clients, {w['steps_per_round']:,.0f} steps a round, {w['rounds']} different "
            f"rounds, {w['clients']:,} tested, {size(w['peak_memory'])} at most, all contenders together",
        )
        rows = (
            [
                r["name"],
                f"{r['ms_per_step']:.4f}",
                f"{r['cpu_ms_per_step']:.4f}",
                f"{r['ratio']:.2f}",
                f"({r['cpu_ratio']:.2f})",
                f"{100 * r['peak_fraction']:.1f} %",
            ]
            for r in w["results"]
        )
        console.print(table(["", "ms/step", "CPU ms/step", "ratio", "(CPU)", "of peak"], rows, right=True))


def tell_whole(console: Console, found: list[Line]) -> None:
    for w in found:
        echo(console, f"\nA whole run, {w['workload']}  {w['title']}: {w['data']}", style="bold")
        echo(console, w["command"])
        echo(
            console,
            f"{w['seconds']:.1f} s from command to end, {w['cpu_seconds']:.1f} s of processor time; {w['against']}: "
            f"{w['plain_seconds']:.1f} s for {w['rounds']} rounds, by {w['plain_rounds']} that were timed; "
            f"ratio {w['ratio']:.1f}",
        )
        parts = w["parts"].items()
        rows = ([name, f"{s:.2f}", f"{100 * s / w['seconds']:.0f} %"] for name, s in parts)
        console.print(table(["", "seconds", "of all"], rows, right=True))


def tell_clustered(console: Console, found: list[Line]) -> None:
    for w in found:
        echo(console, f"\nClustered, {w['workload']}  {w['title']}: {w['data']}", style="bold")
        echo(console, f"{w['groups']} groups, {w['rounds']} new rounds a turn; drift is {w['drift']}")
        rows = (
            [
                f"{r['method']}, {r['where']}",
                f"{r['clients_per_round']:,}",
                f"{r['tested']:,}",
                f"{r['start_s']:.2f}",
                f"{r['s_per_round']:.4f}",
                f"{r['cpu_s_per_round']:.4f}",
                f"{r['times_fedavg']:.2f}",
            ]
            for r in w["results"]
        )
        heads = ["", "a round", "tested", "start s", "s/round", "CPU s/round", "times FedAvg"]
        console.print(table(heads, rows, right=True))


def tell_server(console: Console, found: list[Line]) -> None:
    echo(console, "\nServer", style="bold")
    heads = ["", "clients", "numbers", "ms", "CPU ms", "memory", "usual way", "CPU ms"]
    rows = (
        [
            s["name"],
            f"{s['clients']:,}",
            f"{s['parameters']:,}",
            f"{s['ms']:,.1f}",
            f"{s['cpu_ms']:,.1f}",
            size(s["memory"]),
            *(["-", "-"] if s["way"] is None else [s["way"], f"{s['way_cpu_ms']:,.1f}"]),
        ]
        for s in found
    )
    console.print(table(heads, rows, right=True))


def tell_grouping(console: Console, found: list[Line]) -> None:
    echo(console, "\nFedGSP's grouping, ten iterations, milliseconds", style="bold")
    heads = ["clients", "groups", *found[0]["ms"], "in all"]
    rows = (
        [f"{g['clients']:,}", f"{g['groups']:,}", *(f"{ms:.1f}" for ms in g["ms"].values()), f"{g['total_ms']:.1f}"]
        for g in found
    )
    console.print(table(heads, rows, right=True))


def tell_scaling(console: Console, found: list[Line]) -> None:
    echo(console, "\nHow a round grows", style="bold")
    counts = ("workers", "clients", "parameters", "clients_per_round")
    rows = (
        [s["what"], *(f"{s[key]:,}" for key in counts), f"{s['ms_per_round']:.1f}", size(s["memory"])] for s in found
    )
    heads = ["what varies", "workers", "clients", "parameters", "a round", "ms/round", "memory"]
    console.print(table(heads, rows, right=True))


def tell_engines(console: Console, found: list[Line]) -> None:
    echo(console, "\nA round of one step a client, processor milliseconds of all processes", style="bold")
    rows = ([f"{e['clients']}", f"{e['workers']}", e["engine"], spent(e)] for e in found)
    console.print(table(["clients", "workers", "engine", "CPU ms/round"], rows))


def spent(line: Line) -> str:
    return f"{line['cpu_ms']:.1f}" if line["cpu_ms"] is not None else str(line["note"])


def tell_million(console: Console, found: list[Line]) -> None:
    first = found[0]
    what = f"{first['clients']:,} clients on demand, {first['clients_per_round']} a round, memory (PSS) by process"
    echo(console, f"\n{what}", style="bold")
    kinds = ("command", "worker", "daemon")
    rows = (
        [m["engine"], f"{m['cpu_ms']:,.0f}", *(", ".join(map(size, m["memory"][kind])) or "-" for kind in kinds)]
        if "memory" in m
        else [m["engine"], m["note"], "-", "-", "-"]
        for m in found
    )
    console.print(table(["engine", "CPU ms/round", "command", "workers", "Ray's daemons"], rows))


def tell_everybody(console: Console, found: list[Line]) -> None:
    echo(console, "\nAll clients in every round, on Ray", style="bold")
    rows = (
        [
            f"{e['clients']:,}",
            *(
                [f"{e['parameters']:,}", size(e["bytes"]), f"{e['command_cpu_ms']:,.0f}", f"{e['cpu_ms']:,.0f}"]
                if "bytes" in e
                else [e["note"], "-", "-", "-"]
            ),
        ]
        for e in found
    )
    heads = ["clients", "parameters", "answers/round", "CPU ms/round, command", "all processes"]
    console.print(table(heads, rows, right=True))


def tell_agreement(console: Console, found: list[Line]) -> None:
    echo(console, "\nUpdates of clients, relative error against double precision", style="bold")
    rows = ([a["workload"], a["solver"], a["kernel"], f"{a['median']:.1e}", f"{a['worst']:.1e}"] for a in found)
    console.print(table(["", "solver", "kernel", "median", "worst"], rows))


def tell_busy(console: Console, found: list[Line]) -> None:
    for w in found:
        beside = f"beside {w['busy']} busy processes"
        echo(console, f"\nRounds {beside}, {w['workload']}  {w['title']}: {w['data']}", style="bold")
        rows = (
            [
                r["name"],
                f"{r['ms_per_round']:.2f}",
                f"{r['ms_per_round_beside']:.2f}",
                f"{r['slower']:.2f}",
                f"{r['fair']:.2f}",
                f"{r['cpu_ratio']:.2f}",
            ]
            for r in w["results"]
        )
        console.print(table(["", "ms/round", "beside", "slower", "fair", "CPU ratio"], rows, right=True))


def tell_peers(console: Console, found: list[Line]) -> None:
    echo(console, "\nPeers, training only", style="bold")
    rows = (
        [p["workload"], p["peer"], p["note"] if p["ms_per_step"] is None else f"{p['ms_per_step']:.3f}"] for p in found
    )
    console.print(table(["", "simulator", "ms/step"], rows))


def tell_against(console: Console, found: Line) -> None:
    echo(console, f"\nAgainst {found['file']}", style="bold")
    told = [c for c in found["changes"] if c["verdict"] != "alike"]
    if told:
        rows = (
            [
                f"{c['workload']} {c['name']}",
                f"{c['before']:.3g}",
                f"{c['now']:.3g}",
                f"{100 * c['change']:+.0f} %",
                c["verdict"],
            ]
            for c in told
        )
        console.print(table(["speed in ratios", "then", "now", "change", ""], rows, right=True))
    alike = len(found["changes"]) - len(told)
    echo(console, f"{alike} of {len(found['changes'])} that both have differ by 10 % or less")
    if found["only_here"]:
        echo(console, f"not in that file: {'; '.join(found['only_here'])}")
    if found["other_rounds"]:
        echo(console, f"played other rounds then, so that their ratios differ: {', '.join(found['other_rounds'])}")


KINDS: dict[str, Any] = {
    "workloads": tell_workloads,
    "whole": tell_whole,
    "clustered": tell_clustered,
    "server": tell_server,
    "icg": tell_grouping,
    "scaling": tell_scaling,
    "engines": tell_engines,
    "million": tell_million,
    "everybody": tell_everybody,
    "busy": tell_busy,
    "agreement": tell_agreement,
    "peers": tell_peers,
    "against": tell_against,
}
