"""The report: one HTML file that shows a run, or several side by side. Figures are pure functions in `figures`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from shoal.errors import RunFolderError, unknown
from shoal.experiment.compare import Line, compare, expand
from shoal.report.figures.compared import Setting
from shoal.report.figures.likeness import components, neighbours
from shoal.report.page import Page, comparison_page, render, run_page
from shoal.report.read import Told, read_run, read_runs

__all__ = ["Told", "page_of", "read_run", "read_runs", "report"]

MAPS = {"pca": components, "tsne": neighbours}


def report(
    paths: Sequence[str | Path],
    out: str | Path | None = None,
    target: float | None = None,
    map: Literal["pca", "tsne"] = "pca",
) -> Path:
    """Write a page about one run, or about several side by side; the path of the page.

    Without `out` it is `report.html` in the one folder that is given, else in the working directory.

    >>> import shoal, tempfile
    >>> run = shoal.run("ifca", rounds=2, engine="serial", out=tempfile.mkdtemp())
    >>> report([run.folder]).name
    'report.html'
    """
    file = place_of(paths, out)
    return write(page_of(paths, target, map, file.parent), file)


def page_of(
    paths: Sequence[str | Path], target: float | None = None, map: str = "pca", seen_from: Path | None = None
) -> Page:
    """What the page shows: of a run all there is, of several a comparison."""
    if map not in MAPS:
        raise unknown("map", map, MAPS)
    found = expand(paths)
    if len(found) == 1:
        return run_page(read_run(found[0]), MAPS[map])
    lines = compare(found, target)
    settings = [Setting(line.name, read_runs(line.runs)) for line in lines]
    return comparison_page(settings, lines, target, links(lines, seen_from or Path()))


def links(lines: Sequence[Line], seen_from: Path) -> list[tuple[str, str]]:
    """Pages of single runs that are there already."""
    pages = [(Path(run), Path(run) / "report.html") for line in lines for run in line.runs]
    return [(run.name, os.path.relpath(page, seen_from)) for run, page in pages if page.is_file()]


def place_of(paths: Sequence[str | Path], out: str | Path | None) -> Path:
    if out is not None:
        return Path(out)
    return (Path(paths[0]) if len(paths) == 1 else Path()) / "report.html"


def write(page: Page, file: Path) -> Path:
    """The page as a file, whole or not at all."""
    text = render(page)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_name(f".{file.name}.partial")
        partial.write_text(text)
        partial.rename(file)
    except OSError as e:
        raise RunFolderError(f"cannot write {file}: {e.strerror or e}; choose another one with --out FILE") from e
    return file
