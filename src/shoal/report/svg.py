"""Small pictures as SVG text: a density of points, lines over logarithmic axes, a matrix. No library is needed."""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

from shoal.types import Array

WIDTH, HEIGHT = 520, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 36, 40, 52
COLOURS = ("#1b6ca8", "#c8553d", "#3f7d45", "#7b4b94", "#8a6d1d")
BINS = 56
ENDS = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)  # where an axis may end


class Axes:
    """A frame with ticks; maps data to places of the picture."""

    def __init__(self, x: tuple[float, float], y: tuple[float, float], log: bool = False) -> None:
        self.x, self.y, self.log = x, y, log

    def at(self, x: float, y: float) -> tuple[float, float]:
        across, up = share(x, self.x, self.log), share(y, self.y, self.log)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)

    def draw(
        self, title: str, x_label: str, y_label: str, x_names: Sequence[str] = (), y_names: Sequence[str] = ()
    ) -> list[str]:
        """The frame, with numbers at the ticks, or with names at 0, 1, 2 and so on."""
        right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
        parts = [text(WIDTH / 2, 22, title, size=14)]
        for value, word in marks(self.x, self.log, x_names):
            x, _ = self.at(value, self.y[0])
            parts += [rule(x, TOP, x, bottom, "#e4e4e4"), text(x, bottom + 17, word)]
        for value, word in marks(self.y, self.log, y_names):
            _, y = self.at(self.x[0], value)
            parts += [rule(LEFT, y, right, y, "#e4e4e4"), text(LEFT - 6, y + 4, word, "end")]
        parts += [rule(LEFT, bottom, right, bottom, "#555"), rule(LEFT, TOP, LEFT, bottom, "#555")]
        middle = (TOP + bottom) / 2
        parts.append(text((LEFT + right) / 2, HEIGHT - 14, x_label))
        parts.append(f'<g transform="translate(16 {middle:g}) rotate(-90)">{text(0, 0, y_label)}</g>')
        return parts


def density(x: Array, y: Array, line: tuple[float, float], title: str, x_label: str, y_label: str) -> str:
    """Many points as a density, darker where there are more, and a straight line (slope, intercept) over them.

    >>> density(np.array([0.0, 1.0]), np.array([0.0, 1.0]), (1.0, 0.0), "t", "x", "y").count("<rect")
    3
    """
    axes = Axes((0.0, round_up(float(x.max()), ENDS)), (0.0, round_up(float(y.max()), ENDS)))
    counts, x_edges, y_edges = np.histogram2d(x, y, BINS, (axes.x, axes.y))
    parts = axes.draw(title, x_label, y_label)
    for i, j in zip(*np.nonzero(counts), strict=True):
        (left, low), (right, high) = axes.at(x_edges[i], y_edges[j]), axes.at(x_edges[i + 1], y_edges[j + 1])
        shade = 0.15 + 0.85 * math.log1p(counts[i, j]) / math.log1p(counts.max())
        parts.append(
            f'<rect x="{left:.1f}" y="{high:.1f}" width="{right - left:.1f}" height="{low - high:.1f}" '
            f'fill="{COLOURS[0]}" fill-opacity="{shade:.2f}"/>'
        )
    slope, base = line
    ends = [axes.at(v, min(max(slope * v + base, axes.y[0]), axes.y[1])) for v in (float(x.min()), float(x.max()))]
    parts.append(rule(*ends[0], *ends[1], COLOURS[1], 2))
    return picture(parts)


def lines(x: Sequence[float], series: Mapping[str, Sequence[float]], title: str, x_label: str, y_label: str) -> str:
    """One line per series over a common x, both axes logarithmic; values that are not finite and positive are left out.

    >>> "<polyline" in lines([10, 100], {"a": [1.0, 2.0]}, "t", "x", "y")
    True
    """
    shown = [v for values in series.values() for v in values if math.isfinite(v) and v > 0] or [1.0]
    axes = Axes(decades(x), decades(shown), log=True)
    parts = axes.draw(title, x_label, y_label)
    for colour, (name, values) in zip(COLOURS, series.items(), strict=False):
        points = [axes.at(a, b) for a, b in zip(x, values, strict=True) if math.isfinite(b) and b > 0]
        if not points:
            continue
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>' for a, b in points]
        a, b = points[-1]
        parts.append(text(a + 7, b + 4, name, "start", colour=colour))
    return picture(parts)


