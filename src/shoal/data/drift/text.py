"""Drift as text: `swap-all:0.05`, `join:0.2@50`, `leave:clients=a+b@80`, and several joined by `+`."""

from __future__ import annotations

import re
from collections.abc import Callable

from shoal.data.drift.drift import Drift
from shoal.data.drift.incremental import Incremental
from shoal.data.drift.presence import Join, Leave
from shoal.data.drift.scenario import Scenario
from shoal.data.drift.swap import SwapAll, SwapPart
from shoal.data.spec import parse
from shoal.errors import unknown

SCENARIOS: dict[str, Callable[..., Scenario]] = {
    "swap-all": SwapAll,
    "swap-part": SwapPart,
    "incremental": Incremental,
    "join": Join,
    "leave": Leave,
}

_QUOTED = r'"(?:[^"\\]|\\.)*"'


def parse_drift(text: str) -> Drift:
    """Read the scenarios of a run; `none` is no drift.

    Each is a name with arguments as everywhere (`shoal.data.spec`); `@50` stands for `round=50`. Names of clients
    that hold one of `:,()+@` or are the name of a scenario want quotation marks around the list.

    Args:
        text: Scenarios joined by `+`, or `none`.

    Returns:
        The scenarios, together.

    >>> parse_drift("swap-all:0.05:who=warm+join:0.2@50").scenarios
    (SwapAll(p=0.05, who='warm'), Join(share=0.2, round=50, clients=None))
    >>> parse_drift("leave:clients=007+008@80").scenarios
    (Leave(share=None, round=80, clients='007+008'),)
    """
    if text.strip() == "none":
        return Drift()
    return Drift(tuple(_scenario(piece) for piece in _pieces(text)))


def _scenario(text: str) -> Scenario:
    spec = parse(_spelled_out(text))
    if spec.name not in SCENARIOS:
        raise unknown("drift scenario", spec.name, SCENARIOS)
    return spec.make(SCENARIOS[spec.name], "drift scenario")


def _pieces(text: str) -> list[str]:
    """Cut at every `+` but those in quotation marks and those of a list of clients."""
    pieces, start, argument = [], 0, 0
    for mark in re.finditer(rf"{_QUOTED}|[:(,+]", text):
        if mark[0] == "+":
            follows = re.match(r"\s*([\w-]*)", text[mark.end() :])
            listed = re.match(r"\s*clients\s*=", text[argument : mark.start()])
            if listed and follows and follows[1] not in SCENARIOS:
                continue
            pieces.append(text[start : mark.start()])
            start = argument = mark.end()
        elif len(mark[0]) == 1:
            argument = mark.end()
    return [*pieces, text[start:]]


def _spelled_out(text: str) -> str:
    """The text in the grammar of `spec`: `@50` as `round=50`, a list of clients in quotation marks."""
    separator, ends = (",", ",)") if re.match(r"\s*[\w-]+\s*\(", text) else (":", ":")
    named = re.sub(
        rf"({_QUOTED})|@\s*(\d+)\s*(?=[{ends}]|$)", lambda m: m[1] or f"{separator}round={m[2]}", text.strip()
    )
    return re.sub(rf'\bclients\s*=\s*([^\s"{ends}][^"{ends}]*)', lambda m: f'clients="{m[1].strip()}"', named)
