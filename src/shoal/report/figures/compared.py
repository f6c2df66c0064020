"""Several runs side by side: curves with a band over seeds, and the result of every seed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import NamedTuple

from shoal.analysis.table import clients_of
from shoal.loop.history import coverage
from shoal.report.figure import (
    Cell,
    Figure,
    FigureOrReason,
    NoFigure,
    Trace,
    axis,
    covered_line,
    percent,
    rounds_axis,
    text,
    thin,
)
from shoal.report.figures.curves import Scale, chosen_from, four, scale_of, sent, way
from shoal.report.loaded_run import LoadedRun, Row
from shoal.report.theme import colour, dash, symbol
from shoal.scores import Score
from shoal.show import capital

PALE = "Pale: some clients have no model yet, so that the curve is about the others."
SHARE = (0.0, 100.0)
LOSS = (0.0, math.inf)
ANY = (-math.inf, math.inf)


@dataclass(frozen=True)
class Setting:
    """Runs that differ in their seed alone, under one name."""

    name: str
    runs: Sequence[LoadedRun]

    @property
    def score(self) -> Score:
        return self.runs[0].score


class Look(NamedTuple):
    """How a setting is drawn, the same in all figures."""

    color: str
    dash: str
    symbol: str


def looks(settings: Sequence[Setting]) -> list[Look]:
    """A method has a colour; its variants, where there are several methods too, have a dash and a marker each."""
    methods = [s.runs[0].algorithm for s in settings]
    names = list(dict.fromkeys(methods))
    if len(names) in (1, len(methods)):
        return [Look(colour(k), dash(k), symbol(k)) for k in range(len(methods))]
    variant = [methods[:k].count(method) for k, method in enumerate(methods)]
    return [Look(colour(names.index(m)), dash(v), symbol(v)) for m, v in zip(methods, variant, strict=True)]


def score(settings: Sequence[Setting]) -> FigureOrReason:
    """The score by round, mean over seeds, with a band."""
    return of_metric(settings, settings[0].score, wide=True)


def of_metric(settings: Sequence[Setting], metric: Score, wide: bool = False) -> FigureOrReason:
    """A metric by round, mean over seeds, with a band."""
    names, limits = (metric.name, capital(metric.title)), LOSS if metric.better == "lower" else ANY
    limits = SHARE if metric.percent else limits
    return bands(settings, names, metric.name, metric.unit, scale_of(metric), wide, limits, way(metric))


def f1(settings: Sequence[Setting]) -> FigureOrReason:
    """Macro F1 by round."""
    if not all(run.has_classes for setting in settings for run in setting.runs):
        return NoFigure("f1", "Macro F1", "what is learnt are no classes")
    return bands(settings, ("f1", "Macro F1"), "f1", "macro F1 (%)", percent, limits=SHARE)


def loss(settings: Sequence[Setting]) -> FigureOrReason:
    """Test loss by round."""
    classes = all(run.has_classes for setting in settings for run in setting.runs)
    unit = "mean loss (nats)" if classes else "mean loss"
    return bands(settings, ("loss", "Test loss"), "test_loss", unit, four, limits=LOSS)


def further(settings: Sequence[Setting]) -> FigureOrReason:
    """Metrics besides the score, one at a time."""
    metrics = dict.fromkeys(metric for setting in settings for run in setting.runs for metric in run.further)
    drawn = [(metric.unit, of_metric(settings, metric)) for metric in metrics]
    shown = [(unit, figure) for unit, figure in drawn if isinstance(figure, Figure)]
    caption = "What was measured besides the score. Mean over seeds; the band is one standard deviation."
    return chosen_from("metrics", "Other metrics", caption, shown)


def agreement(settings: Sequence[Setting]) -> FigureOrReason:
    """Adjusted Rand index by round."""
    names, unit = ("agreement", "Agreement with the true groups"), "adjusted Rand index (1 is perfect)"
    return bands(settings, names, "ari", unit, four, limits=(0.0, 1.0))


def bands(
    settings: Sequence[Setting],
    names: tuple[str, str],
    column: str,
    unit: str,
    scale: Scale,
    wide: bool = False,
    limits: tuple[float, float] = ANY,
    more: str = "",
) -> FigureOrReason:
    """A curve per setting, and a band of one standard deviation, inside what is possible, where there are seeds."""
    traces: list[Trace] = []
    rows: list[list[Cell]] = []
    several, partial = False, False
    for k, (setting, look) in enumerate(zip(settings, looks(settings), strict=True)):
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
            low, high = limits
            edge = [round(min(m + s, max(m, high)), 4) for m, s in zip(mean, std, strict=True)]
            under = [round(max(m - s, min(m, low)), 4) for m, s in zip(mean, std, strict=True)]
            shape = {
                "type": "scatter",
                "mode": "lines",
                "x": [*at, *at[::-1]],
                "y": [*edge, *under[::-1]],
                "fill": "toself",
            }
            band = {"fillcolor": f"{look.color}:faint", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
            traces.append({**shape, **band, "legendgroup": str(k), "name": text(setting.name, 40)})
        partial |= bool(covered)
        points = [(t, round(m, 4), whom_of(covered.get(t, ()))) for t, m in zip(at, mean, strict=True)]
        style = {"dash": look.dash, "width": 2.2, "legendgroup": str(k)}
        traces += covered_line(points, text(setting.name, 40), look.color, **style)
        rows += [
            [setting.name, t, m, round(s, 4), len(found[t]), note or None]
            for (t, m, note), s in zip(points, std, strict=True)
        ]
    if not traces:
        return NoFigure(*names, "no run has it")
    caption = "Mean over seeds; the band is one standard deviation." if several else "One run per setting."
    caption += more + (f" {PALE}" if partial else "")
    y = axis(unit, rangemode="tozero") if limits == (0.0, 1.0) else axis(unit)
    layout = {"xaxis": rounds_axis(), "yaxis": y, "hovermode": "x unified"}
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
    """The best score of every run, and the mean of a setting."""
    score = settings[0].score
    best = f"best {score.title}"
    title = f"{capital(best)} of every run"
    traces: list[Trace] = []
    rows: list[list[Cell]] = []
    partial = False
    for k, (setting, look) in enumerate(zip(settings, looks(settings), strict=True)):
        known = [(r.config.get("seed"), v, note) for r in setting.runs for v, note in [best_of(r)] if v is not None]
        if not known:
            continue
        values = [v for _, v, _ in known]
        partial |= any(note for *_, note in known)
        style = {"size": 11, "color": look.color, "opacity": 0.8}
        style["symbol"] = [f"{look.symbol}-open" if note else look.symbol for *_, note in known]
        dots: Trace = {"type": "scatter", "mode": "markers", "x": values, "y": [k] * len(values), "marker": style}
        unit = " %" if score.percent else ""
        said = [f"seed {seed}: {v}{unit}{f' of {note}' if note else ''}" for seed, v, note in known]
        dots |= {"text": said, "hovertemplate": "%{text}<extra></extra>"}
        traces.append({**dots, "name": text(setting.name, 40), "showlegend": False})
        spread = {"type": "data", "array": [stdev(values) if len(values) > 1 else 0], "color": "@ink", "thickness": 1.5}
        middle: Trace = {"type": "scatter", "mode": "markers", "x": [round(fmean(values), 3)], "y": [k - 0.22]}
        middle |= {"marker": {"size": 8, "color": "@ink", "symbol": "line-ns-open"}, "showlegend": False}
        traces.append({**middle, "error_x": spread, "hoverinfo": "skip"})
        rows += [[setting.name, seed, v, note or None] for seed, v, note in known]
    if not traces:
        return NoFigure("seeds", title, "no run was tested yet")
    names = [text(s.name, 26) for s in settings]
    y = axis(
        "setting", tickmode="array", tickvals=list(range(len(names))), ticktext=names, showgrid=False, zeroline=False
    )
    layout = {
        "xaxis": axis(f"best {score.unit}"),
        "yaxis": {**y, "range": [len(names) - 0.5, -0.7]},
        "hovermode": "closest",
    }
    caption = "A point is a run; above it the mean and one standard deviation over seeds."
    caption += " An open point is about some clients: in no tested round all had a model." if partial else ""
    columns = ("setting", "seed", f"best {score.unit}", "if not of all")
    height = max(260, 90 + 52 * len(names))
    return Figure("seeds", title, caption, columns, rows, traces, layout, False, height)


def best_of(loaded: LoadedRun) -> tuple[float | None, str]:
    """The best score of a run as it is drawn, and whom it is about where no round had a model for all clients."""
    score, scale = loaded.score, scale_of(loaded.score)
    best, partial = (scale(loaded.summary.get(score.key(which))) for which in ("best", "best_partial"))
    if best is not None or partial is None:
        return best, ""
    return partial, clients_of(*(loaded.summary.get(f"best_partial_{part}") for part in ("clients", "of")))


def traffic(settings: Sequence[Setting]) -> FigureOrReason:
    """The score against traffic, mean over seeds at each round."""
    score = settings[0].score
    times, title = 100 if score.percent else 1, f"{capital(score.title)} against traffic"
    traces: list[Trace] = []
    rows: list[list[Cell]] = []
    for setting, look in zip(settings, looks(settings), strict=True):
        found: dict[int, list[tuple[Row, float]]] = {}
        for run in setting.runs:
            for row, megabytes in sent(run):
                found.setdefault(row["round"], []).append((row, megabytes))
        points = [
            (
                round(fmean(mb for _, mb in found[t]), 3),
                float(f"{fmean(times * row[score.name] for row, _ in found[t]):.5g}"),
                whom_of([row for row, _ in found[t] if row.get("partial")]),
            )
            for t in sorted(found)
        ]
        if points and points[-1][0]:
            traces += covered_line(points, text(setting.name, 40), look.color, dash=look.dash, width=2.2)
            rows += [[setting.name, t, x, y, n or None] for t, (x, y, n) in zip(sorted(found), points, strict=True)]
    if not traces:
        return NoFigure("traffic", title, "nothing travels in these methods")
    caption = (
        "Mean over seeds, round by round; down and up, without evaluation. Methods that send nothing are left out."
    ) + way(score)
    caption += f" {PALE}" if any(row[-1] for row in rows) else ""
    layout = {
        "xaxis": axis("sent so far (MB)", rangemode="tozero"),
        "yaxis": axis(score.unit),
        "hovermode": "closest",
    }
    columns = ("setting", "round", "sent (MB)", score.unit, "if not of all")
    height = max(260, 90 + 52 * len(settings))
    return Figure("traffic", title, caption, columns, rows, traces, layout, False, height)
