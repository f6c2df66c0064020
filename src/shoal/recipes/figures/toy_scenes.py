"""Figures 1 and 2 of CFL's paper, drawn from the toys that the tests use."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from shoal.recipes.figures.scenes import Layer, Point, Scene
from shoal.recipes.figures.toys import STEP, Client, Risks, contradicting, descend, xor

__all__ = ["congruent", "contradicting_labels", "federated_xor", "incongruent"]

WIDE, HIGH = (-2.4, 2.4), (-1.76, 1.76)  # of Figure 1; both axes have the same scale in a picture of the docs
AROUND = (-1.5, 3.5), (-1.0, 8 / 3)  # of Figure 2, likewise
CENTRES, CURVATURES, SIZES = np.array([[0.0, 0.0], [2.0, 0.0]]), np.array([1.0, 3.0]), np.array([7, 7])
RADIUS = 1.4  # of the discs of congruent clients, which overlap
LEVELS = (0.35, 0.7, 1.05, 1.4, 1.75)  # distances at which a risk has a contour
STOPS = (0, 2, 5, 10)  # rounds whose updates are drawn, beside the last
LONGER = 1.5  # than updates are, arrows are drawn
ROUNDS, SHOWN = 200, 20  # of the way, and those that are dots
NAMES, CLASSES = ("group 1", "group 2"), ("B", "A")


def points_scene(clients: Sequence[Client], lines: Sequence[Layer], caption: str) -> Scene:
    """Points of clients, coloured by group, as dots or crosses by label."""
    layers = list(lines)
    rows: list[list[str | float | int | None]] = []
    for group, shown in enumerate(NAMES):
        mine = [one for one in clients if one.group == group]
        for label, kind in ((1, "points"), (0, "crosses")):
            pairs = [pair for one in mine for pair in zip(one.points, one.labels, strict=True)]
            places = tuple(point for point, mark in pairs if mark == label)
            layers.append(
                Layer("points" if kind == "points" else "crosses", (places,), group, f"{shown}, class {CLASSES[label]}")
            )
            rows += [[shown, CLASSES[label], round(x, 3), round(y, 3)] for x, y in places]
    heads = ("clients of", "class", "x1", "x2")
    return Scene(("x1", "x2"), (WIDE, HIGH), tuple(layers), heads, rows, caption, equal=True)


def federated_xor() -> Scene:
    """Figure 1, left.

    Returns:
        Points, and the half lines that part the labels of each group.

    >>> len(federated_xor().rows)
    320
    """
    halves = [Layer("line", (((0.0, 0.0), (0.0, end)),), k, dashed=True) for k, end in enumerate((HIGH[1], HIGH[0]))]
    caption = "Dots are class A, crosses class B: XOR, which no line parts. Each group alone is parted by one."
    return points_scene(xor(), halves, caption)


def contradicting_labels() -> Scene:
    """Figure 1, right.

    Returns:
        Points, and the line that parts the labels of both groups, the one way or the other.

    >>> len(contradicting_labels().rows)
    160
    """
    way = ((HIGH[0], HIGH[1]), (HIGH[1], HIGH[0]))
    lines = (Layer("line", (way,), 0), Layer("line", (way,), 1, dashed=True))  # one over the other
    caption = (
        "Class A (dots) of one group is class B (crosses) of the other: no model fits both; a line parts each of them."
    )
    return points_scene(contradicting(), lines, caption)


def incongruent() -> Scene:
    """Figure 2, left.

    Returns:
        The way of federated learning to where both gradients are of positive length and opposite.

    >>> [row[1:] for row in incongruent().rows if row[0] == 200]
    [[1.5, 0.0, 0.15, 0.15]]
    """
    caption = (
        "It ends where the updates of both clients are as long as each other, and opposite: one model fits neither."
    )
    return descent_scene(Risks(CURVATURES, CENTRES), (-0.4, 2.3), caption)


def congruent() -> Scene:
    """Figure 2, right.

    Returns:
        The way of federated learning to where both gradients vanish.

    >>> [row[3:] for row in congruent().rows if row[0] == 200]
    [[0.0, 0.0]]
    """
    caption = "Both risks are least in the grey area. It ends there, and the updates of both clients go to zero."
    return descent_scene(Risks(CURVATURES, CENTRES, np.array([RADIUS, RADIUS])), (3.2, 2.4), caption)


def descent_scene(risks: Risks, start: Point, caption: str) -> Scene:
    """Contours of two risks, the way between, and updates as arrows."""
    radius = float(risks.radii_N[0])
    layers = [Layer("area", (lens(radius),), -1)] if radius else []
    for k, centre in enumerate(CENTRES):
        rings = tuple(arc(centre, radius + level, 0.0, 2 * math.pi) for level in LEVELS)
        layers.append(Layer("line", rings, k, faint=True))
        edge = Layer("line", (arc(centre, radius, 0.0, 2 * math.pi),), k)
        layers.append(edge if radius else Layer("crosses", ((as_point(centre),),), k))
    found = descend(risks, SIZES, start, ROUNDS)
    way = tuple(as_point(w_D) for w_D in found.path_TD)
    layers += [Layer("line", (way,), 3, "federated learning"), Layer("points", ((*way[:SHOWN], way[-1]),), 3)]
    updates = {t: -STEP * risks.gradients(found.path_TD[t]) for t in (*STOPS, ROUNDS)}
    for k in range(2):
        arrows = tuple(piece for t, rows_ND in updates.items() for piece in arrow(way[t], rows_ND[k]))
        layers.append(Layer("line", arrows, k, f"update of client {k + 1}"))
    rows: list[list[str | float | int | None]] = []
    for t in range(ROUNDS + 1):
        lengths = np.sqrt(((STEP * risks.gradients(found.path_TD[t])) ** 2).sum(1))
        rows.append([t, *(round(v, 2) + 0.0 for v in (*way[t], *lengths.tolist()))])
    heads = ("round", "w1", "w2", "length of update 1", "length of update 2")
    return Scene(("w1", "w2"), AROUND, tuple(layers), heads, rows, caption, equal=True)


def as_point(row_D: Sequence[float]) -> Point:
    return float(row_D[0]), float(row_D[1])


def arc(centre: Sequence[float], radius: float, begin: float, end: float, steps: int = 48) -> tuple[Point, ...]:
    """Points of a circle between two angles."""
    angles = [begin + (end - begin) * i / steps for i in range(steps + 1)]
    return tuple((float(centre[0]) + radius * math.cos(a), float(centre[1]) + radius * math.sin(a)) for a in angles)


def lens(radius: float) -> tuple[Point, ...]:
    """What both discs share."""
    half = math.acos((CENTRES[1, 0] - CENTRES[0, 0]) / 2 / radius)
    return (*arc(CENTRES[0], radius, -half, half), *arc(CENTRES[1], radius, math.pi - half, math.pi + half))


def arrow(tail: Point, update_D: Sequence[float]) -> tuple[tuple[Point, ...], ...]:
    """A shaft and its head; nothing if there is no update to speak of.

    >>> len(arrow((0.0, 0.0), (1.0, 0.0))), arrow((0.0, 0.0), (0.0, 0.0))
    (2, ())
    """
    dx, dy = LONGER * float(update_D[0]), LONGER * float(update_D[1])
    length = math.hypot(dx, dy)
    if length < 0.02:
        return ()
    tip, size = (tail[0] + dx, tail[1] + dy), min(0.12, length / 2) / length
    sides = ((tip[0] - size * (dx + s * 0.5 * dy), tip[1] - size * (dy - s * 0.5 * dx)) for s in (1, -1))
    left, right = sides
    return (tail, tip), (left, tip, right)
