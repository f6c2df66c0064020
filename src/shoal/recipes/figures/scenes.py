"""What a panel shows that is neither a curve over rounds nor a map, for the docs and for pages of HTML alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["Layer", "Scene"]

Point = tuple[float, float]
Span = tuple[float, float]


@dataclass(frozen=True)
class Layer:
    """Shapes of one colour.

    Attributes:
        kind: `line`, `area`, `points`, `crosses`, `bars` (from zero to x, one below the other at y), `tiles` of a grid,
            or `words`.
        pieces: Lines, outlines of areas, or places of the others.
        number: Of the colour, as in all figures; -1: grey.
        name: In the legend; empty: not there.
        faint: Whether it stands back.
        dashed: Of lines.
        texts: Of words, tiles and points, one for each place; of points, pages of HTML show them under the pointer.
        values: Of tiles, which decide how dark they are; None: nothing is known.

    >>> Layer("line", (((0.0, 0.0), (1.0, 2.0)),), 0).places
    [(0.0, 0.0), (1.0, 2.0)]
    """

    kind: Literal["line", "area", "points", "crosses", "bars", "tiles", "words"]
    pieces: tuple[tuple[Point, ...], ...]
    number: int = 0
    name: str = ""
    faint: bool = False
    dashed: bool = False
    texts: tuple[str, ...] = ()
    values: tuple[float | None, ...] = ()

    @property
    def places(self) -> list[Point]:
        """All places, piece by piece."""
        return [point for piece in self.pieces for point in piece]


@dataclass(frozen=True)
class Scene:
    """Layers over two axes, and the table behind them.

    Attributes:
        labels: Of both axes, with units.
        spans: Of both axes.
        layers: From back to front.
        columns: Heads of the table.
        rows: The same numbers as a table.
        caption: How to read it.
        x_names: What stands at 0, 1, 2 on the first axis instead of numbers.
        y_names: The same of the second axis, which then runs downwards.
        equal: Whether both axes have the same scale.

    >>> Scene(("x", "y"), ((0.0, 1.0), (0.0, 1.0)), (), ("x", "y"), ()).equal
    False
    """

    labels: tuple[str, str]
    spans: tuple[Span, Span]
    layers: tuple[Layer, ...]
    columns: tuple[str, ...]
    rows: Sequence[Sequence[str | float | int | None]]
    caption: str = ""
    x_names: tuple[str, ...] = ()
    y_names: tuple[str, ...] = ()
    equal: bool = False
