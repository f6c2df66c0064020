"""How the end of a run and a comparison of runs look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from shoal.cli.screen import duration, percent, say, size, table
from shoal.experiment.compare import FIGURES, Line, Spread
from shoal.experiment.significance import Difference

PERCENT = ("best_accuracy", "accuracy_at_best_val", "median_accuracy", "last_three_accuracy", "last_f1", "last_worst")
RARE = ("median_accuracy", "discrepancy_mean", "discrepancy_variance", "passes", "d_comm", "t_comm", "t_comp")  # --all
HEADS = {
    "best_accuracy": "best %",
    "accuracy_at_best_val": "at val %",
    "median_accuracy": "median %",
    "last_three_accuracy": "last 3 %",
    "last_f1": "F1 %",
    "last_worst": "worst %",
    "ari": "ARI",
    "groups": "models",
    "discrepancy_mean": "discr.",
    "discrepancy_variance": "its var.",
    "rounds_to_target": "rounds to",
    "megabytes_to_target": "MB to",
    "megabytes": "MB",
    "megabytes_relayed": "MB cloud",
    "d_comm": "D_comm MB",
    "t_comm": "T_comm s",
    "t_comp": "T_comp s",
    "passes": "passes",
    "seconds": "time s",
}


def show_run(console: Console, folder: Path, config: Mapping[str, Any], summary: Mapping[str, Any]) -> None:
    """The figures of one run, where it is, and what one could do next."""
    title = f"{config['algorithm']} on {config['data']}, {summary['rounds']} rounds, seed {config['seed']}"
    say(console, title, style="bold")
    console.print(table(["", "", ""], rows_of(summary)))
    say(console)
    say(console, f"Run folder: {folder}")
    say(console, f"Next:       shoal resume {folder} rounds={2 * max(int(summary['rounds']), 1)}")
    say(console, f"            shoal compare {folder.parent}")
    say(console, f"            shoal report {folder}")


def rows_of(summary: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Name, value and meaning of what a newcomer wants to know."""
    best = summary.get("best_round")
    rows = [
        (
            "best accuracy",
            percent(summary["best_accuracy"]),
            "" if best is None else f"of all test samples, in round {best}",
        ),
        ("last accuracy", percent(summary["last_accuracy"]), "in the last tested round; so are the next two"),
        ("worst tenth", percent(summary["last_worst"]), "mean accuracy of the worst tenth of the clients"),
        ("macro F1", percent(summary["last_f1"]), "mean over clients; every class counts the same"),
    ]
    if summary.get("accuracy_at_best_val") is not None:
        rows.append(
            ("at best validation", percent(summary["accuracy_at_best_val"]), f"in round {summary['best_val_round']}")
        )
    rows.append(("models", f"{summary['groups']}", "one per group of clients"))
    if summary.get("ari") is not None:
        rows.append(("planted groups", f"{summary['ari']:.2f}", "adjusted Rand index: 1 found exactly, 0 by chance"))
    rows += [
        ("left out", f"{summary['left_out']}", "answers that failed, came late or made no sense"),
        ("skipped rounds", f"{summary['skipped_rounds']}", "too few answers: nothing was changed"),
    ]
    if summary["partial_rounds"]:
        rows.append(("partial rounds", f"{summary['partial_rounds']}", "some client had no model yet; not in the best"))
    vectors = f"{summary['vectors'] - summary.get('vectors_relayed', 0):,} models down and up, evaluation not counted"
    rows.append(("traffic", size(summary["bytes"]), vectors))
    if summary.get("bytes_relayed"):
        rows.append(("between groups", size(summary["bytes_relayed"]), f"{summary['vectors_relayed']:,} models"))
    if summary.get("peak_memory"):
        rows.append(("peak memory", size(summary["peak_memory"]), "of this process and its workers (PSS)"))
    return [*rows, ("time", duration(summary["seconds"]), "of all rounds")]


