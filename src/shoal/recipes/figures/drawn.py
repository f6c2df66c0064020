"""Panels of figures as small SVG texts: mean curves of cells over rounds, traffic, maps and scenes."""

from __future__ import annotations

from collections.abc import Callable

from shoal.recipes.figures.drawn_scenes import drawn_scene, on_paper
from shoal.recipes.figures.mean_curves import SHOWN, curves_of
from shoal.recipes.figures.points import TRAFFIC, groups_of, maps_of, spots
from shoal.recipes.figures.scene_of import is_scene, scene_of
from shoal.recipes.figures.spans import span
from shoal.recipes.judging.relations import Known
from shoal.recipes.records import Panel, Table
from shoal.report.svg import HEIGHT, LEFT, RIGHT, TOP, WIDTH, Axes, picture, rule, text

__all__ = ["drawings", "file_name"]

NAME, LETTER = 12, 6.5  # pixels of a name in a picture: high, and wide for each letter
LINE, KEY = 15, 24  # pixels of the legend: between lines, and before names
DASHES = ("", "6 3", "2 3")
TILES = 6  # maps of a picture at most, in two rows


def drawings(table: Table, known: Known) -> dict[str, str]:
    """The panels of which something was run, by the names of their files.

    Args:
        table: A figure, or a table with panels.
        known: All cells with what is stored of them.

    Returns:
        SVG texts.
    """
    found = {}
    for number, panel in enumerate(table.panels):
        picture_ = drawn_panel(panel, known)
        if picture_:
            found[file_name(table, number)] = picture_
    return found


def file_name(table: Table, number: int) -> str:
    """Of the picture of a panel, which counts from 0.

    >>> file_name(Table("cfl/fig1", "Two toys"), 1)
    'cfl-fig1-1.svg'
    """
    return f"{table.name.replace('/', '-')}-{number}.svg"


def drawn_panel(panel: Panel, known: Known) -> str:
    """One panel of any kind; empty if nothing of it was run."""
    if is_scene(panel):
        scene = scene_of(panel, known)
        return drawn_scene(panel.title, scene) if scene is not None else ""
    return DRAWN.get(panel.curve, drawing)(panel, known)


def drawing(panel: Panel, known: Known) -> str:
    """Curves over rounds; empty if none of its cells was run."""
    curves = curves_of(panel, known)
    if not curves:
        return ""
    last = max(t for _, _, points in curves for t, _ in points)
    axes = Axes((0.0, float(last)), span([v for _, _, points in curves for _, v in points]))
    parts = axes.draw(panel.title, "round", SHOWN[panel.curve][0])
    rising = panel.curve in ("accuracy", "ari")  # such curves leave room below, others above
    top = HEIGHT - 62 - LINE * (len(curves) - 1) if rising else TOP + 14
    widest = KEY + LETTER * max(len(name) for _, name, _ in curves)
    left = min(LEFT + 0.62 * (WIDTH - LEFT - RIGHT), WIDTH - widest)  # the legend begins here
    for place, (k, name, points) in enumerate(curves):
        shade, dashes = on_paper(k), DASHES[k // 10 % len(DASHES)]
        path = " ".join("{:.1f},{:.1f}".format(*axes.at(*point)) for point in points)
        style = f' stroke-dasharray="{dashes}"' if dashes else ""
        parts.append(f'<polyline points="{path}" fill="none" stroke="{shade}" stroke-width="1.6"{style}/>')
        y = top + LINE * place
        parts += [rule(left, y - 4, left + 18, y - 4, shade, 2), text(left + KEY, y, name, "start")]
    return picture(parts)


def traffic(panel: Panel, known: Known) -> str:
    """Best accuracy over models sent, a point for each cell."""
    found = spots(panel, known)
    if not found:
        return ""
    right = 1.25 * max(spot.x for spot in found)  # names stand on the right of points
    axes = Axes((0.0, right), span([spot.y for spot in found]))
    parts = axes.draw(panel.title, *TRAFFIC)
    taken: list[tuple[float, float, float]] = []
    for spot in sorted(found, key=lambda spot: -spot.y):
        (x, y), shade = axes.at(spot.x, spot.y), on_paper(spot.number)
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{shade}"/>')
        parts.append(text(*free_place(x + 7, y + 4, spot.name, taken), spot.name, "start", colour=shade))
    return picture(parts)


def free_place(x: float, y: float, name: str, taken: list[tuple[float, float, float]]) -> tuple[float, float]:
    """Where a name begins so that it covers no other one: as wished, or below; the place is taken from then on.

    >>> taken = []
    >>> [free_place(0, 10, "ab", taken), free_place(5, 12, "cd", taken), free_place(50, 12, "ef", taken)]
    [(0, 10), (5, 22), (50, 12)]
    """
    while near := next((b for a, b, c in taken if a < x + LETTER * len(name) and x < c and abs(y - b) < NAME), None):
        y = near + NAME
    taken.append((x, y, x + LETTER * len(name)))
    return x, y


def maps(panel: Panel, known: Known) -> str:
    """Up to six maps of clients, coloured by group."""
    found = maps_of(panel, known)[:TILES]
    if not found:
        return ""
    parts = [text(WIDTH / 2, 22, panel.title, size=14)]
    columns = max(2, -(-len(found) // 2))
    wide, high = WIDTH / columns, (HEIGHT - TOP) / 2
    half, dot = 0.42 * min(wide, high), 4 if columns == 2 else 3
    for number, one in enumerate(found):
        row, column = divmod(number, columns)
        middle, centre = (column + 0.5) * wide, TOP + (row + 0.54) * high
        parts.append(text(middle, TOP + row * high + 8, f"round {one['round']}"))
        for group, places in groups_of(one).items():
            dots = "".join(f"M{middle + half * x / 100:.1f} {centre - half * y / 100:.1f}h0" for x, y in places)
            parts.append(f'<path d="{dots}" stroke="{on_paper(group)}" stroke-width="{dot}" stroke-linecap="round"/>')
    return picture(parts)


DRAWN: dict[str, Callable[[Panel, Known], str]] = {"traffic": traffic, "maps": maps}