def matrix(values_NN: Array, title: str, note: str) -> str:
    """A square matrix of numbers from -1 (red) through 0 (white) to 1 (blue).

    >>> matrix(np.eye(2), "t", "n").count("<image")
    1
    """
    side = HEIGHT - TOP - BOTTOM + 20
    left = (WIDTH - side) / 2
    data = base64.b64encode(png(colours(values_NN))).decode()
    image = f'<image x="{left:g}" y="{TOP}" width="{side}" height="{side}" preserveAspectRatio="none" '
    image += f'style="image-rendering: pixelated" href="data:image/png;base64,{data}"/>'
    return picture([text(WIDTH / 2, 22, title, size=14), image, text(WIDTH / 2, HEIGHT - 12, note)])


def colours(values_NN: Array) -> Array:
    """Bytes of red, green and blue for numbers from -1 to 1."""
    v = np.clip(np.asarray(values_NN, np.float64), -1, 1)[..., None]
    blue, red = np.array([27, 108, 168]), np.array([200, 85, 61])
    mixed = np.where(v >= 0, 255 + v * (blue - 255), 255 - v * (red - 255))
    return np.asarray(mixed.round().astype(np.uint8))


def png(rgb_HW3: Array) -> bytes:
    """The bytes of a PNG file.

    >>> png(np.zeros((1, 1, 3), np.uint8))[:8]
    b'\\x89PNG\\r\\n\\x1a\\n'
    """
    height, width, _ = rgb_HW3.shape
    rows = b"".join(b"\0" + row.tobytes() for row in np.ascontiguousarray(rgb_HW3))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    packed = [
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in chunks
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)


def picture(parts: Sequence[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
    head += 'font-family="sans-serif">'
    return "\n".join([head, f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>', *parts, "</svg>"]) + "\n"


def text(x: float, y: float, words: str, anchor: str = "middle", size: int = 11, colour: str = "#333") -> str:
    at = f'x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}"'
    return f"<text {at}>{escape(words)}</text>"


def rule(x1: float, y1: float, x2: float, y2: float, colour: str, width: float = 1) -> str:
    return f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="{colour}" stroke-width="{width:g}" fill="none"/>'


def share(value: float, span: tuple[float, float], log: bool) -> float:
    """Where a value stands between two ends, from 0 to 1."""
    low, high, v = (math.log10(s) if log else s for s in (*span, value))
    return (v - low) / (high - low)


def marks(span: tuple[float, float], log: bool, names: Sequence[str]) -> list[tuple[float, str]]:
    """Where an axis has ticks, and what stands there.

    >>> marks((0.0, 2.0), False, ()), marks((-0.5, 1.5), False, ("a", "b"))
    ([(0.0, '0'), (0.5, '0.5'), (1.0, '1'), (1.5, '1.5'), (2.0, '2')], [(0.0, 'a'), (1.0, 'b')])
    """
    if names:
        return [(float(k), name) for k, name in enumerate(names)]
    return [(value, short(value)) for value in ticks(span, log)]


def ticks(span: tuple[float, float], log: bool) -> list[float]:
    """Round numbers inside a span.

    >>> ticks((0.0, 0.5), False), ticks((10.0, 1000.0), True)
    ([0.0, 0.1, 0.2, 0.3, 0.4, 0.5], [10.0, 100.0, 1000.0])
    """
    low, high = span
    if log:
        first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
        return [10.0**e for e in range(first, last + 1)]
    step = round_up((high - low) / 6)
    return [round(i * step, 10) for i in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def round_up(value: float, steps: Sequence[float] = (1, 2, 5, 10)) -> float:
    """The next number that is one of the steps times a power of ten.

    >>> round_up(0.31), round_up(7.0), round_up(0.0)
    (0.5, 10.0, 1.0)
    """
    if value <= 0:
        return 1.0
    unit = 10.0 ** math.floor(math.log10(value))
    return next(round(f * unit, 12) for f in steps if f * unit >= value * (1 - 1e-9))


def decades(values: Sequence[float]) -> tuple[float, float]:
    """Powers of ten around some numbers.

    >>> decades([7850, 407050])
    (1000.0, 1000000.0)
    """
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return 10.0**low, 10.0 ** max(high, low + 1)


def short(value: float) -> str:
    """A number for an axis.

    >>> short(0.25), short(1000.0), short(1e6)
    ('0.25', '1,000', '1,000,000')
    """
    return f"{value:,.0f}" if value == round(value) else f"{value:g}"
