"""What `run` and `resume` print at their end."""

from __future__ import annotations

from pathlib import Path

from shoal.cli.screen import Format, emit, out, say


def finish_run(folder: Path, format: Format, quiet: bool) -> None:
    """Print what a run left."""
    from shoal.cli.results import run_document, show_run
    from shoal.experiment.folder import Folder

    config, summary = Folder(folder).config(), Folder(folder).summary() or {}
    if format is Format.json:
        emit(run_document(folder, config, summary))
    elif quiet:
        say(out(), str(folder))
    else:
        show_run(out(), folder, config, summary)


def finish_sweep(folder: Path, format: Format, quiet: bool) -> None:
    """Print the comparison of a sweep."""
    from shoal.cli.results import comparison_document, show_comparison
    from shoal.experiment.compare import compare, expand

    lines, paths = compare([folder]), [str(p) for p in expand([folder])]
    if format is Format.json:
        emit({"kind": "sweep", "folder": str(folder), "runs": paths, "comparison": comparison_document(lines)})
    elif quiet:
        say(out(), str(folder))
    else:
        console = out()
        show_comparison(console, lines)
        say(console, f"\nSweep folder: {folder} ({len(paths)} runs)")
        say(console, f"Next:         shoal compare {folder} --target 0.8")
        say(console, f"              shoal report {folder}")
