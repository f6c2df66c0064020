"""Scenes as figures of a page of HTML."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shoal.recipes.figures.scenes import Layer, Scene
from shoal.report.figure import Figure, Trace, axis, text
from shoal.report.theme import colour

__all__ = ["scene_figure"]

TALL, LOW = 420, 340  # pixels of a figure whose axes have the same scale, or many rows, and of others


def scene_figure(key: str, title: str, scene: Scene) -> Figure:
    """A scene as plotly draws it, with its table.

    Args:
        key: What its files are called.
        title: Above it.
        scene: What is drawn.

    Returns:
        The figure.

    >>> line = Layer("line", (((0.0, 0.0), (1.0, 1.0)), ((2.0, 2.0),)), 0, "a line")
    >>> [trace] = scene_figure("k", "t", Scene(("x", "y"), ((0.0, 2.0), (0.0, 2.0)), (line,), ("x", "y"), ())).traces
    >>> trace["x"], trace["line"]["color"]
    ([0.0, 1.0, None, 2.0], '@g0')
    """
    traces = [trace for layer in scene.layers if layer.pieces for trace in TRACES[layer.kind](layer, scene)]
    layout: dict[str, Any] = {"hovermode": "closest", "barmode": "overlay"}
    for name, label, span, names in zip(
        ("xaxis", "yaxis"), scene.labels, scene.spans, (scene.x_names, scene.y_names), strict=True
    ):
        ticks = {"tickvals": list(range(len(names))), "ticktext": [text(one) for one in names]} if names else {}
        layout[name] = axis(label, range=list(span), zeroline=False, **ticks)
    if scene.equal:
        layout["xaxis"] |= {"constrain": "domain"}  # the figure gets narrower, its axes do not get longer
        layout["yaxis"] |= {"constrain": "domain", "scaleanchor": "x"}
    height = TALL if scene.equal or len(scene.y_names) > 5 else LOW
    return Figure(key, title, scene.caption, scene.columns, scene.rows, traces, layout, height=height)


def path(layer: Layer) -> tuple[list[float | None], list[float | None]]:
    """All pieces, with a gap between two."""
    x: list[float | None] = []
    y: list[float | None] = []
    for piece in layer.pieces:
        gap: list[float | None] = [None] if x else []
        x += [*gap, *(point[0] for point in piece)]
        y += [*gap, *(point[1] for point in piece)]
    return x, y


def base(layer: Layer) -> Trace:
    return {"name": text(layer.name), "showlegend": bool(layer.name), "hoverinfo": "x+y" if layer.name else "skip"}


def lines(layer: Layer, _: Scene) -> list[Trace]:
    x, y = path(layer)
    shade = colour(layer.number) + (":soft" if layer.faint else "")
    style = {"color": shade, "width": 1.6, "dash": "dash" if layer.dashed else "solid"}
    return [{"type": "scatter", "mode": "lines", "x": x, "y": y, "line": style, **base(layer)}]


def areas(layer: Layer, _: Scene) -> list[Trace]:
    x, y = path(layer)
    shade = colour(layer.number) + (":faint" if layer.faint else "")
    fill = {"fill": "toself", "fillcolor": shade, "line": {"width": 0}}
    return [{"type": "scatter", "mode": "lines", "x": x, "y": y, **fill, **base(layer), "hoverinfo": "skip"}]


def points(layer: Layer, _: Scene) -> list[Trace]:
    x, y = zip(*layer.places, strict=True)
    marker = {"color": colour(layer.number), "size": 6, "symbol": "x" if layer.kind == "crosses" else "circle"}
    said = {"text": [text(word) for word in layer.texts]} if layer.texts else {}
    shown = {**base(layer), **said, "hoverinfo": "x+y+text" if said else "x+y"}
    return [{"type": "scatter", "mode": "markers", "x": x, "y": y, "marker": marker, **shown}]


def bars(layer: Layer, _: Scene) -> list[Trace]:
    if not layer.places:
        return []
    x, y = zip(*layer.places, strict=True)
    marker = {"color": colour(layer.number)}
    return [{"type": "bar", "orientation": "h", "x": x, "y": y, "width": 0.32, "marker": marker, **base(layer)}]


def tiles(layer: Layer, scene: Scene) -> list[Trace]:
    found = dict(zip(layer.places, zip(layer.values, layer.texts, strict=True), strict=True))
    across, down = range(len(scene.x_names)), range(len(scene.y_names))
    grid = [[found.get((float(x), float(y)), (None, "")) for x in across] for y in down]
    trace: Trace = {"type": "heatmap", "z": [[value for value, _ in row] for row in grid]}
    trace |= {"text": [[word for _, word in row] for row in grid], "texttemplate": "%{text}", "hoverinfo": "text"}
    return [{**trace, "colorscale": [[0, "@high"], [1, "@zero"]], "xgap": 2, "ygap": 2, "showscale": False}]


def words(layer: Layer, _: Scene) -> list[Trace]:
    x, y = zip(*layer.places, strict=True)
    said = {"text": [text(word) for word in layer.texts], "textposition": "middle right", "textfont": {"color": "@ink"}}
    return [{"type": "scatter", "mode": "text", "x": x, "y": y, **said, **base(layer)}]


TRACES: dict[str, Callable[[Layer, Scene], list[Trace]]] = {
    "line": lines,
    "area": areas,
    "points": points,
    "crosses": points,
    "bars": bars,
    "tiles": tiles,
    "words": words,
}
