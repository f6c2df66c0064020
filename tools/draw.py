"""The picture of the import graph: packages as boxes in layers, an arrow from whoever imports to what is imported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from pathlib import Path

from tools.imports import PACKAGE, Edges, Graph, declared_layers, layers, package_of, packages, reachable

WIDE, HIGH, GAP, ROW, EDGE = 136, 38, 14, 70, 16  # a box, the room between boxes, from layer to layer, the margin
BEND = 9  # the room that a passing arrow takes in a layer
STYLE = """
  text { font-family: system-ui, sans-serif; text-anchor: middle; fill: #1b2a38 }
  .name { font-size: 14px; font-weight: 600 } .size { font-size: 10.5px; fill: #51626f }
  .box { fill: #e8f1f8; stroke: #5b87a8; stroke-width: 1.2 }
  .arrow { fill: none; stroke: #7c919f; stroke-width: 1.2 } .back { stroke: #c0392b; stroke-dasharray: 5 3 }
"""
Node = tuple[
    str, str, int
]  # who imports, what, and at which height its arrow passes; a package alone is (name, "", its)


@dataclass(frozen=True)
class Placed:
    """Where everything stands: the middle of every node, and the size of the picture."""

    x: Mapping[Node, float]
    y: Mapping[int, float]
    width: float
    height: float


def draw(graph: Graph, pyproject: Path) -> str:
    """The picture as SVG.

    Arrows that others imply are left out, and those into the bottom row, which everybody may import. What points
    up, against the layers, is dashed in red.

    Args:
        graph: The modules and their imports.
        pyproject: The file whose import contract says which layer a package is in; else the imports say.

    Returns:
        The text of an SVG file.
    """
    edges = {name: below - {PACKAGE} for name, below in packages(graph).items() if name != PACKAGE}
    height = declared_layers(pyproject, edges.keys()) or layers(edges)
    up = {name: {b for b in below if height[b] >= height[name]} for name, below in edges.items()}
    down = reduced({name: below - up[name] for name, below in edges.items()})
    shown = {name: up[name] | {b for b in down[name] if height[b]} for name in edges}
    placed = place(height, shown)
    body = [arrow(a, b, height, placed) for a in shown for b in sorted(shown[a])]
    for name, h in height.items():
        lines = [n for module, n in graph.lines.items() if package_of(module) == name]
        body.append(box(name, len(lines), sum(lines), placed.x[name, "", h], placed.y[h]))
    width, tall = round(placed.width), round(placed.height)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {tall}" width="{width}" height="{tall}" '
        f'role="img"><title>Packages of {PACKAGE} and their imports</title><style>{STYLE}</style>'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="#7c919f"/></marker></defs>'
        f'<rect width="{width}" height="{tall}" fill="#fff"/>'
    )
    return "\n".join([head, *body, "</svg>"]) + "\n"


def reduced(edges: Edges) -> Edges:
    """The edges of a graph without cycles, without those that a longer way implies.

    >>> {node: sorted(below) for node, below in reduced({"a": {"b", "c"}, "b": {"c"}, "c": set()}).items()}
    {'a': ['b'], 'b': ['c'], 'c': []}
    """
    reach = {node: reachable(node, edges) for node in edges}
    return {node: {b for b in below if not any(b in reach[c] for c in below - {b})} for node, below in edges.items()}


def place(height: Mapping[str, int], edges: Edges) -> Placed:
    """Rows from top to bottom; in a row neighbours are near what they are tied to, so that few arrows cross."""
    top = max(height.values())
    rows: list[list[Node]] = [[(n, "", h) for n, h in height.items() if h == level] for level in range(top + 1)]
    ties: dict[Node, list[Node]] = {node: [] for row in rows for node in row}
    for a in edges:
        for b in sorted(edges[a]):
            way = route(a, b, height)
            for node in way[1:-1]:
                rows[node[2]].append(node)
                ties[node] = []
            for upper, lower in pairwise(way):
                ties[upper].append(lower)
                ties[lower].append(upper)
    x: dict[Node, float] = {}
    for row in rows:
        x |= spread(row)
    for sweep in range(24):
        for row in rows if sweep % 2 else rows[::-1]:
            row.sort(key=lambda n: sum(x[t] for t in ties[n]) / len(ties[n]) if ties[n] else x[n])
            x |= spread(
                row, {n: sum(x[t] for t in ties[n]) / len(ties[n]) for n in row if ties[n]} if sweep > 8 else {}
            )
    left = min(x[n] - room(n) / 2 for n in x)
    width = max(x[n] + room(n) / 2 for n in x) - left
    y = {level: EDGE + HIGH / 2 + (top - level) * ROW for level in range(top + 1)}
    return Placed({n: at - left + EDGE for n, at in x.items()}, y, width + 2 * EDGE, top * ROW + HIGH + 2 * EDGE)


def route(a: str, b: str, height: Mapping[str, int]) -> list[Node]:
    """The nodes an arrow passes; one place in every layer between its ends."""
    between = [(a, b, level) for level in range(height[a] - 1, height[b], -1)]
    return [(a, "", height[a]), *between, (b, "", height[b])]


def room(node: Node) -> float:
    return BEND if node[1] else WIDE + GAP


def spread(row: list[Node], wanted: Mapping[Node, float] | None = None) -> dict[Node, float]:
    """Places of a row in its order, as near to those wanted as the room allows; by default side by side round 0."""
    ends = [0.0]
    for node in row:
        ends.append(ends[-1] + room(node))
    middles = {node: end + room(node) / 2 - ends[-1] / 2 for node, end in zip(row, ends, strict=False)}
    if not wanted:
        return middles
    # isotonic regression by pooling: how far each wants to stand from its packed place must not fall along the row
    pools: list[list[float]] = []
    for node in row:
        pools.append([wanted.get(node, middles[node]) - middles[node]])
        while len(pools) > 1 and mean(pools[-2]) > mean(pools[-1]):
            last = pools.pop()
            pools[-1] += last
    moves = [mean(pool) for pool in pools for _ in pool]
    return {node: middles[node] + move for node, move in zip(row, moves, strict=True)}


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def arrow(a: str, b: str, height: Mapping[str, int], placed: Placed) -> str:
    """A curve from the lower edge of one box to the upper edge of another, straight down past those between."""
    way = [(placed.x[node], placed.y[node[2]]) for node in route(a, b, height)]
    if height[a] <= height[b]:
        (x, y), (u, v) = way
        over = HIGH / 2 + 26
        path = f"M{x:.0f} {y - HIGH / 2:.0f}C{x:.0f} {y - over:.0f} {u:.0f} {v - over:.0f} {u:.0f} {v - HIGH / 2:.0f}"
        kind = "arrow back" if height[a] < height[b] else "arrow"
        return f'<path class="{kind}" marker-end="url(#tip)" d="{path}"/>'
    (x, y), *between, (u, v) = way
    path, y = f"M{x:.0f} {y + HIGH / 2:.0f}", y + HIGH / 2
    for p, q in [*between, (u, v)]:
        mid = (y + q - HIGH / 2) / 2
        path += f"C{x:.0f} {mid:.0f} {p:.0f} {mid:.0f} {p:.0f} {q - HIGH / 2:.0f}"
        x, y = p, q - HIGH / 2
        if (p, q) != (u, v):
            path, y = f"{path}V{q + HIGH / 2:.0f}", q + HIGH / 2
    return f'<path class="arrow" marker-end="url(#tip)" d="{path}"/>'


def box(name: str, modules: int, lines: int, x: float, y: float) -> str:
    size = f"{modules} modules, {lines:,} lines" if modules > 1 else f"{lines:,} lines"
    return (
        f'<rect class="box" x="{x - WIDE / 2:.0f}" y="{y - HIGH / 2:.0f}" width="{WIDE}" height="{HIGH}" rx="6"/>'
        f'<text class="name" x="{x:.0f}" y="{y - 3:.0f}">{escape(name)}</text>'
        f'<text class="size" x="{x:.0f}" y="{y + 13:.0f}">{size}</text>'
    )
