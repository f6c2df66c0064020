"""Score, F1, loss and other metrics by round, with a curve per group, and the score against traffic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from shoal.analysis.table import clients_of
from shoal.loop.history import History, coverage
from shoal.report.figure import (
    Cell,
    Figure,
    FigureOrReason,
    NoFigure,
    Point,
    Trace,
    axis,
    covered_line,
    percent,
    rounds_axis,
    text,
    thin,
)
from shoal.report.loaded_run import LoadedRun, Row
from shoal.report.theme import colour, dash
from shoal.scores import ACCURACY, Score
from shoal.show import capital

Scale = Callable[[float | None], float | None]


def scale_of(score: Score) -> Scale:
    """How values of a score are drawn: in percent, or with four digits."""
    return percent if score.percent else four


def way(score: Score) -> str:
    """A sentence where less is better; what more of is better needs none."""
    return " Lower is better." if score.better == "lower" else ""


def score(loaded: LoadedRun) -> FigureOrReason:
    """The score of all clients and of each group on the test split, FedAvg and local beside it."""
    mine = loaded.score
    what = "Right answers" if mine == ACCURACY else f"{capital(mine.title)}"
    caption = f"{what} of all clients over all their test samples, each client with the model of its group.{way(mine)}"
    names = (mine.name, capital(mine.title), mine.name, f"group_{mine.name}", mine.unit)
    return by_round(loaded, names, scale_of(mine), caption, wide=True)


def f1(loaded: LoadedRun) -> FigureOrReason:
    """Macro F1, mean over clients."""
    if not loaded.has_classes:
        return NoFigure("f1", "Macro F1", "what is learnt are no classes")
    return by_round(
        loaded,
        ("f1", "Macro F1", "f1", "group_f1", "macro F1 (%)"),
        percent,
        "Every class counts the same, every client counts the same: higher is better also for rare classes.",
    )


def loss(loaded: LoadedRun) -> FigureOrReason:
    """Test loss, and the loss of training."""
    trained = thin([r for r in loaded.history if r.get("loss") is not None])
    extra = [("training", [r["round"] for r in trained], [four(r["loss"]) for r in trained])]
    what, unit = ("Cross-entropy", "mean loss (nats)") if loaded.has_classes else ("Mean loss", "mean loss")
    return by_round(
        loaded,
        ("loss", "Loss", "test_loss", "group_loss", unit),
        four,
        f"{what} on test samples; a test curve that rises while training falls says overfitting.",
        extra=extra,
    )


def further(loaded: LoadedRun) -> FigureOrReason:
    """Metrics besides the score, one at a time."""
    title = "Other metrics"
    drawn = []
    for metric in loaded.further:
        names = (metric.name, metric.title, metric.name, f"group_{metric.name}", metric.unit)
        drawn.append((metric.unit, by_round(loaded, names, scale_of(metric), "")))
    caption = "What the run measured besides its score; of all clients, and of each group."
    return chosen_from("metrics", title, caption, [(u, f) for u, f in drawn if isinstance(f, Figure)])


def chosen_from(key: str, title: str, caption: str, drawn: Sequence[tuple[str, Figure]]) -> FigureOrReason:
    """Several figures over rounds as one, of which a reader chooses what is shown; none: nobody asked for any."""
    if not drawn:
        return NoFigure(key, title, "")
    traces: list[Trace] = []
    options: list[dict[str, Any]] = []
    rows: list[list[Cell]] = []
    for i, (unit, figure) in enumerate(drawn):
        at = list(range(len(traces), len(traces) + len(figure.traces)))
        traces += [{**trace, "visible": i == 0} for trace in figure.traces]
        options.append({"label": figure.title, "traces": at, "layout": {"yaxis.title.text": unit}})
        rows += [[figure.title, *row] for row in figure.rows]
    unit, first = drawn[0]
    columns = ("metric", *(column if column != unit else "value" for column in first.columns))
    layout = {**first.layout, "meta": {"choice": "metric", "options": options, "active": 0}}
    return Figure(key, title, caption, columns, rows, traces, layout, False, first.height)


def by_round(
    loaded: LoadedRun,
    names: tuple[str, str, str, str, str],
    scale: Scale,
    caption: str,
    wide: bool = False,
    extra: Sequence[tuple[str, list[int], list[float | None]]] = (),
) -> FigureOrReason:
    """A curve of everybody, one per group, and those of the runs beside."""
    key, title, column, by_group, unit = names
    tested = thin(loaded.tested)
    if not tested:
        return NoFigure(key, title, "no round was tested yet")
    if not any(column in r for r in tested):
        return NoFigure(
            key,
            title,
            "the run did not count tests by class (per_class=false)" if column == "f1" else "it was not recorded",
        )
    series: list[tuple[str, list[Point], dict[str, Any]]] = []
    for k in range(loaded.group_count):
        y = [scale(part[k]) if k < len(part := r.get(by_group) or []) else None for r in tested]
        if loaded.group_count > 1 and any(v is not None for v in y):
            points = [(r["round"], v, "") for r, v in zip(tested, y, strict=True)]
            series.append((loaded.group(k), points, {"color": colour(k), "dash": dash(k), "width": 1.5}))
    if wide:
        for other, style in zip(loaded.beside, ("dash", "dot", "dashdot"), strict=False):
            points = [(r["round"], scale(r.get(column)), whom(r)) for r in thin(other.tested)]
            series.append((other.algorithm, points, {"color": "@muted", "dash": style}))
    for name, at, y in extra:
        if y:
            points = [(t, v, "") for t, v in zip(at, y, strict=True)]
            series.append((name, points, {"color": "@muted", "dash": "dot"}))
    partial = [r for r in tested if r.get("partial")]
    everybody = "clients with a model" if len(partial) == len(tested) else "all clients"
    points = [(r["round"], scale(r.get(column)), whom(r)) for r in tested]
    series.append((everybody, points, {"color": "@ink", "width": 2.8}))
    traces = [trace for name, points, style in series for trace in covered_line(points, text(name, 24), **style)]
    table: list[list[Cell]] = [
        [name, t, v, note or None] for name, points, _ in series for t, v, note in points if v is not None
    ]
    if partial:
        caption += " Pale: rounds in which some clients have no model yet; they do not count for the best."
    layout = {"xaxis": rounds_axis(), "yaxis": axis(unit), "hovermode": "x unified"}
    columns = ("series", "round", unit, "if not of all")
    return Figure(key, title, caption, columns, table, traces, layout, wide, 400 if wide else 320)


def whom(row: Row) -> str:
    """Whom the figures of a tested round are about, if not about all clients.

    >>> whom({"partial": True, "tested": 78, "tested_of": 1000}), whom({"partial": False})
    ('78 of 1,000 clients', '')
    """
    return clients_of(*coverage(row)) if row.get("partial") else ""


def traffic(loaded: LoadedRun) -> FigureOrReason:
    """The score against what was sent until then."""
    mine, scale = loaded.score, scale_of(loaded.score)
    title = f"{capital(mine.title)} against traffic"
    if not loaded.history.bytes():
        return NoFigure("traffic", title, "nothing travels in this method")
    traces: list[Trace] = []
    rows: list[list[Cell]] = []
    for run, style in zip(
        (*loaded.beside, loaded), [*("dash", "dot", "dashdot")[: len(loaded.beside)], "solid"], strict=True
    ):
        found = sent(run)
        if not found or not found[-1][1]:
            continue
        points = [(mb, scale(r[mine.name]), whom(r)) for r, mb in found]
        look = {"dash": style, "width": 2.4 if run is loaded else 1.6}
        traces += covered_line(points, text(run.algorithm), "@ink" if run is loaded else "@muted", **look)
        rounds = [r["round"] for r, _ in found]
        rows += [[run.algorithm, t, x, y, note or None] for t, (x, y, note) in zip(rounds, points, strict=True)]
    where = "higher up" if mine.better == "higher" else "lower down"
    caption = f"How much had to be sent, down and up, without evaluation: {where} and further left is better."
    caption += " Pale: some clients have no model yet." if any(row[-1] for row in rows) else ""
    layout = {
        "xaxis": axis("sent so far (MB)", rangemode="tozero"),
        "yaxis": axis(mine.unit),
        "hovermode": "closest",
    }
    columns = ("method", "round", "sent (MB)", mine.unit, "if not of all")
    return Figure("traffic", title, caption, columns, rows, traces, layout, True)


def sent(loaded: LoadedRun) -> list[tuple[Row, float]]:
    """The record of every tested round, and MB sent until then."""
    total, found = 0, {}
    for row in loaded.history:
        total += History([row]).bytes()
        found[row["round"]] = total / 1e6
    return [(r, round(found[r["round"]], 4)) for r in thin(loaded.tested)]


def four(value: float | None) -> float | None:
    """Four digits."""
    return None if value is None else float(f"{value:.4g}")
