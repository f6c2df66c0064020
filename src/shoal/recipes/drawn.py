"""Panels of figures as small SVG texts: mean curves of cells over rounds."""

from __future__ import annotations

from shoal.recipes.mean_curves import SHOWN, curve_name, mean_curve
from shoal.recipes.records import Panel, Table
from shoal.recipes.relations import Known
from shoal.recipes.store import differs
from shoal.report.figure import LIGHT
from shoal.report.svg import HEIGHT, LEFT, RIGHT, TOP, WIDTH, Axes, picture, round_up, rule, text

__all__ = ["drawings"]

LINE = 15  # pixels between lines of the legend
COLOURS = [LIGHT[f"g{k}"] for k in range(10)]
DASHES = ("", "6 3", "2 3")


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
        picture_ = drawing(panel, known)
        if picture_:
            found[f"{table.name.replace('/', '-')}-{number}.svg"] = picture_
    return found


def drawing(panel: Panel, known: Known) -> str:
    """One panel; empty if none of its cells was run."""
    unit, scale = SHOWN[panel.curve]
    curves = []
    for k, name in enumerate(panel.cells):
        cell, result = known[name]
        found = mean_curve(result, panel.curve) if result is not None and differs(cell, result) is None else []
        if found:
            curves.append((k, curve_name(name, panel.cells), [(float(t), scale * v) for t, v in found]))
    if not curves:
        return ""
    values = [v for _, _, points in curves for _, v in points]
    step = round_up((max(values) - min(values)) / 5 or 1.0)
    low, high = step * (min(values) // step), step * -(-max(values) // step)
    last = max(t for _, _, points in curves for t, _ in points)
    axes = Axes((0.0, last), (low, high if high > low else low + step))
    parts = axes.draw(panel.title, "round", unit)
    rising = panel.curve in ("accuracy", "ari")  # such curves leave room below, others above
    top = HEIGHT - 62 - LINE * (len(curves) - 1) if rising else TOP + 14
    for place, (k, name, points) in enumerate(curves):
        colour, dashes = COLOURS[k % 10], DASHES[k // 10 % len(DASHES)]
        path = " ".join("{:.1f},{:.1f}".format(*axes.at(*point)) for point in points)
        style = f' stroke-dasharray="{dashes}"' if dashes else ""
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.6"{style}/>')
        y, x = top + LINE * place, LEFT + 0.62 * (WIDTH - LEFT - RIGHT)
        parts += [rule(x, y - 4, x + 18, y - 4, colour, 2), text(x + 24, y, name, "start")]
    return picture(parts)
