"""How the end of a run and a comparison of runs look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from shoal.analysis.compare import Line, figures_for
from shoal.analysis.quantities import Quantity
from shoal.analysis.significance import Difference
from shoal.analysis.table import (
    NOT_COMPLETE,
    Cell,
    difference_cells,
    difference_heads,
    difference_notes,
    partial_note,
    tabulate,
)
from shoal.analysis.units import duration, percent, size
from shoal.cli.console import echo, table
from shoal.errors import command
from shoal.loop.row import to_json
from shoal.scores import ACCURACY, Score, score_of


def show_run(console: Console, folder: Path, config: Mapping[str, Any], summary: Mapping[str, Any]) -> None:
    """The figures of one run, where it is, and what one could do next."""
    by = f" (chosen by {config['chosen_by']})" if "chosen_by" in config else ""
    title = f"{config['algorithm']}{by} on {config['data']}, {summary['rounds']} rounds, seed {config['seed']}"
    echo(console, title, style="bold")
    console.print(table(["", "", ""], rows_of(summary, score_of(config))))
    if summary.get("stopped"):
        echo(console, f"\nStopped before round {config['rounds']}: {summary['stopped']}")
    echo(console)
    echo(console, f"Run folder: {folder}")
    longer = "stop=never" if summary.get("stopped") else f"rounds={2 * max(int(summary['rounds']), 1)}"
    echo(console, f"Next:       {command('resume', folder, longer)}")
    echo(console, f"            {command('compare', folder.parent)}")
    echo(console, f"            {command('report', folder)}")


def rows_of(summary: Mapping[str, Any], score: Score = ACCURACY) -> list[tuple[str, str, str]]:
    """Name, value and meaning of what a newcomer wants to know."""
    rows = score_rows(summary, score)
    if (chosen := summary.get(f"{score.name}_at_best_val")) is not None:
        rows.append(("at best validation", score.show(chosen), f"in round {summary['best_val_round']}"))
    rows.append(("models", f"{summary['groups']}", "one per group of clients"))
    if summary.get("ari") is not None:
        rows.append(("planted groups", f"{summary['ari']:.2f}", "adjusted Rand index: 1 found exactly, 0 by chance"))
    rows += [
        ("left out", f"{summary['left_out']}", "answers that failed, came late or made no sense"),
        ("skipped rounds", f"{summary['skipped_rounds']}", "too few answers: nothing was changed"),
    ]
    if summary["partial_rounds"]:
        counts = "all tested ones" if summary[score.key("best")] is None else "not in the best"
        rows.append(("partial rounds", f"{summary['partial_rounds']}", f"some client had no model yet; {counts}"))
    vectors = f"{summary['vectors'] - summary.get('vectors_relayed', 0):,} models down and up, evaluation not counted"
    rows.append(("traffic", size(summary["bytes"]), vectors))
    if summary.get("bytes_relayed"):
        rows.append(("between groups", size(summary["bytes_relayed"]), f"{summary['vectors_relayed']:,} models"))
    if summary.get("peak_memory"):
        rows.append(("peak memory", size(summary["peak_memory"]), "of this process and its workers (PSS)"))
    return [*rows, ("time", duration(summary["seconds"]), "of all rounds")]


def score_rows(summary: Mapping[str, Any], score: Score) -> list[tuple[str, str, str]]:
    """How well clients are served; where no round had a model for all, best and last with whom they are about."""
    names = [f"{which} {score.title}" for which in ("best", "last")]
    if summary[score.key("best")] is None and summary.get(score.key("best_partial")) is not None:
        best, last = (score.show(summary[score.key(f"{which}_partial")]) for which in ("best", "last"))
        return [(names[0], best, partial_note(summary, "best")), (names[1], last, partial_note(summary, "last"))]
    at = summary.get("best_round")
    has_f1 = score == ACCURACY or summary.get("last_f1") is not None
    rows = [
        (names[0], score.show(summary[score.key("best")]), "" if at is None else f"of all test samples, in round {at}"),
        (
            names[1],
            score.show(summary[score.key("last")]),
            f"in the last tested round; so {'are the next two' if has_f1 else 'is the next'}",
        ),
        ("worst tenth", score.show(summary["last_worst"]), score.worst),
    ]
    if has_f1:
        rows.append(("macro F1", percent(summary["last_f1"]), "mean over clients; every class counts the same"))
    return rows


def show_comparison(
    console: Console,
    lines: Sequence[Line],
    target: float | None = None,
    everything: bool = False,
    wanted: Sequence[Quantity] | None = None,
) -> None:
    """The table, in as many pieces as the width asks for, then a line per column that explains it."""
    found = tabulate(lines, wanted, everything)
    columns = [("runs", [str(len(line.runs)) for line in lines])]
    columns += [(q.head, [row[i].shown() for row in found.rows]) for i, q in enumerate(found.columns)]
    widest = max(map(len, [*found.names, "setting"]))
    for part in pieces(columns, console.width - min(console.width // 2, widest)):
        rows = [[name, *(cells[i] for _, cells in part)] for i, name in enumerate(found.names)]
        console.print(table(["setting", *(head for head, _ in part)], rows, right=True))
        echo(console)
    wide = max([9, *(len(quantity.head) for quantity in found.columns)])
    echo(console, f"{'runs':<{wide}}  how many seeds; with several: mean±standard deviation", style="dim")
    for head, meaning in found.meanings(target):
        echo(console, f"{head.short:<{wide}}  {meaning}", style="dim")
    if not found.complete:
        echo(console, f"{'*':<{wide}}  {NOT_COMPLETE}", style="dim")
    if found.stopped:
        echo(console, found.stopped)


def show_differences(console: Console, found: Sequence[Difference], quantity: Quantity) -> None:
    """The table, then what its columns mean and how little few seeds can tell."""
    if not found:
        echo(console, f"only one setting has {quantity.key} ({quantity.meaning}); a difference needs two")
        return
    echo(console, f"{quantity.meaning}, against {found[0].against}", style="bold")
    heads = [head.short for head in difference_heads(quantity)]
    console.print(table(heads, [difference_cells(d, quantity) for d in found], right=True))
    echo(console)
    for head, meaning in difference_notes(found, quantity).items():
        echo(console, f"{head:<10}  {meaning}", style="dim")


def pieces(columns: Sequence[tuple[str, list[str]]], room: int) -> list[list[tuple[str, list[str]]]]:
    """Columns packed so that each piece fits into the room.

    >>> [len(p) for p in pieces([("a", ["12345"]), ("b", ["12345"]), ("c", ["1"])], 16)]
    [2, 1]
    """
    found: list[list[tuple[str, list[str]]]] = [[]]
    used = 0
    for head, cells in columns:
        width = 2 + max(map(len, [head, *cells]))
        if found[-1] and used + width > room:
            found.append([])
            used = 0
        found[-1].append((head, cells))
        used += width
    return found


def run_document(
    folder: Path, config: Mapping[str, Any], summary: Mapping[str, Any], notes: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """One run for programs; with why its algorithm was chosen, if `auto` chose it."""
    found = {"kind": "run", "folder": str(folder), "complete": True, "config": dict(config), "summary": dict(summary)}
    return {**found, "decision": list(notes)} if notes else found


def comparison_document(lines: Sequence[Line], wanted: Sequence[Quantity] | None = None) -> list[dict[str, Any]]:
    """A comparison for programs; accuracies are shares of 1."""
    found = tabulate(lines, figures_for(lines).values() if wanted is None else wanted)
    return [
        {
            "name": line.name,
            "runs": list(line.runs),
            "complete": line.complete,
            "stopped": list(line.stopped),
            "reached": line.reached,
            "seeds": list(line.seeds),
            "figures": {q.key: figure_document(line, q.key, cell) for q, cell in zip(found.columns, row, strict=True)},
        }
        for line, row in zip(found.lines, found.rows, strict=True)
    ]


def figure_document(line: Line, key: str, cell: Cell) -> dict[str, Any] | None:
    """A figure with its values in the single runs, in the order of `seeds`; null in a run that does not have it."""
    if cell.value is None:
        return None
    return {**asdict(cell.value), "values": to_json(list(line.values.get(key, ())))}
