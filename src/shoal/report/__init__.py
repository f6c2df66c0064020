"""The report: one HTML file that shows a run, or several side by side. Figures are pure functions in `figures`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from shoal.analysis.compare import Line, Paths, check_target, compare_runs, expand, listed, renamed
from shoal.errors import RunFolderError, unknown
from shoal.report.figures.compared import Setting
from shoal.report.figures.similarity import Place, components, neighbours
from shoal.report.loaded_run import LoadedRun, read_run, read_runs
from shoal.report.page import Page, comparison_page, render, run_page

__all__ = ["LoadedRun", "page_of", "page_of_runs", "read_run", "read_runs", "report"]

MAPS = {"pca": components, "tsne": neighbours}


def report(
    paths: Paths,
    out: str | Path | None = None,
    target: float | None = None,
    map: Literal["pca", "tsne"] = "pca",
) -> Path:
    """Write a page about one run, or about several side by side.

    Args:
        paths: folders of runs or of sweeps; one of them is enough.
        out: the file; by default `report.html` in the one folder that is given, else in the working directory.
        target: a value of the score (an accuracy); a comparison then tells how many rounds and megabytes it took.
        map: how clients are put into a plane: principal components, or t-SNE.

    Returns:
        The path of the page.

    >>> import shoal, tempfile
    >>> run = shoal.run("ifca", rounds=2, engine="serial", out=tempfile.mkdtemp())
    >>> report([run.folder]).name
    'report.html'
    """
    given = listed(paths)
    file = place_of(given, out)
    return write(page_of(given, target, map, file.parent), file)


def page_of(
    paths: Paths,
    target: float | None = None,
    map: str = "pca",
    seen_from: Path | None = None,
    names: Sequence[str] | None = None,
) -> Page:
    """What the page shows: of a run all there is, of several a comparison.

    Args:
        paths: folders of runs or of sweeps; one of them is enough.
        target: a value of the score (an accuracy); a comparison then tells how many rounds and megabytes it took.
        map: how clients are put into a plane, `pca` or `tsne`.
        seen_from: the folder of the page, from which pages of single runs are linked.
        names: what the settings of a comparison are called, in their order.

    Returns:
        The page, ready for `render`.

    >>> import shoal, tempfile
    >>> run = shoal.run("ifca", rounds=1, engine="serial", out=tempfile.mkdtemp())
    >>> page_of(run.folder).title
    'ifca on digits'
    """
    if map not in MAPS:
        raise unknown("map", map, MAPS)
    return page_of_runs(expand(paths), target, MAPS[map], seen_from, names=names)


def page_of_runs(
    folders: Sequence[Path],
    target: float | None = None,
    place: Place = components,
    seen_from: Path | None = None,
    inside: Path | None = None,
    names: Sequence[str] | None = None,
) -> Page:
    """The same for run folders alone, which are not looked into for others.

    Args:
        folders: of the runs, at least one.
        target: a value of the score (an accuracy); a comparison then tells how many rounds and megabytes it took.
        place: puts clients into a plane.
        seen_from: the folder of the page, from which pages of single runs are linked.
        inside: the folder that must hold whatever lies beside a run and is shown with it; by default anywhere.
        names: what the settings of a comparison are called, in their order.

    Returns:
        The page, ready for `render`.

    >>> import shoal, tempfile
    >>> paths = shoal.sweep(["fedavg", "ifca"], rounds=1, engine="serial", out=tempfile.mkdtemp())
    >>> page_of_runs(paths).title
    '2 settings on digits'
    """
    if len(folders) == 1:
        loaded = read_run(folders[0], inside=inside)
        check_target(target, loaded.score)
        return run_page(loaded, place)
    lines = compare_runs(folders, target)
    lines = lines if names is None else renamed(lines, names)
    settings = [Setting(line.name, read_runs(line.runs)) for line in lines]
    return comparison_page(settings, lines, target, links(lines, seen_from or Path()))


def links(lines: Sequence[Line], seen_from: Path) -> list[tuple[str, str]]:
    """Pages of single runs that are there already."""
    pages = [(Path(run), Path(run) / "report.html") for line in lines for run in line.runs]
    return [(run.name, os.path.relpath(page, seen_from)) for run, page in pages if page.is_file()]


def place_of(paths: Sequence[Path], out: str | Path | None) -> Path:
    if out is not None:
        return Path(out)
    return (paths[0] if len(paths) == 1 else Path()) / "report.html"


def write(page: Page, file: Path, option: str = "--out FILE") -> Path:
    """The page as a file, whole or not at all; `option` names the place on the command line."""
    text = render(page)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_name(f".{file.name}.partial")
        partial.write_text(text, encoding="utf-8")
        partial.rename(file)
    except OSError as e:
        raise RunFolderError(f"cannot write {file}: {e.strerror or e}; choose another one with {option}") from e
    return file
