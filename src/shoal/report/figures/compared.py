"""Several runs side by side: curves with a band over seeds, and the result of every seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from shoal.analysis.table import clients_of
from shoal.loop.history import coverage
from shoal.report.figure import (
    Cell,
    Figure,
    FigureOrReason,
    NoFigure,
    Trace,
    axis,
    colour,
    covered_line,
    dash,
    percent,
    rounds_axis,
    symbol,
    text,
    thin,
)
from shoal.report.figures.curves import Scale, four, sent
from shoal.report.loaded_run import LoadedRun, Row

DASHED = "Dashed: some clients have no model yet, so that the curve is about the others."


@dataclass(frozen=True)
class Setting:
    """Runs that differ in their seed alone, under one name."""

    name: str
    runs: Sequence[LoadedRun]


def accuracy(settings: Sequence[Setting]) -> FigureOrReason:
    """Accuracy by round, mean over seeds, with a band."""
    return bands(settings, ("accuracy", "Accuracy"), "accuracy", "accuracy (%)", percent, wide=True)


def f1(settings: Sequence[Setting]) -> FigureOrReason:
    """Macro F1 by round."""
    return bands(settings, ("f1", "Macro F1"), "f1", "macro F1 (%)", percent)


def loss(settings: Sequence[Setting]) -> FigureOrReason:
    """Test loss by round."""
    return bands(settings, ("loss", "Test loss"), "test_loss", "mean loss (nats)", four)


def agreement(settings: Sequence[Setting]) -> FigureOrReason:
    """Adjusted Rand index by round."""
    return bands(
        settings, ("agreement", "Agreement with the true groups"), "ari", "adjusted Rand index (1 is perfect)", four
    )


def bands(
    settings: Sequence[Setting], names: tuple[str, str], column: str, unit: str, scale: Scale, wide: bool = False
) -> FigureOrReason:
    """A curve per setting, and a band of one standard deviation where there are several seeds."""
    traces: list[Trace] = []
    rows: list[list[Cell]] = []
    several, partial = False, False
    for k, setting in enumerate(settings):
        found: dict[int, list[float]] = {}
        covered: dict[int, list[Row]] = {}  # partial rounds
        for run in setting.runs:
            for r in run.history:
                value = scale(r.get(column))
                if value is not None:
                    found.setdefault(r["round"], []).append(value)
                    if r.get("partial"):
                        covered.setdefault(r["round"], []).append(r)
        at = thin(sorted(found))
        if not at:
            continue
        mean = [fmean(found[t]) for t in at]
        std = [stdev(found[t]) if len(found[t]) > 1 else 0.0 for t in at]
        if any(std):
            several = True
            edge = [round(m + s, 4) for m, s in zip(mean, std, strict=True)]
            under = [round(m - s, 4) for m, s in zip(mean, std, strict=True)]
            shape = {
                "type": "scatter",
                "mode": "lines",
                "x": [*at, *at[::-1]],
                "y": [*edge, *under[::-1]],
                "fill": "toself",
            }
            look = {"fillcolor": f"{colour(k)}:faint", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
            traces.append({**shape, **look, "legendgroup": str(k), "name": text(setting.name, 40)})
        partial |= bool(covered)
        points = [(t, round(m, 4), whom_of(covered.get(t, ()))) for t, m in zip(at, mean, strict=True)]
        look = {"dash": dash(k), "width": 2.2, "legendgroup": str(k)}
        traces += covered_line(points, text(setting.name, 40), colour(k), **look)
        rows += [
            [setting.name, t, m, round(s, 4), len(found[t]), note or None]
            for (t, m, note), s in zip(points, std, strict=True)
        ]
    if not traces:
        return NoFigure(*names, "no run has it")
    caption = "Mean over seeds; the band is one standard deviation." if several else "One run per setting."
    caption += f" {DASHED}" if partial else ""
    layout = {"xaxis": rounds_axis(), "yaxis": axis(unit), "hovermode": "x unified"}
    columns = ("setting", "round", unit, "standard deviation", "runs", "if not of all")
    return Figure(names[0], names[1], caption, columns, rows, traces, layout, wide, 400 if wide else 320)


def whom_of(rows: Sequence[Row]) -> str:
    """Whom the same round of several runs is about, where some clients had no model: their mean number.

    >>> whom_of([{"partial": True, "tested": 7, "tested_of": 20}, {"partial": True, "tested": 9, "tested_of": 20}])
    '8 of 20 clients'
    """
    if not rows:
        return ""
    clients, of = (
        fmean(known) if (known := [n for n in numbers if n is not None]) else None
        for numbers in zip(*map(coverage, rows), strict=True)
    )
    return clients_of(clients, of)


def seeds(settings: Sequence[Setting]) -> FigureOrReason:
    """The best accuracy of every run, and the mean of a setting."""
    traces: list[Trace] = []
    rows: list[list[Cell]] = []
    partial = False
    for k, setting in enumerate(settings):
        known = [(r.config.get("seed"), v, note) for r in setting.runs for v, note in [best_of(r)] if v is not None]
        if not known:
            continue
        values = [v for _, v, _ in known]
        partial |= any(note for *_, note in known)
        look = {"size": 11, "color": colour(k), "opacity": 0.8}
        look["symbol"] = [f"{symbol(k)}-open" if note else symbol(k) for *_, note in known]
        dots: Trace = {"type": "scatter", "mode": "markers", "x": values, "y": [k] * len(values), "marker": look}
        said = [f"seed {seed}: {v} %{f' of {note}' if note else ''}" for seed, v, note in known]
        dots |= {"text": said, "hovertemplate": "%{text}<extra></extra>"}
        traces.append({**dots, "name": text(setting.name, 40), "showlegend": False})
        spread = {"type": "data", "array": [stdev(values) if len(values) > 1 else 0], "color": "@ink", "thickness": 1.5}
        middle: Trace = {"type": "scatter", "mode": "markers", "x": [round(fmean(values), 3)], "y": [k - 0.22]}
        middle |= {"marker": {"size": 8, "color": "@ink", "symbol": "line-ns-open"}, "showlegend": False}
        traces.append({**middle, "error_x": spread, "hoverinfo": "skip"})
        rows += [[setting.name, seed, v, note or None] for seed, v, note in known]
    if not traces:
        return NoFigure("seeds", "Best accuracy of every run", "no run was tested yet")
    names = [text(s.name, 26) for s in settings]
    y = axis(
        "setting", tickmode="array", tickvals=list(range(len(names))), ticktext=names, showgrid=False, zeroline=False
    )
    layout = {
        "xaxis": axis("best accuracy (%)"),
        "yaxis": {**y, "range": [len(names) - 0.5, -0.7]},
        "hovermode": "closest",
    }
    caption = "A point is a run; above it the mean and one standard deviation over seeds."
    caption += " An open point is about some clients: in no tested round all had a model." if partial else ""
    columns = ("setting", "seed", "best accuracy (%)", "if not of all")
    height = max(260, 90 + 52 * len(names))
    return Figure("seeds", "Best accuracy of every run", caption, columns, rows, traces, layout, False, height)


def best_of(loaded: LoadedRun) -> tuple[float | None, str]:
    """The best accuracy of a run in percent, and whom it is about where no round had a model for all clients."""
    best, partial = (percent(loaded.summary.get(key)) for key in ("best_accuracy", "best_partial_accuracy"))
    if best is not None or partial is None:
        return best, ""
    return partial, clients_of(*(loaded.summary.get(f"best_partial_{part}") for part in ("clients", "of")))


def traffic(settings: Sequence[Setting]) -> FigureOrReason:
    """Accuracy against traffic, mean over seeds at each round."""
    traces: list[Trace] = []
    rows: list[list[Cell]] = []
    for k, setting in enumerate(settings):
        found: dict[int, list[tuple[Row, float]]] = {}
        for run in setting.runs:
            for row, megabytes in sent(run):
                found.setdefault(row["round"], []).append((row, megabytes))
        points = [
            (
                round(fmean(mb for _, mb in found[t]), 3),
                round(fmean(100 * row["accuracy"] for row, _ in found[t]), 3),
                whom_of([row for row, _ in found[t] if row.get("partial")]),
            )
            for t in sorted(found)
        ]
        if points and points[-1][0]:
            traces += covered_line(points, text(setting.name, 40), colour(k), dash=dash(k), width=2.2)
            rows += [[setting.name, t, x, y, n or None] for t, (x, y, n) in zip(sorted(found), points, strict=True)]
    if not traces:
        return NoFigure("traffic", "Accuracy against traffic", "nothing travels in these methods")
    caption = (
        "Mean over seeds, round by round; down and up, without evaluation. Methods that send nothing are left out."
    )
    caption += f" {DASHED}" if any(row[-1] for row in rows) else ""
    layout = {
        "xaxis": axis("sent so far (MB)", rangemode="tozero"),
        "yaxis": axis("accuracy (%)"),
        "hovermode": "closest",
    }
    columns = ("setting", "round", "sent (MB)", "accuracy (%)", "if not of all")
    height = max(260, 90 + 52 * len(settings))
    return Figure("traffic", "Accuracy against traffic", caption, columns, rows, traces, layout, False, height)
