"""Tables for docs, from a result of `shoal bench --format json`.

`python tests/bench/tables.py docs/results/bench.json` prints them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Document = dict[str, Any]


def rounds(document: Document) -> Iterator[str]:
    """One row per workload: the best plain loop, the best of Shoal in one process and with all workers."""
    yield "| | plain loop | one process | ratio | all workers | ratio | CPU ratio | of peak | data |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for w in document["workloads"]:
        plain = min((r for r in w["results"] if r["name"].startswith("plain")), key=lambda r: r["ms_per_step"])
        one, several = (
            max((r for r in w["results"] if where in r["name"]), key=lambda r: r["ratio"])
            for where in ("one process", "workers")
        )
        cells = [f"{w['workload']} {w['title']}", ms(plain), ms(one), f"{one['ratio']:.1f}", ms(several)]
        cells += [f"**{several['ratio']:.1f}**", f"{one['cpu_ratio']:.1f}", f"{100 * one['peak_fraction']:.0f} %"]
        yield f"| {' | '.join([*cells, w['data']])} |"


def ms(result: Document) -> str:
    return f"{result['ms_per_step']:.3g} ms"


def kernels(document: Document) -> Iterator[str]:
    """Every contender of every workload."""
    yield "| | ms per step | CPU ms per step | ratio | CPU ratio |"
    yield "| --- | --- | --- | --- | --- |"
    for w in document["workloads"]:
        for r in w["results"]:
            figures = [f"{r['ms_per_step']:.3g}", f"{r['cpu_ms_per_step']:.3g}"]
            figures += [f"{r['ratio']:.2f}", f"{r['cpu_ratio']:.2f}"]
            yield f"| {w['workload']} {r['name']} | {' | '.join(figures)} |"


def server(document: Document) -> Iterator[str]:
    yield "| | clients | numbers each | CPU ms | memory beside the input | a usual way | CPU ms |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for s in document.get("server", ()):
        usual = ["", ""] if s["way"] is None else [s["way"], f"{s['way_cpu_ms']:,.0f}"]
        figures = [f"{s['clients']:,}", f"{s['parameters']:,}", f"{s['cpu_ms']:,.1f}", f"{s['memory'] / 1e6:,.0f} MB"]
        yield f"| {' | '.join([s['name'], *figures, *usual])} |"


def agreement(document: Document) -> Iterator[str]:
    yield "| | kernel | median | worst |"
    yield "| --- | --- | --- | --- |"
    for a in document.get("agreement", ()):
        yield f"| {a['workload']} {a['solver']} | {a['kernel']} | {a['median']:.1e} | {a['worst']:.1e} |"


def peers(document: Document) -> Iterator[str]:
    yield "| | simulator | version | ms per step |"
    yield "| --- | --- | --- | --- |"
    for p in document.get("peers", ()):
        took = "-" if p["ms_per_step"] is None else f"{p['ms_per_step']:.3g}"
        yield f"| {p['workload']} | {p['peer']} | {p['note']} | {took} |"


TABLES = (rounds, kernels, server, agreement, peers)

if __name__ == "__main__":
    found = json.loads(Path(sys.argv[1]).read_text())
    for table in TABLES:
        print("\n".join(table(found)), end="\n\n")
