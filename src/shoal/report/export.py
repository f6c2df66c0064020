"""Figures as files: the table as CSV always, pictures as SVG, PNG and PDF where a browser can draw them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from shoal.errors import ShoalError
from shoal.report.figure import Figure, text, themed
from shoal.report.theme import LIGHT

__all__ = ["export"]

FORMATS = ("svg", "png", "pdf")
WIDE, HALF = 960, 640
HEAD = 44  # pixels for the title


def export(figures: Sequence[Figure], folder: Path) -> list[Path]:
    """Write every figure's table and pictures; without a browser the tables are there and an error says what lacks.

    Args:
        figures: What to write.
        folder: Where to.

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
        paths(figures, folder), pictures([printed(f) for f in figures], len(written)), strict=True
    ):
        path.write_bytes(picture)
        written.append(path)
    return sorted(written)


def paths(figures: Sequence[Figure], folder: Path) -> list[Path]:
    return [folder / f"{f.key}.{ext}" for f in figures for ext in FORMATS]


def printed(figure: Figure) -> dict[str, Any]:
    """A figure for paper: light, with its title and a legend of its own."""
    spec = themed(figure.spec, LIGHT)
    layout = {k: v for k, v in spec["layout"].items() if k != "meta"}
    layout |= {
        "title": {
            "text": text(figure.title),
            "x": 0.02,
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            "pad": {"t": 12},
            "font": {"size": 15},
        },
        "width": WIDE if figure.wide else HALF,
    }
    layout["height"] += HEAD
    layout["margin"] = {**layout["margin"], "t": layout["margin"]["t"] + HEAD}
    return {"data": spec["data"], "layout": layout}


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
