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
Target = Annotated[float | None, typer.Option(help="An accuracy, such as 0.85: after how many rounds and MB?")]
Everything = Annotated[
    bool, typer.Option("--all", help="Show the rarer figures too: median, test loss, discrepancy, costs.")
]
Apart = Annotated[bool, typer.Option("--differences", help="How sure is it? Every setting against one, by seeds.")]
Figure = Annotated[str, typer.Option(help="What --differences looks at.")]
Against = Annotated[str | None, typer.Option(help="The setting they are held against; default: the best.")]
How = Annotated[TableFormat, typer.Option("--format", help="text, json, csv for spreadsheets, latex for papers.")]


@guarded
def compare(
    paths: Paths,
    target: Target = None,
    everything: Everything = False,
    apart: Apart = False,
    figure: Figure = "best_accuracy",
    against: Against = None,
    format: How = TableFormat.text,
) -> None:
    """Put runs side by side in one table.

    Mean and spread over seeds, and with --target the rounds and MB until an accuracy is reached.
    Runs that differ in their seed alone are one line.
    """
    from shoal.analysis.compare import compare as side_by_side
    from shoal.analysis.quantities import FIGURES
    from shoal.analysis.significance import differences
    from shoal.cli import results, tables

    lines = side_by_side([path.expanduser() for path in paths], target)
    found = differences(lines, figure, against) if apart else []
    if format is TableFormat.json:
        document = {"kind": "comparison", "target": target, "comparison": results.comparison_document(lines)}
        more = {"figure": figure, "differences": [asdict(d) for d in found]} if apart else {}
        emit({**document, **more, "figures": {key: quantity.meaning for key, quantity in FIGURES.items()}})
    elif format is TableFormat.csv:
        print(tables.differences_csv(found) if apart else tables.comparison_csv(lines), end="")
    elif format is TableFormat.latex:
        print(tables.differences_latex(found, figure) if apart else tables.comparison_latex(lines, everything), end="")
    elif apart:
        results.show_differences(out(), found, figure)
    else:
        results.show_comparison(out(), lines, target, everything)
