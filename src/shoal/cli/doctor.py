"""`shoal doctor`: whether this machine can run Shoal, and what is missing."""

from __future__ import annotations

from dataclasses import asdict

import typer

from shoal.cli.console import Format, FormatOption, emit, out
from shoal.cli.failures import guarded

STYLES = {"ok": "green", "missing": "yellow", "problem": "red"}


@guarded
def doctor(format: FormatOption = Format.text) -> None:
    """Check what this machine has and lacks.

    Python, PyTorch, memory, workers, data sets, optional packages.
    Ends with 1 if something essential is broken. What is merely missing can be added when it is needed.
    """
    from rich.text import Text

    from shoal.cli.checks import CHECKS

    console, findings = out(), []
    for check in CHECKS:
        for found in check():
            findings.append(found)
            if format is Format.text:
                line = Text(f"{found.state:<8}", style=STYLES[found.state])
                line.append(f" {found.name:<18} {found.detail}", style="default")
                console.print(line, soft_wrap=True)
    broken = [f.name for f in findings if f.essential and f.state == "problem"]
    if format is Format.json:
        emit({"fine": not broken, "checks": [asdict(f) for f in findings]})
    else:
        console.print(f"\nbroken: {', '.join(broken)}" if broken else "\nall that is essential works")
    if broken:
        raise typer.Exit(1)
