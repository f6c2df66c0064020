"""The colours of both themes, and how groups and settings are told apart: by colour, dash and marker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["DARK", "LIGHT", "THEMES", "colour", "dash", "symbol", "themed"]

# Ten colours that groups and settings have in turn, of light and of dark pages: after those of Okabe and Ito, with more
# difference in lightness, so that the first six stay apart for readers who do not tell red from green.
ON_LIGHT = "#0072b2 #c9480b #35b597 #6b2350 #e3a90c #8b6a4a #9d8ff0 #d987bd #55741c #7f868f"
ON_DARK = "#3f9fe0 #ee7633 #7fe6c8 #b45a8e #ffd84d #bf9668 #c3b6ff #f06fc0 #7fa63a #aeb4bd"


def numbered(colours: str) -> dict[str, str]:
    """
    >>> numbered("#0072b2 #c9480b")
    {'g0': '#0072b2', 'g1': '#c9480b'}
    """
    return {f"g{k}": found for k, found in enumerate(colours.split())}


LIGHT = {
    "ink": "#1c2330",
    "muted": "#667085",
    "grid": "#e6e9ee",
    "line": "#c9ced8",
    "page": "#f6f7f9",
    "panel": "#ffffff",
    "accent": "#0b6aa8",
    "low": "#b4530a",
    "zero": "#f3f4f6",
    "high": "#0b5c94",
    "warn": "#b4232a",
    **numbered(ON_LIGHT),
}
DARK = {
    "ink": "#e8ebf0",
    "muted": "#9aa4b5",
    "grid": "#2b323d",
    "line": "#414a58",
    "page": "#11151b",
    "panel": "#191f27",
    "accent": "#58b0ea",
    "low": "#ef9a52",
    "zero": "#232a34",
    "high": "#5ab4ee",
    "warn": "#ff7b7b",
    **numbered(ON_DARK),
}
THEMES = {"light": LIGHT, "dark": DARK}
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "star", "hexagon", "triangle-down", "x", "pentagon")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
TINTS = {"faint": 0.18, "soft": 0.42}  # `@g0:soft` is the colour with this opacity


def themed(value: Any, theme: Mapping[str, str]) -> Any:
    """A specification with its colour tokens replaced by those of a theme.

    Args:
        value: A specification, or a part of one.
        theme: Colours by token.

    Returns:
        The same, with colours.

    >>> themed({"line": {"color": "@g0"}, "fillcolor": "@g0:faint"}, {"g0": "#0072b2"})
    {'line': {'color': '#0072b2'}, 'fillcolor': 'rgba(0,114,178,0.18)'}
    """
    if isinstance(value, Mapping):
        return {k: themed(v, theme) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [themed(v, theme) for v in value]
    if not isinstance(value, str) or not value.startswith("@"):
        return value
    name, _, tint = value[1:].partition(":")
    if name not in theme:
        return value
    if not tint:
        return theme[name]
    red, green, blue = (int(theme[name][i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{TINTS[tint]})"


def colour(k: int) -> str:
    """The colour of group k, the same in all figures; grey for none."""
    return f"@g{k % 10}" if k >= 0 else "@line"


def dash(k: int) -> str:
    """The line of group k. Colours come again after ten and dashes after six, both together after thirty.

    >>> dash(0), dash(1), dash(6), dash(-1)
    ('solid', 'dash', 'solid', 'solid')
    """
    return DASHES[k % len(DASHES)] if k >= 0 else "solid"


def symbol(k: int) -> str:
    """The marker of group k."""
    return SYMBOLS[k % len(SYMBOLS)] if k >= 0 else "circle-open"
