"""`shoal report`: runs as one page to look at."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from shoal.analysis.units import size
from shoal.cli.compare import Names, Paths, Target, words
from shoal.cli.console import Format, FormatOption, echo, emit, out
from shoal.cli.failures import guarded
from shoal.errors import BadInput


class Map(StrEnum):
    """How clients are put into a plane."""

    pca = "pca"
    tsne = "tsne"


Out = Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Where the page goes.", show_default=False)]
Figures = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Also every figure as SVG, PNG and PDF, its data as CSV.", show_default=False),
]
Only = Annotated[
    str | None, typer.Option(metavar="KEY,KEY,...", help="With --figures: these alone, by the names of their files.")
]
Width = Annotated[str | None, typer.Option(metavar="WIDTH", help="With --figures: how wide, 85mm, 3.5in or 640px.")]
Font = Annotated[str | None, typer.Option(metavar="NAME", help="With --figures: a font, such as 'Times New Roman'.")]
FontSize = Annotated[float | None, typer.Option(metavar="PT", min=4, max=40, help="With --figures: size of letters.")]
Title = Annotated[
    str | None, typer.Option(metavar="TEXT", help="With --figures: the title; '' for none. Default: each its own.")
]
Open = Annotated[bool, typer.Option("--open", help="Show the page in the browser.")]
MapOption = Annotated[Map, typer.Option("--map", help="Map of clients: principal components, or t-SNE.")]


@guarded
def report(
    paths: Paths,
    file: Out = None,
    figures: Figures = None,
    only: Only = None,
    width: Width = None,
    font: Font = None,
    font_size: FontSize = None,
    title: Title = None,
    names: Names = None,
    show: Open = False,
    target: Target = None,
    map: MapOption = Map.pca,
    format: FormatOption = Format.text,
) -> None:
    """Make a page to look at: one HTML file that needs no network.

    Of one run: curves, groups, who moved, how alike clients are, events, cost, settings. Of several: a comparison.
    The page is report.html in the folder that is given; --out names another file. --figures writes pictures for papers.
    """
    from shoal.report import page_of, place_of, write
    from shoal.report.export import Look, chosen, export, pixels

    look = Look(pixels(width) if width is not None else None, font, font_size, title)
    if figures is None and (look != Look() or only is not None):
        raise BadInput("--only, --width, --font, --font-size and --title are about pictures; add --figures DIR")

    folders = [path.expanduser() for path in paths]
    target_file = place_of(folders, file.expanduser() if file else None)
    page = page_of(folders, target, map.value, target_file.parent, words(names) if names is not None else None)
    wanted = chosen(page.figures, words(only)) if only is not None else page.figures
    written = write(page, target_file)
    if format is Format.text:
        echo(out(), f"Report: {written} ({size(written.stat().st_size)}); open it in a browser")
    drawn = export(wanted, figures.expanduser(), look) if figures is not None else []
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
