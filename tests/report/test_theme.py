"""Colours of groups and settings: told apart by readers who see all colours, and who do not."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from shoal.report.theme import THEMES, colour, dash, symbol
from shoal.types import Array

# What is left of linear red, green and blue for readers without one kind of cones: Machado, Oliveira and Fernandes
# (2009), severity 1.
SEEN = {
    "all": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "no red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
}


def linear(colour: str) -> Array:
    share = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def lab(rgb: Array) -> Array:
    """CIELAB under daylight, in which a distance of about 2 is just seen."""
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ np.clip(rgb, 0, 1) / np.array([0.95047, 1, 1.08883])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("seen", "least"), [("all", 40), ("no red", 20), ("no green", 20)])
def test_the_first_six_colours_are_told_apart(theme: str, seen: str, least: float) -> None:
    shown = [lab(np.array(SEEN[seen]) @ linear(THEMES[theme][colour(k)[1:]])) for k in range(6)]
    assert min(float(np.linalg.norm(a - b)) for a, b in combinations(shown, 2)) > least


def test_what_is_close_in_colour_differs_in_dash_and_marker() -> None:
    """Thirty groups: no two have the same colour and dash, ten no two the same marker."""
    assert len({(colour(k), dash(k)) for k in range(30)}) == 30
    assert len({symbol(k) for k in range(10)}) == 10
    assert dash(0) != dash(1) != dash(2)


def test_both_themes_name_the_same_colours() -> None:
    assert THEMES["light"].keys() == THEMES["dark"].keys()
