"""Whether the grouping is any good: agreement with the truth, objective, clusterability, number of groups, spread."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shoal.algorithms.parts.number_of_groups import LEAST
from shoal.analysis.measured import by_count, measured, number
from shoal.report.figure import Cell, Figure, FigureOrReason, NoFigure, axis, line, rounds_axis, thin
from shoal.report.figures.curves import four
from shoal.report.loaded_run import LoadedRun


def agreement(loaded: LoadedRun) -> FigureOrReason:
    """ARI and NMI by round."""
    title = "Agreement with the true groups"
    if all(r.get("ari") is None for r in loaded.history):
        return NoFigure("agreement", title, "no true groups are known, or the method has no groups")
    caption = "1: found exactly; ARI 0: no better than chance. Truth moves with the data where they drift."
    series = [("ARI", "ari", "@g0", "solid"), ("NMI", "nmi", "@g2", "dash")]
    return curves("agreement", title, caption, series, "index (1 is perfect)", columns_of(loaded))


def objective(loaded: LoadedRun) -> FigureOrReason:
    """What FeSEM and WeCFL minimise, before and after the E step."""
    title = "Objective F of the grouping"
    if not measured(loaded.history, "F", number):
        return NoFigure("objective", title, "the method has no such objective")
    caption = (
        "Mean squared distance of clients' models from their centre. Within a round, assigning anew never raises it."
    )
    series = [("before the E step", "F_before", "@muted", "dot"), ("after it", "F", "@g0", "solid")]
    return curves("objective", title, caption, series, "F (squared parameter distance)", measures_of(loaded))


def clusterability(loaded: LoadedRun) -> FigureOrReason:
    """B by round: how far gradients lie from their group's mean."""
    title = "Clusterability B"
    if not measured(loaded.history, "B_max", number):
        return NoFigure(
            "clusterability", title, "B was not measured (clusterability_every=N does, for FeSEM and WeCFL)"
        )
    caption = (
        "Largest distance of a client's gradient from its group's mean, over the length of that mean: 0 says alike."
    )
    series = [("largest of all groups", "B_max", "@g1", "solid"), ("mean over groups", "B_mean", "@g0", "solid")]
    return curves("clusterability", title, caption, series, "B (ratio of norms)", measures_of(loaded))


def gradients(loaded: LoadedRun) -> FigureOrReason:
    """Squared gradients at the groups' models, and the least that WeCFL's equation 9 promises to reach."""
    title = "Squared gradients and what theory promises"
    if not measured(loaded.history, "gradient_square", number):
        return NoFigure("gradients", title, "gradients were not measured (diagnostics=true does, for FeSEM and WeCFL)")
    caption = (
        "Mean squared gradient at the groups' models. Above the floor of WeCFL's equation 9 a number of rounds is "
        "promised to bring it down; below it, nothing is. No floor is drawn where no learning rate is covered."
    )
    series = [("measured", "gradient_square", "@g0", "solid"), ("floor of the theorem", "eps_floor", "@g1", "dash")]
    return curves("gradients", title, caption, series, "squared gradient norm", measures_of(loaded))


def divergence(loaded: LoadedRun) -> FigureOrReason:
    """FlexCFL's delta by round."""
    title = "Intra-group gradient divergence"
    if not measured(loaded.history, "delta", number):
        reason = "gradients were not measured (diagnostics=true does, for FedGroup and FlexCFL)"
        return NoFigure("divergence", title, reason)
    caption = "How far gradients of clients lie from their group's: delta of FlexCFL's theorem. 0: all members alike."
    series = [("largest of all groups", "delta_max", "@g1", "solid"), ("delta, all clients", "delta", "@g0", "solid")]
    return curves("divergence", title, caption, series, "delta (gradient norm)", measures_of(loaded))


