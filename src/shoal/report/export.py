"""Figures as files: the table as CSV always, pictures as SVG, PNG and PDF where a browser can draw them."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.errors import BadInput, ShoalError, unknown
from shoal.report.figure import Figure, text, themed
from shoal.report.theme import LIGHT

__all__ = ["Look", "export", "pixels"]

FORMATS = ("svg", "png", "pdf")
WIDE, HALF = 960, 640
HEAD = 44  # pixels for the title
NARROW = 520  # pixels below which the legend stands above the figure, not beside it
INCH = 96  # pixels, as browsers count them
UNITS = {"px": 1.0, "mm": INCH / 25.4, "cm": INCH / 2.54, "in": float(INCH), "pt": INCH / 72}


@dataclass(frozen=True)
class Look:
    """How pictures of figures look in a paper.

    Args:
        width: In pixels, of which 96 are an inch; heights follow. None: 640 or 960.
        font: The name of a font that this machine has; None: that of the pages.
        size: Of letters, in points; None: 9, which is 12 pixels.
        title: Above a figure; None: its own, empty: none.

    >>> Look(width=pixels("85mm"), font="Times New Roman", size=8, title="").width
    321
    """

    width: int | None = None
    font: str | None = None
    size: float | None = None
    title: str | None = None


USUAL = Look()


def pixels(text: str) -> int:
    """A width as people write it.

    Args:
        text: A number with `mm`, `cm`, `in`, `pt` or `px`, or nothing, which is `px`.

    Returns:
        Pixels, of which 96 are an inch.

    >>> pixels("85mm"), pixels("3.5in"), pixels("640")
    (321, 336, 640)
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?(px|mm|cm|in|pt|)", text.strip())
    wide = float(found[1]) * UNITS[found[2] or "px"] if found else 0.0
    if not 100 <= wide <= 10_000:
        raise BadInput(f"a width of {text!r} is not possible: give 85mm, 3.5in or 640px, from 100 pixels on")
    return round(wide)


def chosen(figures: Sequence[Figure], keys: Sequence[str]) -> list[Figure]:
    """The figures of some keys, in their order; a sentence for one that is not there."""
    known = {figure.key: figure for figure in figures}
    for key in keys:
        if key not in known:
            raise unknown("figure", key, known)
    return [known[key] for key in keys]


def export(figures: Sequence[Figure], folder: Path, look: Look = USUAL) -> list[Path]:
    """Write every figure's table and pictures; without a browser the tables are there and an error says what lacks.

    Args:
        figures: What to write.
        folder: Where to.
        look: Width, font and titles of the pictures.

    Returns:
        The files.

    >>> import tempfile
    >>> export([], Path(tempfile.mkdtemp()))
    []
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for figure in figures:
        path = folder / f"{figure.key}.csv"
        path.write_text(figure.csv, encoding="utf-8")
        written.append(path)
    for path, picture in zip(
        paths(figures, folder), pictures([printed(f, look) for f in figures], len(written)), strict=True
    ):
        path.write_bytes(picture)
        written.append(path)
    return sorted(written)


def paths(figures: Sequence[Figure], folder: Path) -> list[Path]:
    return [folder / f"{f.key}.{ext}" for f in figures for ext in FORMATS]


def printed(figure: Figure, look: Look = USUAL) -> dict[str, Any]:
    """A figure for paper: light, with its title and a legend of its own."""
    spec = themed(figure.spec, LIGHT)
    layout = {k: v for k, v in spec["layout"].items() if k != "meta"}
    usual = WIDE if figure.wide else HALF
    width, size = look.width or usual, (look.size or 9) * UNITS["pt"]
    title = figure.title if look.title is None else look.title
    font = {"size": round(size, 2)} | ({"family": look.font} if look.font else {})
    layout |= {"width": width, "height": max(round(layout["height"] * width / usual), round(0.6 * min(width, NARROW)))}
    layout["font"] = layout["font"] | font
    for axis in ("xaxis", "yaxis"):
        if axis in layout:
            layout[axis] = layout[axis] | {"title": layout[axis]["title"] | {"font": {"color": LIGHT["muted"], **font}}}
    above = HEAD if title else 0
    if title:
        place = {"x": 0.02, "y": 1, "yref": "container", "yanchor": "top", "pad": {"t": 12}}
        layout["title"] = {"text": text(title), **place, "font": {**font, "size": round(1.25 * size, 2)}}
    if width < NARROW:
        names = {t["name"]: t for t in spec["data"] if t.get("name") and t.get("showlegend") is not False}
        rows = -(-sum(len(name) * size * 0.62 + 48 for name in names) // (0.85 * width)) if len(names) > 1 else 0
        above_it = {"orientation": "h", "yanchor": "bottom", "y": 1.01, "x": 0, "tracegroupgap": 0}
        layout["legend"] = layout["legend"] | above_it
        above += round(1.6 * size * rows)
    layout["height"] += above
    layout["margin"] = {**layout["margin"], "t": layout["margin"]["t"] + above}
    return {"data": [finer(trace, width / usual) for trace in spec["data"]], "layout": layout}


def finer(trace: Mapping[str, Any], share: float) -> dict[str, Any]:
    """A curve or points of a picture that is narrower than usual: lines and markers are smaller, but not invisible.

    >>> finer({"line": {"width": 2, "color": "#fff"}, "marker": {"size": 10}}, 0.5)
    {'line': {'width': 1.5, 'color': '#fff'}, 'marker': {'size': 7.5}}
    """
    found, factor = dict(trace), min(1.0, max(0.6, 1.5 * share))
    for part, key in (("line", "width"), ("marker", "size")):
        if isinstance(found.get(part), Mapping) and isinstance(found[part].get(key), int | float):
            found[part] = {**found[part], key: round(factor * found[part][key], 2)}
    return found


def pictures(specs: Sequence[dict[str, Any]], tables: int) -> list[bytes]:
    """Every specification in every format."""
    if not specs:
        return []
    try:
        from kaleido import Kaleido
    except ImportError as e:
        raise no_pictures(tables, "kaleido is not installed; run: pip install 'shoal[report]'") from e

    async def draw() -> list[bytes]:
        async with Kaleido(n=1) as browser:
            found = []
            for spec in specs:
                size = {"width": spec["layout"]["width"], "height": spec["layout"]["height"]}
                for ext in FORMATS:
                    opts = {"format": ext, **size, "scale": 2 if ext == "png" else 1}
                    found.append(await browser.calc_fig(spec, opts=opts))
            return found

    for name in ("kaleido", "choreographer", "logistro"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        with ThreadPoolExecutor(1) as pool:  # a notebook has a loop of its own in this thread
            return pool.submit(lambda: asyncio.run(draw())).result()
    except Exception as e:  # whatever a browser does wrong
        if type(e).__name__ in ("ChromeNotFoundError", "BrowserFailedError", "BrowserClosedError"):
            raise no_pictures(tables, "no Chrome or Chromium could be started to draw them") from e
        raise


def no_pictures(tables: int, reason: str) -> ShoalError:
    return ShoalError(f"{tables} tables were written as CSV, but no pictures: {reason}")
