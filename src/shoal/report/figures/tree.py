"""CFL's tree of splits, and the norms that decide about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shoal.algorithms import ALGORITHMS
from shoal.algorithms.parts.split_criteria import CONGRUENT, STATIONARY
from shoal.analysis.measured import measured, norms_by_group, number
from shoal.report.figure import Cell, Figure, FigureOrReason, NoFigure, Trace, axis, line, rounds_axis, text, thin
from shoal.report.figures.curves import four
from shoal.report.loaded_run import LoadedRun, Row
from shoal.report.theme import colour


@dataclass(frozen=True)
class Branch:
    """A cluster between two splits: its number, from when to when, how many clients, and what became of it."""

    group: int
    begin: int
    end: int
    clients: int
    sides: tuple[Branch, ...] = ()
    split: dict[str, Any] | None = None


def split_events(loaded: LoadedRun) -> list[Row]:
    """The splits of a run that say who was split into what; an own method may call anything a split."""
    return [e for e in loaded.events if e["kind"] == "split" and isinstance(e.get("group"), int) and two_sides(e)]


def two_sides(event: Row) -> bool:
    """Whether an event names two groups and the clients of each.

    >>> two_sides({"into": [0, 1], "clients": [["ann"], ["bob"]]}), two_sides({"into": 2}), two_sides({})
    (True, False, False)
    """
    into, clients = event.get("into"), event.get("clients")
    if not isinstance(into, list) or not isinstance(clients, list) or len(into) != 2 or len(clients) != 2:
        return False
    return all(isinstance(k, int) for k in into) and all(isinstance(side, list) for side in clients)


def grow(loaded: LoadedRun) -> Branch | None:
    """The tree of a run's splits; None if there were none."""
    splits = split_events(loaded)
    if not splits:
        return None
    last = loaded.history[-1]
    sizes = last.get("group_size", [])

    def branch(group: int, begin: int, clients: int, after: int) -> Branch:
        for i in range(after, len(splits)):
            if splits[i]["group"] == group:
                a, b = splits[i]["into"]
                left, right = (len(side) for side in splits[i]["clients"])
                t = int(splits[i]["round"])
                sides = (branch(a, t, left, i + 1), branch(b, t, right, i + 1))
                return Branch(group, begin, t, clients, sides, dict(splits[i]))
        now = sizes[group] if group < len(sizes) else clients
        return Branch(group, begin, int(last["round"]), now)

    return branch(int(splits[0]["group"]), 0, sum(len(s) for s in splits[0]["clients"]), 0)


def splits(loaded: LoadedRun) -> FigureOrReason:
    """The tree of splits over rounds."""
    title, root = "Tree of splits", grow(loaded)
    if root is None:
        splitter = loaded.algorithm in ALGORITHMS.having("splits")
        return NoFigure("splits", title, "no cluster was split" if splitter else "the method does not split groups")
    traces: list[Trace] = []
    marks: list[tuple[float, float, str]] = []
    leaves: list[tuple[float, Branch]] = []

    def draw(branch: Branch) -> float:
        """Draws a branch and what hangs on it; the height at which it lies."""
        if not branch.sides:
            y = float(len(leaves))
            leaves.append((y, branch))
        else:
            ends = [draw(side) for side in branch.sides]
            y = sum(ends) / 2
            split = branch.split or {}
            traces.append(line([branch.end] * 2, ends, "", "@line", width=1.5, showlegend=False, hoverinfo="skip"))
            into = " and ".join(str(side.clients) for side in branch.sides)
            said = f"round {branch.end}: {branch.clients} clients become {into}"
            figures = [f"{name} {split[key]:.3g}" for key, name in NAMES if number(split.get(key)) is not None]
            marks.append((branch.end, y, "<br>".join([said, *figures])))
        width = 2 + 6 * branch.clients / max(root.clients, 1)
        shape: dict[str, Any] = {"showlegend": False, "hoverinfo": "skip", "width": round(width, 2)}
        traces.append(line([branch.begin, branch.end], [y, y], "", colour(branch.group), **shape))
        return y

    draw(root)
    dots: Trace = {"type": "scatter", "mode": "markers", "x": [m[0] for m in marks], "y": [m[1] for m in marks]}
    dots |= {
        "marker": {"size": 11, "color": "@panel", "line": {"color": "@ink", "width": 2}},
        "text": [m[2] for m in marks],
    }
    traces.append({**dots, "hovertemplate": "%{text}<extra></extra>", "name": "split", "showlegend": False})
    ticks = [text(f"{loaded.group(b.group)} ({b.clients})", 22) for _, b in leaves]
    y = axis("group at the end (clients)", tickmode="array", tickvals=[p for p, _ in leaves], ticktext=ticks)
    y |= {"showgrid": False, "zeroline": False, "range": [len(leaves) - 0.5, -0.5]}
    layout = {"xaxis": rounds_axis(), "yaxis": y, "hovermode": "closest"}
    height = max(240, 90 + 44 * len(leaves))
    return Figure(
        "splits", title, caption_of(loaded), COLUMNS, rows_of(loaded), traces, layout, True, height, table=True
    )


