"""Scenes as small SVG texts."""

from __future__ import annotations

from collections.abc import Callable

from shoal.recipes.figures.scenes import Layer, Point, Scene
from shoal.report.svg import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Axes, picture, text
from shoal.report.theme import LIGHT, colour, themed

__all__ = ["drawn_scene", "on_paper"]

FAINT = 0.3  # opacity
THICK = 11  # pixels of a bar
LETTER = 5.6  # pixels of one, about
INSIDE = f'x="{LEFT}" y="{TOP}" width="{WIDTH - LEFT - RIGHT}" height="{HEIGHT - TOP - BOTTOM}"'
FRAME = f'<clipPath id="frame"><rect {INSIDE}/></clipPath>'


def on_paper(k: int) -> str:
    """The colour of curve or group k, that of the report on light pages.

    Args:
        k: Its number; -1: none.

    Returns:
        As SVG has it.

    >>> on_paper(0) == on_paper(10) == LIGHT["g0"], on_paper(-1) == LIGHT["line"]
    (True, True)
    """
    return str(themed(colour(k), LIGHT))


def drawn_scene(title: str, scene: Scene) -> str:
    """A scene with its axes and its legend.

    Args:
        title: Above it.
        scene: What is drawn.

    Returns:
        SVG.

    >>> line = Layer("line", (((0.0, 0.0), (1.0, 1.0)),), 0, "a line")
    >>> drawn = drawn_scene("A scene", Scene(("x", "y"), ((0.0, 1.0), (0.0, 1.0)), (line,), ("x", "y"), ()))
    >>> drawn.count("a line"), "M64.0 348.0L484.0 40.0" in drawn
    (1, True)
    """
    axes = Axes(*scene.spans)
    parts = axes.draw(title, *scene.labels, scene.x_names, scene.y_names)
    for layer in scene.layers:
        parts += SHAPES[layer.kind](layer, axes)
    if any(layer.kind in ("line", "area") for layer in scene.layers):
        parts.insert(0, FRAME)
    return picture([*parts, *legend(scene)])


def at(axes: Axes, point: Point) -> str:
    return "{:.1f} {:.1f}".format(*axes.at(*point))


def lines(layer: Layer, axes: Axes) -> list[str]:
    path = "".join("M" + "L".join(at(axes, point) for point in piece) for piece in layer.pieces)
    style = ' stroke-dasharray="6 4"' if layer.dashed else ""
    style += f' stroke-opacity="{FAINT}"' if layer.faint else ""
    shade = on_paper(layer.number)
    return [f'<path d="{path}" fill="none" stroke="{shade}" stroke-width="1.6"{style} clip-path="url(#frame)"/>']


def areas(layer: Layer, axes: Axes) -> list[str]:
    path = "".join("M" + "L".join(at(axes, point) for point in piece) + "Z" for piece in layer.pieces)
    style = f' fill-opacity="{FAINT / 2:g}"' if layer.faint else ""
    return [f'<path d="{path}" fill="{on_paper(layer.number)}"{style} clip-path="url(#frame)"/>']


def points(layer: Layer, axes: Axes) -> list[str]:
    dots = "".join(f"M{at(axes, point)}h0" for point in layer.places)
    return [f'<path d="{dots}" stroke="{on_paper(layer.number)}" stroke-width="4.5" stroke-linecap="round"/>']


def crosses(layer: Layer, axes: Axes) -> list[str]:
    found = "".join("M{:.1f} {:.1f}l5 5m0-5l-5 5".format(*(v - 2.5 for v in axes.at(*p))) for p in layer.places)
    return [f'<path d="{found}" stroke="{on_paper(layer.number)}" stroke-width="1.3" fill="none"/>']


def bars(layer: Layer, axes: Axes) -> list[str]:
    found = []
    for value, place in layer.places:
        (left, y), (right, _) = axes.at(0.0, place), axes.at(value, place)
        size = f'x="{left:.1f}" y="{y - THICK / 2:.1f}" width="{right - left:.1f}" height="{THICK}"'
        found.append(f'<rect {size} fill="{on_paper(layer.number)}"/>')
    return found


def tiles(layer: Layer, axes: Axes) -> list[str]:
    known = [value for value in layer.values if value is not None]
    low, high = min(known), max(known)
    found = []
    for (x, y), value, word in zip(layer.places, layer.values, layer.texts, strict=True):
        (left, top), (right, bottom) = axes.at(x - 0.5, y - 0.5), axes.at(x + 0.5, y + 0.5)
        size = f'x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{bottom - top:.1f}"'
        dark = 0.0 if value is None else 0.1 + 0.9 * (high - value) / (high - low or 1.0)
        shade = LIGHT["zero"] if value is None else LIGHT["high"]
        found.append(f'<rect {size} fill="{LIGHT["panel"]}" stroke="{LIGHT["panel"]}"/>')
        found.append(f'<rect {size} fill="{shade}" fill-opacity="{dark if value is not None else 1:.2f}"/>')
        ink = LIGHT["panel"] if dark > 0.5 else LIGHT["muted"] if value is None else LIGHT["ink"]
        found.append(text((left + right) / 2, (top + bottom) / 2 + 4, word, colour=ink))
    return found


def words(layer: Layer, axes: Axes) -> list[str]:
    found = []
    for point, word in zip(layer.places, layer.texts, strict=True):
        x, y = axes.at(*point)
        found.append(text(x + 5, y + 4, word, "start"))
    return found


SHAPES: dict[str, Callable[[Layer, Axes], list[str]]] = {
    "line": lines,
    "area": areas,
    "points": points,
    "crosses": crosses,
    "bars": bars,
    "tiles": tiles,
    "words": words,
}


def legend(scene: Scene) -> list[str]:
    """The names of layers in a line below the title, in the middle."""
    named = [layer for layer in scene.layers if layer.name]
    wide = [30 + LETTER * len(layer.name) for layer in named]
    x, parts = (WIDTH - sum(wide)) / 2 + 8, []
    for layer, width in zip(named, wide, strict=True):
        shade = on_paper(layer.number)
        if layer.kind == "crosses":
            parts.append(f'<path d="M{x + 3:.1f} 29.5l5 5m0-5l-5 5" stroke="{shade}" stroke-width="1.3" fill="none"/>')
        elif layer.kind == "points":
            parts.append(f'<path d="M{x + 6:.1f} 32h0" stroke="{shade}" stroke-width="4.5" stroke-linecap="round"/>')
        else:
            high = 2 if layer.kind == "line" else 8
            parts.append(f'<rect x="{x:.1f}" y="{32 - high / 2:g}" width="12" height="{high}" fill="{shade}"/>')
        parts.append(text(x + 16, 36, layer.name, "start"))
        x += width
    return parts
