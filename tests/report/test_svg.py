"""Pictures: well-formed, and everything where it belongs."""

from __future__ import annotations

import io
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from shoal.report.svg import Axes, colours, density, lines, matrix, png, ticks

SVG = "{http://www.w3.org/2000/svg}"


def test_places() -> None:
    axes = Axes((0.0, 2.0), (0.0, 1.0))
    assert axes.at(0.0, 0.0) == (64, 348)  # the corner
    assert axes.at(2.0, 1.0) == (484, 40)
    assert axes.at(1.0, 0.5) == (274, 194)
    assert Axes((1.0, 100.0), (1.0, 100.0), log=True).at(10.0, 10.0) == (274, 194)


def test_ticks_are_round() -> None:
    assert ticks((0.0, 0.3), False) == [0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3]
    assert ticks((1000.0, 1e6), True) == [1e3, 1e4, 1e5, 1e6]


def test_a_density_counts_every_point() -> None:
    x = np.array([0.1, 0.1, 0.9])
    root = ElementTree.fromstring(density(x, x, (1.0, 0.0), "a < b", "x", "y"))
    boxes = root.findall(f"{SVG}rect")[1:]
    assert sorted(float(b.get("fill-opacity", 0)) for b in boxes) == [0.69, 1.0]  # 0.15 + 0.85 log 2 / log 3
    assert root.find(f"{SVG}text").text == "a < b"  # type: ignore[union-attr]


def test_lines_leave_out_what_cannot_be_drawn() -> None:
    root = ElementTree.fromstring(
        lines([10, 100, 1000], {"a": [1.0, float("inf"), 5.0], "b": [0.0] * 3}, "t", "x", "y")
    )
    [line] = root.findall(f"{SVG}polyline")
    assert len(line.get("points", "").split()) == 2


def test_colours_and_png() -> None:
    rgb = colours(np.array([[-1.0, 0.0], [1.0, 2.0]]))
    assert rgb.tolist() == [[[200, 85, 61], [255, 255, 255]], [[27, 108, 168], [27, 108, 168]]]
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(png(rgb)))), rgb)
    ElementTree.fromstring(matrix(np.eye(3), "t", "n"))


def test_constant_points_can_be_drawn() -> None:
    ElementTree.fromstring(density(np.zeros(3), np.zeros(3), (0.0, 0.0), "t", "x", "y"))
    with pytest.raises(ValueError, match="zip"):
        lines([1], {"a": [1.0, 2.0]}, "t", "x", "y")