def loss_bound(loaded: LoadedRun) -> FigureOrReason:
    """The bound of FlexCFL's theorem 1 by round."""
    title = "Bound of FlexCFL's theorem 1"
    if not measured(loaded.history, "loss_bound", number):
        return NoFigure("loss_bound", title, "it was not measured, or is too large for a number")
    caption = (
        "How much the loss of a group's model may differ from that of one trained centrally on the group's data, from "
        "estimates of delta, M and L. It grows exponentially with local steps: a worst case, not a forecast."
    )
    series = [("bound", "loss_bound", "@g0", "solid")]
    return curves("loss_bound", title, caption, series, "difference of loss (nats)", measures_of(loaded))


def silhouette(loaded: LoadedRun) -> FigureOrReason:
    """The criterion of groups=auto for every number of groups."""
    title = "How many groups?"
    found = next((value for _, value in measured(loaded.history, "silhouette", by_count)), None)
    if found is None:
        return NoFigure("silhouette", title, "the number of groups was given, not looked for (groups=auto does)")
    clarity = next((value for _, value in measured(loaded.history, "clarity", by_count)), {})
    x, y, clear = [int(k) for k in found], [four(v) for v in found.values()], [four(v) for v in clarity.values()]
    traces = [line(x, y, "silhouette", "@g0", width=2) | {"mode": "lines+markers"}]
    if clarity:
        traces.append(line(x, clear, "clarity", "@g1", width=2) | {"mode": "lines+markers"})
    given = loaded.own.get("groups")
    best = "the highest was taken"
    if clarity:
        stands = max(clarity.values()) >= LEAST
        best = f"the highest whose clarity reaches {LEAST:g} was taken" if stands else "none stands out: one group"
    taken = {"auto": best, None: "1 is best"}.get(given, f"groups={given} was given, and taken")
    caption = f"Silhouette of every number of groups considered; {taken}. A flat curve is a guess."
    if clarity:
        caption += " Clarity is the silhouette that nine of ten clients and every group reach."
    layout = {"xaxis": axis("groups (number)", dtick=1), "yaxis": axis("silhouette (1 is best)")}
    shown = {"groups": x, "silhouette": y} | ({"clarity": clear} if clarity else {})
    rows: list[list[Cell]] = [list(row) for row in zip(*shown.values(), strict=True)]
    return Figure("silhouette", title, caption, tuple(shown), rows, traces, layout)


def discrepancy(loaded: LoadedRun) -> FigureOrReason:
    """How far clients' solutions lie from the model that serves them."""
    title = "Discrepancy of clients"
    if all(r.get("discrepancy") is None for r in loaded.history):
        return NoFigure("discrepancy", title, "it was not recorded")
    caption = (
        "Mean distance of what clients learnt from the model they were put into: small where members fit together."
    )
    series = [("discrepancy", "discrepancy", "@g0", "solid")]
    return curves("discrepancy", title, caption, series, "distance (parameter norm)", columns_of(loaded))


Column = Callable[[str], list[tuple[int, float]]]  # round and value of what is called so


def measures_of(loaded: LoadedRun) -> Column:
    """What the algorithm reported, where it is a number."""
    return lambda name: measured(loaded.history, name, number)


def columns_of(loaded: LoadedRun) -> Column:
    """What every record may hold."""
    return lambda name: [(r["round"], r[name]) for r in loaded.history if r.get(name) is not None]


def curves(
    key: str,
    title: str,
    caption: str,
    series: Sequence[tuple[str, str, str, str]],
    unit: str,
    column: Column,
) -> FigureOrReason:
    """Some columns by round."""
    traces, table = [], []
    for name, key_of, color, look in series:
        found = [(t, four(v)) for t, v in thin(column(key_of))]
        if found:
            x, y = [t for t, _ in found], [v for _, v in found]
            traces.append(
                line(x, y, name, color, dash=look, width=2) | {"mode": "lines" if len(x) > 40 else "lines+markers"}
            )
            table += [[name, t, v] for t, v in found]
    layout = {"xaxis": rounds_axis(), "yaxis": axis(unit, rangemode="tozero"), "hovermode": "x unified"}
    return Figure(key, title, caption, ("series", "round", unit), table, traces, layout)