NAMES = (
    ("mean_norm", "norm of the mean update"),
    ("max_norm", "largest norm"),
    ("cross", "largest similarity across the cut"),
)
COLUMNS = ("round", "group", "into", "clients", "norm of mean", "eps1", "largest norm", "eps2", "similarity across")


def rows_of(loaded: LoadedRun) -> list[list[Cell]]:
    """A row per split, with the thresholds it was held against."""
    fixed = bool(loaded.own.get("split_rounds"))
    rows: list[list[Cell]] = []
    for e in split_events(loaded):
        eps1, eps2 = (None if fixed else four(number(e.get(n, loaded.own.get(n)))) for n in ("eps1", "eps2"))
        into, sides = " + ".join(map(loaded.group, e["into"])), " + ".join(str(len(s)) for s in e["clients"])
        mean, largest, cross = (four(number(e.get(key))) for key, _ in NAMES)
        rows.append([e["round"], loaded.group(e["group"]), into, sides, mean, eps1, largest, eps2, cross])
    return rows


def caption_of(loaded: LoadedRun) -> str:
    if loaded.own.get("split_rounds"):
        rule = f"Splits were asked for in rounds {str(loaded.own['split_rounds']).replace('+', ', ')}"
    else:
        eps1, eps2 = (f"{name} = {loaded.own.get(name)}" for name in ("eps1", "eps2"))
        if relative(loaded):
            eps1, eps2 = (
                f"{STATIONARY:g} of its clients' mean length",
                f"{CONGRUENT:g} of the first round's mean length",
            )
        rule = f"A cluster splits when its mean update is shorter than {eps1} while some client's is at least {eps2}"
    return (
        f"{rule}. Lines are clusters, as thick as they have clients; a circle is a split, with its norms on hovering."
    )


def relative(loaded: LoadedRun) -> bool:
    """Whether both thresholds were taken from what the federation shows, so that norms are told in these units."""
    return loaded.own.get("eps1") == loaded.own.get("eps2") == "auto"


def norms(loaded: LoadedRun) -> FigureOrReason:
    """Norm of each cluster's mean update, and of its largest one, by round; in the units of the thresholds."""
    title = "Norms of updates"
    rows = thin(measured(loaded.history, "clusters", norms_by_group))
    if not rows:
        return NoFigure("norms", title, "the method does not watch norms of updates")
    units = relative(loaded)
    table: list[list[Cell]] = []
    traces: list[Trace] = []
    for k in sorted({k for _, clusters in rows for k in clusters}):
        mine = [(t, clusters[k]) for t, clusters in rows if k in clusters]
        for key, name, look in (("mean", "mean", "solid"), ("max", "largest", "dot")):
            at = f"{key}_{'relative' if units else 'norm'}"
            x, y = [t for t, _ in mine], [four(number(m.get(at))) for _, m in mine]
            if x:
                traces.append(line(x, y, text(f"{loaded.group(k)}, {name}", 24), colour(k), dash=look, width=1.5))
                table += [[loaded.group(k), name, t, v] for t, v in zip(x, y, strict=True)]
    ends = [rows[0][0], rows[-1][0]]
    if not loaded.own.get("split_rounds"):
        for name, look, share in (("eps1", "dash", STATIONARY), ("eps2", "dashdot", CONGRUENT)):
            if limit := (share if units else number(loaded.own.get(name))):
                traces.append(line(ends, [limit] * 2, f"{name} = {limit}", "@muted", dash=look, width=1.2))
    mean = "Solid: the mean update of a cluster, which goes to zero as it converges."
    caption = f"{mean} Dotted: its client with the largest update; if that stays large, the members disagree."
    if units:
        caption += " Means in units of the cluster's mean update length, longest ones in those of the first round."
    name = "norm, in units of mean lengths" if units else "Euclidean norm"
    layout = {"xaxis": rounds_axis(), "yaxis": axis(name, type="log"), "hovermode": "x unified"}
    return Figure("norms", title, caption, ("group", "of", "round", "norm"), table, traces, layout, True)
