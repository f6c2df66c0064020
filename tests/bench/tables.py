"""Tables for docs/performance.md, from the results of `shoal bench --format json` that lie in docs/results.

`python tests/bench/tables.py` prints them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Document = dict[str, Any]
RESULTS = Path(__file__).parents[2] / "docs" / "results"


def result(name: str) -> Document:
    found: Document = json.loads((RESULTS / f"{name}.json").read_text())
    return found


def rounds() -> Iterator[str]:
    """One row per workload: the best plain loop, the best of Shoal in one process and with all workers."""
    yield "| | plain loop | one process | ratio | two workers | ratio | CPU ratio | of peak |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for w in result("bench")["workloads"]:
        plain = min((r for r in w["results"] if r["name"].startswith("plain")), key=lambda r: r["ms_per_step"])
        one, several = (
            max((r for r in w["results"] if where in r["name"]), key=lambda r: r["ratio"])
            for where in ("one process", "workers")
        )
        cells = [f"{w['workload']} {w['title']}", ms(plain), ms(one), f"{one['ratio']:.1f}", ms(several)]
        cells += [f"**{several['ratio']:.1f}**", f"{one['cpu_ratio']:.1f}", f"{100 * one['peak_fraction']:.0f} %"]
        yield f"| {' | '.join(cells)} |"


def ms(line: Document) -> str:
    return f"{line['ms_per_step']:.3g} ms"


def kernels() -> Iterator[str]:
    """Every contender of every workload."""
    yield "| | ms per step | CPU ms per step | ratio | CPU ratio |"
    yield "| --- | --- | --- | --- | --- |"
    for w in result("bench")["workloads"]:
        for r in w["results"]:
            figures = [f"{r['ms_per_step']:.3g}", f"{r['cpu_ms_per_step']:.3g}"]
            figures += [f"{r['ratio']:.2f}", f"{r['cpu_ratio']:.2f}"]
            yield f"| {w['workload']} {r['name']} | {' | '.join(figures)} |"


def server() -> Iterator[str]:
    yield "| | clients | numbers each | ms | CPU ms | memory beside the input | a usual way | CPU ms |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for s in result("bench-server")["server"]:
        usual = ["", ""] if s["way"] is None else [s["way"], f"{s['way_cpu_ms']:,.0f}"]
        figures = [f"{s['clients']:,}", f"{s['parameters']:,}", f"{s['ms']:,.0f}", f"{s['cpu_ms']:,.0f}"]
        cells = [s["name"], *figures, f"{s['memory'] / 1e6:,.0f} MB", *usual]
        yield f"| {' | '.join(cells)} |"


def grouping() -> Iterator[str]:
    found = result("bench-server")["icg"]
    heads = [*found[0]["ms"], "in all"]
    yield f"| clients | groups | {' | '.join(heads)} |"
    yield "| --- " * (2 + len(heads)) + "|"
    for g in found:
        figures = [f"{value:.1f}" for value in (*g["ms"].values(), g["total_ms"])]
        yield f"| {g['clients']:,} | {g['groups']:,} | {' | '.join(figures)} |"


def scaling() -> Iterator[str]:
    """One row per point, the workers side by side."""
    found = result("bench-scaling")["scaling"]
    most = max(s["workers"] for s in found)
    yield "| what varies | clients | parameters | clients a round | one worker | two | memory |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    one, two = ([s for s in found if s["workers"] == count] for count in (1, most))
    for a, b in zip(one, two, strict=True):
        counts = [f"{a[key]:,}" for key in ("clients", "parameters", "clients_per_round")]
        times = [f"{a['ms_per_round']:.0f} ms", f"{b['ms_per_round']:.0f} ms", f"{b['memory'] / 1e6:,.0f} MB"]
        yield f"| {' | '.join([a['what'], *counts, *times])} |"


def agreement() -> Iterator[str]:
    yield "| | kernel | median | worst |"
    yield "| --- | --- | --- | --- |"
    for a in result("bench-server")["agreement"]:
        yield f"| {a['workload']} {a['solver']} | {a['kernel']} | {a['median']:.1e} | {a['worst']:.1e} |"


def peers() -> Iterator[str]:
    """Other simulators, and in the same run the plain loop at its best and Shoal."""
    yield "| | simulator | ms per step |"
    yield "| --- | --- | --- |"
    found = result("bench-peers")
    for w in found["workloads"]:
        best = min(w["results"], key=lambda r: r["ms_per_step"])
        plain = min((r for r in w["results"] if r["name"].startswith("plain")), key=lambda r: r["ms_per_step"])
        lines = [(f"{best['name']}, with the test of all", best["ms_per_step"])]
        mine = [p for p in found["peers"] if p["workload"] == w["workload"]]
        lines += [(f"{p['peer']} {p['note']}", p["ms_per_step"]) for p in mine]
        lines += [(f"{plain['name']}, with the test of all", plain["ms_per_step"])]
        for name, took in lines:
            yield f"| {w['workload']} | {name} | {took:.3g} |"


TABLES = (rounds, kernels, server, grouping, scaling, agreement, peers)

if __name__ == "__main__":
    for table in TABLES:
        print("\n".join(table()), end="\n\n")