def show_comparison(
    console: Console, lines: Sequence[Line], target: float | None = None, everything: bool = False
) -> None:
    """The table, in as many pieces as the width asks for, then a line per column that explains it."""
    keys = shown_keys(lines, everything)
    names = [line.name + ("" if line.complete else " *") for line in lines]
    seeds = [str(len(line.runs)) for line in lines]
    columns = [("runs", seeds)] + [(HEADS.get(k, k), [cell(k, line) for line in lines]) for k in keys]
    for part in pieces(columns, console.width - min(console.width // 2, max(map(len, [*names, "setting"])))):
        rows = [[name, *(cells[i] for _, cells in part)] for i, name in enumerate(names)]
        console.print(table(["setting", *(head for head, _ in part)], rows, right=True))
        say(console)
    say(console, f"{'runs':<9}  how many seeds; with several: mean±standard deviation", style="dim")
    for key in keys:
        aim = f" ({percent(target)})" if key == "rounds_to_target" and target is not None else ""
        say(console, f"{HEADS.get(key, key):<9}  {FIGURES[key]}{aim}", style="dim")
    if not all(line.complete for line in lines):
        say(console, "*          not complete: go on with shoal resume", style="dim")


def shown_keys(lines: Sequence[Line], everything: bool) -> list[str]:
    """The figures that make a column."""
    wanted = [key for key in FIGURES if everything or key not in RARE]
    return [key for key in wanted if any(line.figures[key] is not None for line in lines)]


def show_differences(console: Console, found: Sequence[Difference], figure: str) -> None:
    """The table, then what its columns mean and how little few seeds can tell."""
    if not found:
        say(console, "there is one setting only; a difference needs two")
        return
    say(console, f"{FIGURES[figure]}, against {found[0].against}", style="bold")
    console.print(table(difference_heads(figure), [difference_cells(d, figure) for d in found], right=True))
    say(console)
    flips = sorted({d.n[0]: d.least_p for d in found if d.least_p is not None}.items())
    notes = {
        "95 %": "interval of the difference, by Student's t",
        "d": "effect: the difference in standard deviations",
        "p": "how often chance alone gives a difference this large",
        "Holm": f"the same, corrected for looking at {len(found)} differences" if len(found) > 1 else "the same",
        "n": "pairs of runs with the same seed, or the runs of both settings",
    }
    notes |= {f"{n} pairs": f"exact sign flips cannot give a p below {p:.2g}, however clear the case" for n, p in flips}
    for head, meaning in notes.items():
        say(console, f"{head:<8}  {meaning}", style="dim")


def difference_heads(figure: str) -> list[str]:
    return ["setting", f"{HEADS[figure]} diff.", "95 %", "d", "p", "Holm", "n", "test"]


def difference_cells(d: Difference, figure: str) -> list[str]:
    """A difference as text.

    >>> found = Difference("a", "b", (3, 3), -0.05, -0.1, 0.0, -1.2, 0.25, 0.25, 0.5, "sign flips")
    >>> difference_cells(found, "best_accuracy")
    ['a', '-5.00', '-10.00 to 0.00', '-1.2', '0.25', '0.5', '3', 'sign flips']
    """
    scale = 100 if figure in PERCENT else 1
    interval = "-" if d.low is None or d.high is None else f"{scale * d.low:.2f} to {scale * d.high:.2f}"
    small = ["-" if v is None else f"{v:.2g}" for v in (d.effect, d.p, d.p_holm)]
    n = f"{d.n[0]}" if d.test != "Welch" else f"{d.n[0]} and {d.n[1]}"
    return [d.setting, f"{scale * d.mean:+.2f}", interval, *small, n, d.test or "one run: none"]


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


def cell(key: str, line: Line) -> str:
    """A figure of a setting as text; a target that not every run reached says how many did."""
    spread = line.figures[key]
    if spread is None:
        return "-"
    scale = 100 if key in PERCENT else 1
    text = number(key, spread.mean * scale)
    text += f"±{number(key, spread.std * scale)}" if spread.std else ""
    some = key == "rounds_to_target" and line.reached < len(line.runs)
    return f"{text} ({line.reached} of {len(line.runs)})" if some else text


def number(key: str, value: float) -> str:
    """
    >>> number("groups", 3.0), number("megabytes", 1234.5), number("best_accuracy", 93.42), number("ari", 0.5)
    ('3', '1,234', '93.4', '0.50')
    """
    if key in ("ari", "discrepancy_mean", "discrepancy_variance"):
        return f"{value:.2f}"
    if key in ("groups", "rounds_to_target") and value == round(value):
        return f"{value:.0f}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.1f}"


def run_document(folder: Path, config: Mapping[str, Any], summary: Mapping[str, Any]) -> dict[str, Any]:
    """One run for programs."""
    return {"kind": "run", "folder": str(folder), "complete": True, "config": dict(config), "summary": dict(summary)}


def comparison_document(lines: Sequence[Line]) -> list[dict[str, Any]]:
    """A comparison for programs; accuracies are shares of 1."""
    return [
        {
            "name": line.name,
            "runs": list(line.runs),
            "complete": line.complete,
            "reached": line.reached,
            "figures": {key: plain(line.figures[key]) for key in FIGURES},
        }
        for line in lines
    ]


def plain(spread: Spread | None) -> dict[str, Any] | None:
    return None if spread is None else asdict(spread)
