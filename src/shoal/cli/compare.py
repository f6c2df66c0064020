"""`shoal compare`: runs side by side."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.console import emit, out
from shoal.cli.failures import guarded


class TableFormat(StrEnum):
    """How a table is printed."""

    text = "text"
    json = "json"
    csv = "csv"
    latex = "latex"


Paths = Annotated[list[Path], typer.Argument(metavar="PATH...", help="Run folders, sweeps, or folders of runs.")]
Target = Annotated[
    float | None, typer.Option(help="A value of the score, such as an accuracy of 0.85: after how many rounds and MB?")
]
Everything = Annotated[
    bool, typer.Option("--all", help="Show the rarer figures too: median, test loss, discrepancy, costs.")
]
Apart = Annotated[bool, typer.Option("--differences", help="How sure is it? Every setting against one, by seeds.")]
Figure = Annotated[str | None, typer.Option(help="What --differences looks at; default: the best value of the score.")]
Against = Annotated[str | None, typer.Option(help="The setting they are held against; default: the best.")]
Columns = Annotated[
    str | None,
    typer.Option(metavar="KEY,KEY,...", help="These columns alone, by their names in --format json."),
]
Names = Annotated[
    str | None, typer.Option(metavar="NAME,NAME,...", help="What the settings are called, in their order.")
]
How = Annotated[TableFormat, typer.Option("--format", help="text, json, csv for spreadsheets, latex for papers.")]


@guarded
def compare(
    paths: Paths,
    target: Target = None,
    everything: Everything = False,
    apart: Apart = False,
    figure: Figure = None,
    against: Against = None,
    columns: Columns = None,
    names: Names = None,
    format: How = TableFormat.text,
) -> None:
    """Put runs side by side in one table.

    Mean and spread over seeds, and with --target the rounds and MB until an accuracy is reached.
    Runs that differ in their seed alone are one line. --columns chooses what is shown, --names what lines are called.
    """
    from shoal.analysis.compare import compare as side_by_side
    from shoal.analysis.compare import figures_for, renamed
    from shoal.analysis.significance import differences
    from shoal.analysis.table import chosen_columns
    from shoal.cli import results, tables

    lines = side_by_side([path.expanduser() for path in paths], target)
    lines = renamed(lines, words(names)) if names is not None else lines
    wanted = chosen_columns(lines, words(columns)) if columns is not None else None
    known, figure = figures_for(lines), figure or lines[0].score.key("best")
    found = differences(lines, figure, against) if apart else []
    if format is TableFormat.json:
        told = wanted or list(known.values())
        document = {"kind": "comparison", "target": target, "score": asdict(lines[0].score)}
        more = {"figure": figure, "differences": [asdict(d) for d in found]} if apart else {}
        rows = {"comparison": results.comparison_document(lines, told)}
        emit({**document, **rows, **more, "figures": {quantity.key: quantity.meaning for quantity in told}})
    elif format is TableFormat.csv:
        print(tables.differences_csv(found) if apart else tables.comparison_csv(lines, wanted), end="")
    elif format is TableFormat.latex and apart:
        print(tables.differences_latex(found, known[figure]), end="")
    elif format is TableFormat.latex:
        print(tables.comparison_latex(lines, everything, wanted), end="")
    elif apart:
        results.show_differences(out(), found, known[figure])
    else:
        results.show_comparison(out(), lines, target, everything, wanted)


def words(text: str) -> list[str]:
    """What stands between commas.

    >>> words("FedAvg, IFCA")
    ['FedAvg', 'IFCA']
    """
    return [word.strip() for word in text.split(",") if word.strip()]
