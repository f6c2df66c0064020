"""`shoal compare`: runs side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.guard import guarded
from shoal.cli.screen import Format, FormatOption, emit, out

Paths = Annotated[list[Path], typer.Argument(metavar="PATH...", help="Run folders, sweeps, or folders of runs.")]
Target = Annotated[float | None, typer.Option(help="An accuracy, such as 0.85: after how many rounds and MB?")]
Everything = Annotated[bool, typer.Option("--all", help="Show the rarer figures too: median, discrepancy, passes.")]


@guarded
def compare(
    paths: Paths, target: Target = None, everything: Everything = False, format: FormatOption = Format.text
) -> None:
    """Put runs side by side in one table.

    Mean and spread over seeds, and with --target the rounds and MB until an accuracy is reached.
    Runs that differ in their seed alone are one line.
    """
    from shoal.cli.results import comparison_document, show_comparison
    from shoal.experiment.compare import FIGURES
    from shoal.experiment.compare import compare as side_by_side

    lines = side_by_side([path.expanduser() for path in paths], target)
    if format is Format.json:
        emit({"kind": "comparison", "target": target, "comparison": comparison_document(lines), "figures": FIGURES})
    else:
        show_comparison(out(), lines, target, everything)
