"""Tables for pages of docs, from the results of `shoal bench --format json` that lie in docs/results.

`python tests/bench/tables.py` prints them; with `--write` they take their places in the pages, which are marked there.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

Document = dict[str, Any]
Table = Callable[[], Iterator[str]]
DOCS = Path(__file__).parents[2] / "docs"
RESULTS = DOCS / "results"


def result(name: str) -> Document:
    found: Document = json.loads((RESULTS / f"{name}.json").read_text())
    return found


def results(name: str, kind: str) -> list[Document]:
    """The entries of a kind; none if the file was not made yet."""
    return list(result(name)[kind]) if (RESULTS / f"{name}.json").exists() else []


def not_yet(name: str) -> str:
    return f"*No result of `shoal bench {name}` is committed yet.*"


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


def played() -> Iterator[str]:
    """How many different rounds the figures come from."""
    counts = {w["workload"]: w.get("rounds") for w in result("bench")["workloads"]}
    if None in counts.values():
        yield "*The figures above are older: W1 and W2 played three rounds again and again, all others one.*"
        return
    by_count: dict[int, list[str]] = {}
    for name, count in counts.items():
        by_count.setdefault(count, []).append(name)
    said = (f"{count} in {', '.join(names)}" for count, names in sorted(by_count.items(), reverse=True))
    yield f"*Different rounds of a turn: {'; '.join(said)}.*"


def whole() -> Iterator[str]:
    """Where the time of a whole run goes, and the plain loop for as many rounds."""
    found = results("bench-whole", "whole")
    if not found:
        yield not_yet("whole")
        return
    yield "| | seconds | of the run |"
    yield "| --- | --- | --- |"
    for w in found:
        for name, took in w["parts"].items():
            yield f"| {w['workload']} {name} | {took:.2f} | {100 * took / w['seconds']:.0f} % |"
        yield f"| {w['workload']} from command to end, {w['rounds']} rounds | {w['seconds']:.2f} | 100 % |"
        yield f"| {w['workload']} processor time of that | {w['cpu_seconds']:.2f} | |"
        timed = f"{w['plain_rounds']} timed, times {w['rounds'] / w['plain_rounds']:.0f}"
        yield f"| {w['workload']} {w['against']}, {w['rounds']} rounds ({timed}) | {w['plain_seconds']:.0f} | |"
        yield f"| {w['workload']} ratio | **{w['ratio']:.1f}** | |"
        for when, name in ((w.get("memory", {}).get("round"), "then"), (w["rounds"], "at_the_end")):
            if "memory" in w:
                yield f"| {w['workload']} memory after round {when} | {w['memory'][name] / 2**20:,.0f} MB | |"


def clustered() -> Iterator[str]:
    """One row per method, one process and all workers side by side."""
    found = results("bench-clustered", "clustered")
    if not found:
        yield not_yet("clustered")
        return
    yield "| | clients a round | tested | start | one process | times FedAvg | all workers | times FedAvg |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for w in found:
        one, all_workers = ([r for r in w["results"] if ("workers" in r["where"]) == many] for many in (False, True))
        for a, b in zip(one, all_workers, strict=True):
            counts = [f"{a['clients_per_round']:,}", f"{a['tested']:,}", f"{b['start_s']:.2f} s"]
            times = [f"{r['s_per_round']:.4f} s | {r['times_fedavg']:.2f}" for r in (a, b)]
            yield f"| {w['workload']} {a['method']} | {' | '.join([*counts, *times])} |"


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


def busy() -> Iterator[str]:
    """Rounds alone and beside busy processes."""
    found = results("bench-busy", "busy")
    if not found:
        yield not_yet("busy")
        return
    yield "| | a round alone | beside busy processes | times slower | fair | processor time |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for w in found:
        for r in w["results"]:
            times = [
                f"{r[name]:,.0f} ms" if r[name] >= 100 else f"{r[name]:.1f} ms"
                for name in ("ms_per_round", "ms_per_round_beside")
            ]
            ratios = [f"{r[name]:.2f}" for name in ("slower", "fair", "cpu_ratio")]
            yield f"| {' | '.join([w['workload'] + ' ' + r['name'], *times, *ratios])} |"


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
            yield f"| {w['workload']} | {name} | {'-' if took is None else f'{took:.3g}'} |"


def engines() -> Iterator[str]:
    """One row per number of clients and workers, the engines side by side."""
    found = results("bench-engines", "engines")
    if not found:
        yield not_yet("engines")
        return
    heads = list(dict.fromkeys(e["engine"] for e in found))
    yield f"| clients | workers | {' | '.join(heads)} |"
    yield "| --- " * (2 + len(heads)) + "|"
    for case in dict.fromkeys((e["clients"], e["workers"]) for e in found):
        mine = {e["engine"]: e for e in found if (e["clients"], e["workers"]) == case}
        cells = [e["note"] if e["cpu_ms"] is None else f"{e['cpu_ms']:.1f}" for e in (mine[name] for name in heads)]
        yield f"| {' | '.join([*map(str, case), *cells])} |"


def million() -> Iterator[str]:
    """One row per engine, memory by kind of process."""
    found = results("bench-engines", "million")
    if not found:
        yield not_yet("million")
        return
    yield "| engine | CPU ms a round | the command | each worker | Ray's daemons together | all |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for m in found:
        if "memory" not in m:
            yield f"| {m['engine']} | {m['note']} | | | | |"
            continue
        sizes = [m["memory"][kind] for kind in ("command", "worker", "daemon")]
        told = [mb(sum(sizes[0])), ", ".join(map(mb, sizes[1])), mb(sum(sizes[2])) if sizes[2] else "-"]
        cells = [m["engine"], f"{m['cpu_ms']:,.0f}", *told, mb(sum(map(sum, sizes)))]
        yield f"| {' | '.join(cells)} |"


def everybody() -> Iterator[str]:
    found = results("bench-everybody", "everybody")
    if not found:
        yield not_yet("everybody")
        return
    yield "| clients | numbers of a model | answers of a round | CPU ms of the command | a client | of all processes |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for e in found:
        counts = [f"{e['clients']:,}", f"{e['parameters']:,}", mb(e["bytes"])]
        spent = [f"{e['command_cpu_ms']:,.0f}", f"{e['command_cpu_ms'] / e['clients']:.2f}", f"{e['cpu_ms']:,.0f}"]
        yield f"| {' | '.join([*counts, *spent])} |"


def mb(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"


PAGES: dict[str, tuple[Table, ...]] = {
    "performance.md": (rounds, played, kernels, whole, clustered, server, grouping, scaling, busy, agreement, peers),
    "scale.md": (engines, million, everybody),
}


def fill(page: str, tables: Sequence[Table] = PAGES["performance.md"]) -> str:
    """The page with every table in its place: after the line that names it, instead of what stands there."""
    for table in tables:
        place = re.compile(rf"(<!-- table: {table.__name__} -->\n\n)(?:[|*].*\n)*")
        made = "".join(f"{row}\n" for row in table())
        page, places = place.subn(lambda found, made=made: found[1] + made, page)  # type: ignore[misc]
        if places != 1:
            raise ValueError(f"the page has {places} places for the table {table.__name__}")
    return page


if __name__ == "__main__":
    for name, tables in PAGES.items():
        if sys.argv[1:] == ["--write"]:
            (DOCS / name).write_text(fill((DOCS / name).read_text(), tables))
        else:
            for table in tables:
                print("\n".join(table()), end="\n\n")
