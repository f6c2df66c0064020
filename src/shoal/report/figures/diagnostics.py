"""Whether the grouping is any good: agreement with the truth, objective, clusterability, number of groups, spread."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shoal.report.figure import Cell, Drawn, Figure, Missing, axis, line, rounds_axis, thin
from shoal.report.figures.curves import four
from shoal.report.read import Row, Told


def agreement(told: Told) -> Drawn:
    """ARI and NMI by round."""
    title = "Agreement with the true groups"
    rows = [r for r in told.history if r.get("ari") is not None]
    if not rows:
        return Missing("agreement", title, "no true groups are known, or the method has no groups")
    caption = "1: found exactly; ARI 0: no better than chance. Truth moves with the data where they drift."
    series = [("ARI", "ari", "@g0", "solid"), ("NMI", "nmi", "@g2", "dash")]
    return curves("agreement", title, caption, rows, series, "index (1 is perfect)", lambda r, key: r.get(key))


def objective(told: Told) -> Drawn:
    """What FeSEM and WeCFL minimise, before and after the E step."""
    title = "Objective F of the grouping"
    rows = [r for r in told.history if r.get("measures", {}).get("F") is not None]
    if not rows:
        return Missing("objective", title, "the method has no such objective")
    caption = (
        "Mean squared distance of clients' models from their centre. Within a round, assigning anew never raises it."
    )
    series = [("before the E step", "F_before", "@muted", "dot"), ("after it", "F", "@g0", "solid")]
    return curves("objective", title, caption, rows, series, "F (squared parameter distance)", measure)


def clusterability(told: Told) -> Drawn:
    """B by round: how far gradients lie from their group's mean."""
    title = "Clusterability B"
    rows = [r for r in told.history if r.get("measures", {}).get("B_max") is not None]
    if not rows:
        return Missing("clusterability", title, "B was not measured (clusterability_every=N does, for FeSEM and WeCFL)")
    caption = (
        "Largest distance of a client's gradient from its group's mean, over the length of that mean: 0 says alike."
    )
    series = [("largest of all groups", "B_max", "@g1", "solid"), ("mean over groups", "B_mean", "@g0", "solid")]
    return curves("clusterability", title, caption, rows, series, "B (ratio of norms)", measure)


def silhouette(told: Told) -> Drawn:
    """The criterion of groups=auto for every number of groups."""
    title = "How many groups?"
    found = next((r["measures"]["silhouette"] for r in told.history if r.get("measures", {}).get("silhouette")), None)
    if not found:
        return Missing("silhouette", title, "the number of groups was given, not looked for (groups=auto does)")
    x, y = [int(k) for k in found], [four(v) for v in found.values()]
    trace = line(x, y, "silhouette", "@g0", width=2) | {"mode": "lines+markers"}
    caption = "Silhouette of every number of groups considered; the highest was taken. A flat curve is a guess."
    layout = {"xaxis": axis("groups (number)", dtick=1), "yaxis": axis("silhouette (1 is best)")}
    rows: list[list[Cell]] = [[k, v] for k, v in zip(x, y, strict=True)]
    return Figure("silhouette", title, caption, ("groups", "silhouette"), rows, [trace], layout)


def discrepancy(told: Told) -> Drawn:
    """How far clients' solutions lie from the model that serves them."""
    title = "Discrepancy of clients"
    rows = [r for r in told.history if r.get("discrepancy") is not None]
    if not rows:
        return Missing("discrepancy", title, "it was not recorded")
    caption = (
        "Mean distance of what clients learnt from the model they were put into: small where members fit together."
    )
    series = [("discrepancy", "discrepancy", "@g0", "solid")]
    return curves("discrepancy", title, caption, rows, series, "distance (parameter norm)", lambda r, key: r.get(key))


def measure(row: Row, key: str) -> float | None:
    value: float | None = row["measures"].get(key)
    return value


def curves(
    key: str,
    title: str,
    caption: str,
    rows: Sequence[Row],
    series: Sequence[tuple[str, str, str, str]],
    unit: str,
    value: Callable[[Row, str], float | None],
) -> Drawn:
    """Some columns by round."""
    rows = thin(rows)
    traces, table = [], []
    for name, column, color, look in series:
        found = [(r["round"], four(value(r, column))) for r in rows]
        found = [(t, v) for t, v in found if v is not None]
        if found:
            x, y = [t for t, _ in found], [v for _, v in found]
            traces.append(
                line(x, y, name, color, dash=look, width=2) | {"mode": "lines" if len(x) > 40 else "lines+markers"}
            )
            table += [[name, t, v] for t, v in found]
    layout = {"xaxis": rounds_axis(), "yaxis": axis(unit, rangemode="tozero"), "hovermode": "x unified"}
    return Figure(key, title, caption, ("series", "round", unit), table, traces, layout)
