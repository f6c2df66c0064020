"""What happened out of the ordinary: drift, migrations, splits, clients that came, went or failed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

from shoal.report.figure import Cell, Figure, FigureOrReason, NoFigure, Trace, axis, rounds_axis, text
from shoal.report.loaded_run import LoadedRun

SHAPES = {"swapped": "@g4", "swapped part": "@g4:soft", "released": "@g6", "joined": "@g2", "left": "@g9"} | {
    "migrated": "@g0",
    "changed group": "@g0",
    "split": "@g3",
    "group filled again": "@g7",
    "left out": "@warn",
    "round skipped": "@warn:soft",
    "collapsed": "@g1",
    "empty group": "@g8",
    "cluster waits": "@line",
}
LISTED = 100


def by_round(loaded: LoadedRun) -> FigureOrReason:
    """How many clients each kind of event touched, round by round."""
    title, found = "Drift, migration and other events", counted(loaded)
    if not found:
        return NoFigure("events", title, "nothing out of the ordinary happened")
    traces: list[Trace] = []
    rows: list[list[Cell]] = []
    for kind in sorted(found, key=lambda k: (list(SHAPES).index(k) if k in SHAPES else 99, k)):
        at = sorted(found[kind].items())
        bars: Trace = {"type": "bar", "x": [t for t, _ in at], "y": [n for _, n in at], "name": text(kind, 24)}
        traces.append({**bars, "marker": {"color": SHAPES.get(kind, "@muted"), "line": {"width": 0}}})
        rows += [[kind, t, n] for t, n in at]
    x = {**rounds_axis(), "range": [-0.5, loaded.history[-1]["round"] + 0.5]}
    y = axis("clients or events (number)", rangemode="tozero")
    layout = {"xaxis": x, "yaxis": y, "barmode": "stack", "bargap": 0.15, "hovermode": "x unified"}
    caption = "Height is the number of clients touched (for splits, collapses and skipped rounds: of events)."
    return Figure("events", title, caption, ("kind", "round", "number"), rows, traces, layout, True, 300)


def counted(loaded: LoadedRun) -> dict[str, Counter[int]]:
    """Kind, round and number; changes of group come from the groups themselves where no event tells of them."""
    found: dict[str, Counter[int]] = defaultdict(Counter)
    for e in happened(loaded):
        found[e["kind"]][e["round"]] += touched(e)
    if "migrated" not in found:
        for (_, before), (t, after) in zip(loaded.members, loaded.members[1:], strict=False):
            moved = sum(k >= 0 and before.get(c, -1) not in (-1, k) for c, k in after.items())
            if moved:
                found["changed group"][t] += moved
    return found


def touched(event: Mapping[str, Any]) -> int:
    """How many clients an event is about; 1 if it is not about clients.

    >>> touched({"kind": "swapped", "clients": ["a", "b"]}), touched({"kind": "split", "clients": [["a"], ["b"]]})
    (2, 1)
    """
    clients = event.get("clients")
    return len(clients) if isinstance(clients, list) and clients and isinstance(clients[0], str) else 1


def listed(loaded: LoadedRun) -> tuple[list[tuple[int, str, str]], int]:
    """The first events as round, kind and words, and how many there are in all."""
    events = happened(loaded)
    return [(e["round"], e["kind"], words(e)) for e in events[:LISTED]], len(events)


def happened(loaded: LoadedRun) -> list[Mapping[str, Any]]:
    """The events without why the algorithm was chosen, which the page tells by itself."""
    return [e for e in loaded.events if e["kind"] != "decision"]


def words(event: Mapping[str, Any]) -> str:
    """What an event says besides its round and kind.

    >>> words({"round": 3, "kind": "migrated", "client": "ann", "from": 0, "to": 2})
    'client ann, from 0, to 2'
    """
    return ", ".join(f"{k} {short(v)}" for k, v in event.items() if k not in ("round", "kind"))


def short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        inner = [short(v) for v in value[:8]]
        more = f" and {len(value) - 8} more" if len(value) > 8 else ""
        return "(" + ", ".join(inner) + more + ")"
    return str(value)
