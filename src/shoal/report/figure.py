"""What a figure is: a chart as plotly draws it, the table behind it, and a line that says how to read it."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shoal.report.theme import themed

__all__ = ["Figure", "NoFigure", "themed"]

Trace = dict[str, Any]
Cell = str | float | int | None


@dataclass(frozen=True)
class Figure:
    """A chart. Colours are tokens such as `@g0` or `@ink`, which `themed` turns into those of a theme.

    Args:
        key: What its files are called.
        title: Above it.
        caption: How to read it.
        columns: Heads of the table behind it.
        rows: The same numbers as a table, not escaped.
        traces: As plotly takes them.
        layout: What differs from that of all figures.
        wide: Whether it takes the width of the page.
        height: In pixels.
        table: Whether the table is unfolded at once.

    >>> Figure("sizes", "Sizes", "How many.", ("group", "clients"), [["a", 3]], [{"type": "bar"}]).csv
    'group,clients\\na,3\\n'
    """

    key: str
    title: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    traces: Sequence[Trace]
    layout: Mapping[str, Any] = field(default_factory=dict)
    wide: bool = False
    height: int = 340
    table: bool = False

    @property
    def spec(self) -> dict[str, Any]:
        """What plotly takes. Axes make room for their labels across, never along: that would change the ticks again."""
        layout = {**BASE, "height": self.height, **self.layout}
        for name, way in (("xaxis", "height"), ("yaxis", "width")):
            if name in layout:
                layout[name] = {**layout[name], "automargin": way}
        return {"data": list(self.traces), "layout": layout}

    @property
    def csv(self) -> str:
        """The table as text."""
        return csv_text(self.columns, self.rows)


@dataclass(frozen=True)
class NoFigure:
    """A chart that a run has nothing for, and why.

    Args:
        key: Of the chart.
        title: Of the chart.
        reason: The end of the sentence "it is not shown: ..."; empty where nobody would miss it.

    >>> NoFigure("splits", "Tree of splits", "no cluster was split").reason
    'no cluster was split'
    """

    key: str
    title: str
    reason: str


FigureOrReason = Figure | NoFigure

FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif'
BASE: dict[str, Any] = {
    "font": {"family": FONT, "size": 12, "color": "@ink"},
    "paper_bgcolor": "@panel",
    "plot_bgcolor": "@panel",
    "margin": {"l": 56, "r": 18, "t": 12, "b": 46},
    "hoverlabel": {"bgcolor": "@panel", "bordercolor": "@line", "font": {"color": "@ink", "family": FONT, "size": 12}},
    "legend": {"font": {"color": "@ink"}, "bgcolor": "rgba(0,0,0,0)"},
    "showlegend": True,
}


def text(value: object, most: int = 0) -> str:
    """Text as plotly shows it unchanged: it would take `<b>` for a tag. At most so many characters.

    >>> text("<script>"), text("a long name", 6)
    ('&lt;script&gt;', 'a lon…')
    """
    plain = " ".join(str(value).split())
    plain = plain if not most or len(plain) <= most else plain[: most - 1] + "…"
    return html.escape(plain, quote=False).replace("@", "&#64;")


def axis(title: str, **more: Any) -> dict[str, Any]:
    """An axis with its name and unit."""
    quiet = {"gridcolor": "@grid", "linecolor": "@line", "zerolinecolor": "@grid", "tickfont": {"color": "@muted"}}
    name = {"text": title, "font": {"size": 12, "color": "@muted"}, "standoff": 8}
    return {"title": name, **quiet, **more}


def rounds_axis() -> dict[str, Any]:
    return axis("round", rangemode="tozero", zeroline=False)


def line(x: Sequence[Any], y: Sequence[Any], name: str, color: str, **more: Any) -> Trace:
    """A curve; its name must be escaped already."""
    style = {"color": color, "width": more.pop("width", 1.6), "dash": more.pop("dash", "solid")}
    mode = "lines" if len(x) > 1 else "markers"  # one point has no line
    shape = {"type": "scatter", "mode": mode, "x": list(x), "y": list(y), "name": name, "line": style}
    return {**shape, "marker": {"color": color}, **more}


PALE = 0.4  # opacity of what is about some clients only
Point = tuple[Any, Any, str]  # x, y, and whom it is about where not about all clients


def covered_line(points: Sequence[Point], name: str, color: str, **more: Any) -> list[Trace]:
    """A curve that is pale where its points are about some clients only, and says there how many; names are escaped.

    >>> points = [(1, 90, "2 of 5 clients"), (2, 80, ""), (3, 85, "")]
    >>> [(t.get("opacity", 1), t["y"]) for t in covered_line(points, "a", "@ink")]
    [(1, [None, 80, 85]), (0.4, [90, 80, None])]
    """
    x, notes = [p[0] for p in points], [p[2] for p in points]
    if not any(notes):
        return [line(x, [p[1] for p in points], name, color, **more)]
    whole = line(x, [None if note else p[1] for p, note in zip(points, notes, strict=True)], name, color, **more)
    near = [any(notes[max(0, i - 1) : i + 2]) for i in range(len(notes))]  # what is pale reaches to the neighbours
    some = line(x, [p[1] if close else None for p, close in zip(points, near, strict=True)], name, color, **more)
    some |= {"opacity": PALE, "text": [note or "all clients" for note in notes], "hovertemplate": "%{y} (%{text})"}
    return [some] if all(notes) else [whole, {**some, "showlegend": False}]


def percent(share: float | None, digits: int = 2) -> float | None:
    """A share of 1 in percent, rounded for a chart."""
    return None if share is None else round(100 * share, digits)


def thin(rows: Sequence[Any], most: int = 600) -> list[Any]:
    """Every n-th of many, and the last, so that a page stays small.

    >>> thin(range(10), 5)
    [0, 2, 4, 6, 8, 9]
    """
    step = max(1, -(-len(rows) // most))
    kept = list(rows[::step])
    return kept if not rows or (len(rows) - 1) % step == 0 else [*kept, rows[-1]]


def csv_text(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """A table as CSV, empty where there is no value."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([["" if c is None else c for c in row] for row in rows])
    return out.getvalue()
