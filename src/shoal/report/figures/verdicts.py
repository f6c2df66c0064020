"""What CFL looked at before it split a cluster or did not, round by round, with the reason in words."""

from __future__ import annotations

from shoal.algorithms.parts.subgroups import ORDER, SILHOUETTE
from shoal.analysis.measured import measured, norms_by_group, number
from shoal.report.figure import Cell, Figure, FigureOrReason, NoFigure, Trace, axis, line, rounds_axis, text, thin
from shoal.report.figures.curves import four
from shoal.report.loaded_run import LoadedRun
from shoal.report.theme import colour

CURVES = (
    ("order", "order", "solid"),
    ("silhouette", "silhouette", "dash"),
    ("cross", "similarity across the cut", "dot"),
)
NUMBERS = ("clients", "mean_relative", "max_relative", "cross", "gamma", "subgroups", "silhouette", "order")
COLUMNS = (
    *("round", "group", "clients", "mean, of clients' length", "longest, of the first length", "similarity across"),
    *("gamma", "groups inside", "silhouette", "order", "verdict", "reason"),
)


def verdicts(loaded: LoadedRun) -> FigureOrReason:
    """How clearly the groups inside each cluster stand apart, and what was decided."""
    title = "What decided about clusters"
    told = measured(loaded.history, "clusters", norms_by_group)
    rows = thin(
        [(t, found) for t, clusters in told if (found := {k: c for k, c in clusters.items() if "verdict" in c})]
    )
    if not rows:
        return NoFigure("verdicts", title, "the records do not tell what decided about clusters")
    table: list[list[Cell]] = [
        [
            t,
            loaded.group(k),
            *(four(number(c.get(key))) for key in NUMBERS),
            str(c["verdict"]),
            str(c.get("reason", "")),
        ]
        for t, clusters in rows
        for k, c in sorted(clusters.items())
    ]
    traces: list[Trace] = []
    for k in sorted({k for _, clusters in rows for k in clusters}):
        for key, name, look in CURVES:
            points = [(t, four(value)) for t, found in rows if (value := number(found.get(k, {}).get(key))) is not None]
            if points:
                x, y = zip(*points, strict=True)
                traces.append(line(x, y, text(f"{loaded.group(k)}, {name}", 40), colour(k), dash=look, width=1.5))
    ends = [rows[0][0], rows[-1][0]]
    for limit, name, look in ((ORDER, "order", "solid"), (SILHOUETTE, "silhouette", "dash")):
        traces.append(line(ends, [limit] * 2, f"{name} from which groups stand apart", "@muted", dash=look, width=1.0))
    caption = (
        "The best groups inside each cluster. Order: how often two clients of one group are more alike than two of "
        "different groups; silhouette: how tight the groups are. With the guard a cluster that stands still is split "
        f"where order is at least {ORDER:g} and silhouette at least {SILHOUETTE:g}. The table holds every verdict."
    )
    layout = {"xaxis": rounds_axis(), "yaxis": axis("order, silhouette, cosine"), "hovermode": "closest"}
    return Figure("verdicts", title, caption, COLUMNS, table, traces, layout, True)
