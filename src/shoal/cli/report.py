"""`shoal report`: runs as one page to look at."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from shoal.analysis.units import size
from shoal.cli.compare import Paths, Target
from shoal.cli.console import Format, FormatOption, echo, emit, out
from shoal.cli.failures import guarded


class Map(StrEnum):
    """How clients are put into a plane."""

    pca = "pca"
    tsne = "tsne"


Out = Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Where the page goes.", show_default=False)]
Figures = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Also every figure as SVG, PNG and PDF, its data as CSV.", show_default=False),
]
Open = Annotated[bool, typer.Option("--open", help="Show the page in the browser.")]
MapOption = Annotated[Map, typer.Option("--map", help="Map of clients: principal components, or t-SNE.")]


@guarded
def report(
    paths: Paths,
    file: Out = None,
    figures: Figures = None,
    show: Open = False,
    target: Target = None,
    map: MapOption = Map.pca,
    format: FormatOption = Format.text,
) -> None:
    """Make a page to look at: one HTML file that needs no network.

    Of one run: curves, groups, who moved, how alike clients are, events, cost, settings. Of several: a comparison.
    The page is report.html in the folder that is given; --out names another file.
    """
    from shoal.report import page_of, place_of, write
    from shoal.report.export import export

    folders = [path.expanduser() for path in paths]
    target_file = place_of(folders, file.expanduser() if file else None)
    page = page_of(folders, target, map.value, target_file.parent)
    written = write(page, target_file)
    if format is Format.text:
        echo(out(), f"Report: {written} ({size(written.stat().st_size)}); open it in a browser")
    drawn = export(page.figures, figures.expanduser()) if figures is not None else []
    if drawn and format is Format.text:
        echo(out(), f"Figures: {figures} ({len(drawn)} files)")
    if format is Format.json:
        shown = [{"key": f.key, "title": f.title} for f in page.figures]
        emit(
            {
                "kind": "report",
                "file": str(written),
                "bytes": written.stat().st_size,
                "figures": shown,
                "files": [str(path) for path in drawn],
            }
        )
    if show:
        typer.launch(written.resolve().as_uri())
