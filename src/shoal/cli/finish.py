"""What `run` and `resume` print at their end."""

from __future__ import annotations

from pathlib import Path

from shoal.cli.console import Format, echo, emit, out
from shoal.errors import command


def finish_run(folder: Path, format: Format, quiet: bool) -> None:
    """Print what a run left."""
    from shoal.cli.results import run_document, show_run
    from shoal.store.folder import Folder

    config, summary = Folder(folder).config(), Folder(folder).summary() or {}
    if format is Format.json:
        emit(run_document(folder, config, summary, Folder(folder).notes()))
    elif quiet:
        echo(out(), str(folder))
    else:
        show_run(out(), folder, config, summary)


def finish_sweep(folder: Path, format: Format, quiet: bool) -> None:
    """Print the comparison of a sweep."""
    from shoal.analysis.compare import compare, expand
    from shoal.cli.results import comparison_document, show_comparison

    lines, paths = compare([folder]), [str(p) for p in expand([folder])]
    if format is Format.json:
        emit({"kind": "sweep", "folder": str(folder), "runs": paths, "comparison": comparison_document(lines)})
    elif quiet:
        echo(out(), str(folder))
    else:
        console, target = out(), ("--target", 0.8) if lines[0].score.percent else ()
        show_comparison(console, lines)
        echo(console, f"\nSweep folder: {folder} ({len(paths)} runs)")
        echo(console, f"Next:         {command('compare', folder, *target)}")
        echo(console, f"              {command('report', folder)}")
