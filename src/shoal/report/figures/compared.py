"""Several runs side by side: curves with a band over seeds, and the result of every seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from shoal.report.figure import (
    Cell,
    Drawn,
    Figure,
    Missing,
    Trace,
    axis,
    colour,
    dash,
    line,
    percent,
    rounds_axis,
    symbol,
    text,
    thin,
)
from shoal.report.figures.curves import Scale, four, sent
from shoal.report.read import Told


@dataclass(frozen=True)
class Setting:
    """Runs that differ in their seed alone, under one name."""

    name: str
    runs: Sequence[Told]


def accuracy(settings: Sequence[Setting]) -> Drawn:
    """Accuracy by round, mean over seeds, with a band."""
    return bands(settings, ("accuracy", "Accuracy"), "accuracy", "accuracy (%)", percent, wide=True)


def f1(settings: Sequence[Setting]) -> Drawn:
    """Macro F1 by round."""
    return bands(settings, ("f1", "Macro F1"), "f1", "macro F1 (%)", percent)


def loss(settings: Sequence[Setting]) -> Drawn:
    """Test loss by round."""
    return bands(settings, ("loss", "Test loss"), "test_loss", "mean loss (nats)", four)


def agreement(settings: Sequence[Setting]) -> Drawn:
    """Adjusted Rand index by round."""
    return bands(
        settings, ("agreement", "Agreement with the true groups"), "ari", "adjusted Rand index (1 is perfect)", four
    )


def bands(
    settings: Sequence[Setting], names: tuple[str, str], column: str, unit: str, scale: Scale, wide: bool = False
) -> Drawn:
    """A curve per setting, and a band of one standard deviation where there are several seeds."""
    traces: list[Trace] = []
    rows: list[list[Cell]] = []
    several = False
    for k, setting in enumerate(settings):
        found: dict[int, list[float]] = {}
        for run in setting.runs:
            for r in run.history:
                value = scale(r.get(column))
                if value is not None:
                    found.setdefault(r["round"], []).append(value)
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
        y = [round(m, 4) for m in mean]
        traces.append(line(at, y, text(setting.name, 40), colour(k), dash=dash(k), width=2.2, legendgroup=str(k)))
        rows += [[setting.name, t, m, round(s, 4), len(found[t])] for t, m, s in zip(at, y, std, strict=True)]
    if not traces:
        return Missing(*names, "no run has it")
    caption = "Mean over seeds; the band is one standard deviation." if several else "One run per setting."
    layout = {"xaxis": rounds_axis(), "yaxis": axis(unit), "hovermode": "x unified"}
    columns = ("setting", "round", unit, "standard deviation", "runs")
    return Figure(names[0], names[1], caption, columns, rows, traces, layout, wide, 400 if wide else 320)


def seeds(settings: Sequence[Setting]) -> Drawn:
    """The best accuracy of every run, and the mean of a setting."""
    traces: list[Trace] = []
    rows: list[list[Cell]] = []
    for k, setting in enumerate(settings):
        best = [(r.config.get("seed"), percent(r.summary.get("best_accuracy"))) for r in setting.runs]
        known = [(seed, v) for seed, v in best if v is not None]
        if not known:
            continue
        values = [v for _, v in known]
        look = {"size": 11, "color": colour(k), "symbol": symbol(k), "opacity": 0.8}
        dots: Trace = {"type": "scatter", "mode": "markers", "x": values, "y": [k] * len(values), "marker": look}
        dots |= {"text": [f"seed {seed}: {v} %" for seed, v in known], "hovertemplate": "%{text}<extra></extra>"}
        traces.append({**dots, "name": text(setting.name, 40), "showlegend": False})
        spread = {"type": "data", "array": [stdev(values) if len(values) > 1 else 0], "color": "@ink", "thickness": 1.5}
        middle: Trace = {"type": "scatter", "mode": "markers", "x": [round(fmean(values), 3)], "y": [k - 0.22]}
        middle |= {"marker": {"size": 8, "color": "@ink", "symbol": "line-ns-open"}, "showlegend": False}
        traces.append({**middle, "error_x": spread, "hoverinfo": "skip"})
        rows += [[setting.name, seed, v] for seed, v in known]
    if not traces:
        return Missing("seeds", "Best accuracy of every run", "no run was tested yet")
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
    columns = ("setting", "seed", "best accuracy (%)")
    height = max(260, 90 + 52 * len(names))
    return Figure("seeds", "Best accuracy of every run", caption, columns, rows, traces, layout, False, height)


def traffic(settings: Sequence[Setting]) -> Drawn:
    """Accuracy against traffic, mean over seeds at each round."""
    traces: list[Trace] = []
    rows: list[list[Cell]] = []
    for k, setting in enumerate(settings):
        found: dict[int, list[tuple[float, float]]] = {}
        for run in setting.runs:
            for mb, acc, t in zip(*sent(run), strict=True):
                if acc is not None:
                    found.setdefault(t, []).append((mb, acc))
        at = sorted(found)
        x, y = ([round(fmean(pair[i] for pair in found[t]), 3) for t in at] for i in (0, 1))
        if at and x[-1]:
            traces.append(line(x, y, text(setting.name, 40), colour(k), dash=dash(k), width=2.2))
            rows += [[setting.name, t, mb, acc] for t, mb, acc in zip(at, x, y, strict=True)]
    if not traces:
        return Missing("traffic", "Accuracy against traffic", "nothing travels in these methods")
    caption = (
        "Mean over seeds, round by round; down and up, without evaluation. Methods that send nothing are left out."
    )
    layout = {
        "xaxis": axis("sent so far (MB)", rangemode="tozero"),
        "yaxis": axis("accuracy (%)"),
        "hovermode": "closest",
    }
    columns = ("setting", "round", "sent (MB)", "accuracy (%)")
    height = max(260, 90 + 52 * len(settings))
    return Figure("traffic", "Accuracy against traffic", caption, columns, rows, traces, layout, False, height)
