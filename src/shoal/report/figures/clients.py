"""The score of every client, and who is served worst."""

from __future__ import annotations

import math

from shoal.loop.row import client_values
from shoal.report.figure import Cell, Figure, FigureOrReason, NoFigure, Trace, axis, text, thin
from shoal.report.figures.curves import scale_of
from shoal.report.loaded_run import LoadedRun
from shoal.report.theme import colour
from shoal.scores import Score
from shoal.show import capital

NAMED = 10  # of the worst clients, in the caption; all are in the table
MAX_POINTS = 2_000  # points; the table has all clients


def strip(loaded: LoadedRun) -> FigureOrReason:
    """A point per client; the worst tenth is ringed and named."""
    score, scale = loaded.score, scale_of(loaded.score)
    title = f"{capital(score.title)} of each client"
    if not loaded.tested:
        return NoFigure("clients", title, "no round was tested yet")
    last = loaded.tested[-1]
    part = last["clients"]
    groups = dict(zip(last["members"]["ids"], last["members"]["group"], strict=True)) if "members" in last else {}
    seen = [
        (c, value, int(n), groups.get(c))
        for c, value, n in zip(part["ids"], client_values(part, score), part["total"], strict=True)
        if value is not None
    ]
    if not seen:
        return NoFigure("clients", title, "no client has test samples, or the records do not tell of single clients")
    seen.sort(key=lambda e: (score.sign * e[1], e[0]))
    worst = seen[: max(1, math.ceil(len(seen) / 10))]
    if groups and any(k is None for *_, k in seen):  # recorded groups are a sample of very many clients
        seen = [e for e in seen if e[3] is not None]
    shown = seen if len(seen) <= MAX_POINTS else [*worst, *thin(seen[len(worst) :], MAX_POINTS)]
    labels = sorted({k if k is not None else 0 for *_, k in seen}, key=lambda k: (k < 0, k))
    at = {k: i for i, k in enumerate(labels)}
    traces: list[Trace] = []
    for k in labels:
        mine = [e for e in shown if (e[3] if e[3] is not None else 0) == k]
        traces.append(
            points(mine, at[k], loaded.group(k) if groups else "clients", colour(k) if groups else "@accent", score)
        )
        middle = mine[len(mine) // 2][1]
        bar: Trace = {"type": "scatter", "mode": "lines", "x": [scale(middle)] * 2, "y": [at[k] - 0.34, at[k] + 0.34]}
        traces.append({**bar, "line": {"color": "@ink", "width": 2}, "showlegend": False, "hoverinfo": "skip"})
    rings = [e for e in worst if (e[3] if e[3] is not None else 0) in at]
    ring = points(rings, 0, f"worst tenth ({len(worst)})", "@warn", score)
    ring["y"] = [round(at[e[3] if e[3] is not None else 0] + jitter(e[0]), 3) for e in rings]
    ring["marker"] = {"size": 11, "color": "rgba(0,0,0,0)", "line": {"color": "@warn", "width": 1.6}}
    traces.append(ring)
    names = [text(loaded.group(k), 18) if groups else "all" for k in labels]
    y = axis("group", tickmode="array", tickvals=list(at.values()), ticktext=names, showgrid=False, zeroline=False)
    y["range"] = [len(labels) - 0.4, -0.6]
    layout = {"xaxis": axis(score.unit), "yaxis": y, "hovermode": "closest"}
    named = ", ".join(f"{c} ({score.show(a)})" for c, a, _, _ in worst[:NAMED])
    more = f" and {len(worst) - NAMED} more in the table" if len(worst) > NAMED else ""
    marks = "a point is a client, the bar its group's median, rings mark the worst tenth"
    caption = f"Round {last['round']}; {marks}: {named}{more}."
    rows: list[list[Cell]] = [
        [c, loaded.group(k) if k is not None else None, scale(a), n, i < len(worst)]
        for i, (c, a, n, k) in enumerate(seen)
    ]
    columns = ("client", "group", score.unit, "test samples", "worst tenth")
    height = max(260, 110 + 58 * len(labels))
    return Figure("clients", title, caption, columns, rows, traces, layout, True, height)


def points(mine: list[tuple[str, float, int, int | None]], at: float, name: str, color: str, score: Score) -> Trace:
    """Clients as points around a height, spread by their names so that they do not hide each other."""
    found: Trace = {"type": "scatter", "mode": "markers", "x": [scale_of(score)(a) for _, a, _, _ in mine]}
    found |= {"y": [round(at + jitter(c), 3) for c, *_ in mine], "name": text(name, 24)}
    found |= {"text": [text(f"{c}: {score.show(a)} of {n} samples") for c, a, n, _ in mine]}
    look = {"size": 6, "color": color, "opacity": 0.75}
    return {**found, "marker": look, "hovertemplate": "%{text}<extra></extra>"}


def jitter(client: str) -> float:
    """A height between -0.28 and 0.28 that belongs to a name.

    >>> jitter("a") == jitter("a"), abs(jitter("b")) <= 0.28
    (True, True)
    """
    value = 0
    for letter in client:
        value = (value * 31 + ord(letter)) % 1_000_003
    return 0.56 * (value * 0.6180339887 % 1) - 0.28
