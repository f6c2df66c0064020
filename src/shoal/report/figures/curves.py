"""Accuracy, F1 and loss by round, with a curve per group, and accuracy against traffic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from shoal.experiment.history import History
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
    text,
    thin,
)
from shoal.report.read import Told

Scale = Callable[[float | None], float | None]


def accuracy(told: Told) -> Drawn:
    """Test accuracy of all clients and of each group, FedAvg and local beside it."""
    return by_round(
        told,
        ("accuracy", "Accuracy", "accuracy", "group_accuracy", "accuracy (%)"),
        percent,
        "Right answers of all clients over all their test samples, each client with the model of its group.",
        wide=True,
    )


def f1(told: Told) -> Drawn:
    """Macro F1, mean over clients."""
    return by_round(
        told,
        ("f1", "Macro F1", "f1", "group_f1", "macro F1 (%)"),
        percent,
        "Every class counts the same, every client counts the same: higher is better also for rare classes.",
    )


def loss(told: Told) -> Drawn:
    """Test loss, and the loss of training."""
    trained = thin([r for r in told.history if r.get("loss") is not None])
    extra = [("training", [r["round"] for r in trained], [four(r["loss"]) for r in trained])]
    return by_round(
        told,
        ("loss", "Loss", "test_loss", "group_loss", "mean loss (nats)"),
        four,
        "Cross-entropy on test samples; a test curve that rises while training falls says overfitting.",
        extra=extra,
    )


def by_round(
    told: Told,
    names: tuple[str, str, str, str, str],
    scale: Scale,
    caption: str,
    wide: bool = False,
    extra: Sequence[tuple[str, list[int], list[float | None]]] = (),
) -> Drawn:
    """A curve of everybody, one per group, and those of the runs beside."""
    key, title, column, by_group, unit = names
    tested = thin(told.tested)
    if not tested:
        return Missing(key, title, "no round was tested yet")
    x = [r["round"] for r in tested]
    everybody = [scale(r[column]) for r in tested]
    series: list[tuple[str, list[int], list[float | None], dict[str, Any]]] = []
    for k in range(told.group_count):
        y = [scale(part[k]) if k < len(part := r.get(by_group) or []) else None for r in tested]
        if told.group_count > 1 and any(v is not None for v in y):
            series.append((told.group(k), x, y, {"color": colour(k), "dash": dash(k), "width": 1.5}))
    if wide:
        for other, style in zip(told.beside, ("dash", "dot", "dashdot"), strict=False):
            rows = thin(other.tested)
            y = [scale(r[column]) for r in rows]
            series.append((other.algorithm, [r["round"] for r in rows], y, {"color": "@muted", "dash": style}))
    for name, at, y in extra:
        if y:
            series.append((name, at, y, {"color": "@muted", "dash": "dot"}))
    series.append(("all clients", x, everybody, {"color": "@ink", "width": 2.6}))
    traces = [line(at, y, text(name, 24), **style) for name, at, y, style in series]
    table: list[list[Cell]] = [
        [name, t, v] for name, at, y, _ in series for t, v in zip(at, y, strict=True) if v is not None
    ]
    if any(r.get("partial") for r in tested):
        caption += " In the first rounds some clients have no model yet; those do not count for the best."
    layout = {"xaxis": rounds_axis(), "yaxis": axis(unit), "hovermode": "x unified"}
    return Figure(key, title, caption, ("series", "round", unit), table, traces, layout, wide, 400 if wide else 320)


def traffic(told: Told) -> Drawn:
    """Accuracy against what was sent until then."""
    title = "Accuracy against traffic"
    if not told.history.bytes():
        return Missing("traffic", title, "nothing travels in this method")
    traces: list[Trace] = []
    rows: list[list[Cell]] = []
    for run, style in zip(
        (*told.beside, told), [*("dash", "dot", "dashdot")[: len(told.beside)], "solid"], strict=True
    ):
        x, y, at = sent(run)
        if not x or not x[-1]:
            continue
        mine = run is told
        name = run.algorithm
        traces.append(line(x, y, text(name), "@ink" if mine else "@muted", dash=style, width=2.4 if mine else 1.6))
        rows += [[name, t, mb, acc] for t, mb, acc in zip(at, x, y, strict=True)]
    caption = "How much had to be sent, down and up, without evaluation: higher up and further left is better."
    layout = {
        "xaxis": axis("sent so far (MB)", rangemode="tozero"),
        "yaxis": axis("accuracy (%)"),
        "hovermode": "closest",
    }
    return Figure(
        "traffic", title, caption, ("method", "round", "sent (MB)", "accuracy (%)"), rows, traces, layout, True
    )


def sent(told: Told) -> tuple[list[float], list[float | None], list[int]]:
    """MB sent until each tested round, the accuracy there, and the round."""
    total, found = 0, {}
    for row in told.history:
        total += History([row]).bytes()
        found[row["round"]] = total / 1e6
    rows = thin(told.tested)
    return (
        [round(found[r["round"]], 4) for r in rows],
        [percent(r["accuracy"]) for r in rows],
        [r["round"] for r in rows],
    )


def four(value: float | None) -> float | None:
    """Four digits."""
    return None if value is None else float(f"{value:.4g}")
