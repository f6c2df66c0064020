"""CFL's tree of splits, and the norms that decide about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shoal.report.figure import Cell, Drawn, Figure, Missing, Trace, axis, colour, line, rounds_axis, text, thin
from shoal.report.figures.curves import four
from shoal.report.read import Told


@dataclass(frozen=True)
class Branch:
    """A cluster between two splits: its number, from when to when, how many clients, and what became of it."""

    group: int
    begin: int
    end: int
    clients: int
    sides: tuple[Branch, ...] = ()
    split: dict[str, Any] | None = None


def grow(told: Told) -> Branch | None:
    """The tree of a run's splits; None if there were none."""
    splits = [e for e in told.events if e["kind"] == "split"]
    if not splits:
        return None
    last = told.history[-1]
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


def splits(told: Told) -> Drawn:
    """The tree of splits over rounds."""
    title, root = "Tree of splits", grow(told)
    if root is None:
        return Missing(
            "splits", title, "no cluster was split" if told.algorithm == "cfl" else "the method does not split groups"
        )
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
            figures = [f"{name} {split[key]:.3g}" for key, name in NAMES if split.get(key) is not None]
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
    ticks = [text(f"{told.group(b.group)} ({b.clients})", 22) for _, b in leaves]
    y = axis("group at the end (clients)", tickmode="array", tickvals=[p for p, _ in leaves], ticktext=ticks)
    y |= {"showgrid": False, "zeroline": False, "range": [len(leaves) - 0.5, -0.5]}
    layout = {"xaxis": rounds_axis(), "yaxis": y, "hovermode": "closest"}
    height = max(240, 90 + 44 * len(leaves))
    return Figure("splits", title, caption_of(told), COLUMNS, rows_of(told), traces, layout, True, height, table=True)


NAMES = (
    ("mean_norm", "norm of the mean update"),
    ("max_norm", "largest norm"),
    ("cross", "largest similarity across the cut"),
)
COLUMNS = ("round", "group", "into", "clients", "norm of mean", "eps1", "largest norm", "eps2", "similarity across")


def rows_of(told: Told) -> list[list[Cell]]:
    """A row per split, with the thresholds it was held against."""
    fixed = bool(told.own.get("split_rounds"))
    eps1, eps2 = (None if fixed else told.own.get(name) for name in ("eps1", "eps2"))
    rows: list[list[Cell]] = []
    for e in told.events:
        if e["kind"] == "split":
            into, sides = " + ".join(map(told.group, e["into"])), " + ".join(str(len(s)) for s in e["clients"])
            norms = (four(e["mean_norm"]), eps1, four(e["max_norm"]), eps2, four(e["cross"]))
            rows.append([e["round"], told.group(e["group"]), into, sides, *norms])
    return rows


def caption_of(told: Told) -> str:
    if told.own.get("split_rounds"):
        rule = f"Splits were asked for in rounds {str(told.own['split_rounds']).replace('+', ', ')}"
    else:
        eps1, eps2 = (f"{name} = {told.own.get(name)}" for name in ("eps1", "eps2"))
        rule = f"A cluster splits when its mean update is shorter than {eps1} while some client's is at least {eps2}"
    return (
        f"{rule}. Lines are clusters, as thick as they have clients; a circle is a split, with its norms on hovering."
    )


def norms(told: Told) -> Drawn:
    """Norm of each cluster's mean update, and of its largest one, by round."""
    title = "Norms of updates"
    rows = thin([r for r in told.history if r.get("measures", {}).get("clusters")])
    if not rows:
        return Missing("norms", title, "the method does not watch norms of updates")
    table: list[list[Cell]] = []
    traces: list[Trace] = []
    for k in range(told.group_count):
        mine = [(r["round"], r["measures"]["clusters"][str(k)]) for r in rows if str(k) in r["measures"]["clusters"]]
        for key, name, look in (("mean_norm", "mean", "solid"), ("max_norm", "largest", "dot")):
            x, y = [t for t, _ in mine], [four(m[key]) for _, m in mine]
            if x:
                traces.append(line(x, y, text(f"{told.group(k)}, {name}", 24), colour(k), dash=look, width=1.5))
                table += [[told.group(k), name, t, v] for t, v in zip(x, y, strict=True)]
    ends = [rows[0]["round"], rows[-1]["round"]]
    if not told.own.get("split_rounds"):
        for name, look in (("eps1", "dash"), ("eps2", "dashdot")):
            if told.own.get(name):
                traces.append(
                    line(ends, [told.own[name]] * 2, f"{name} = {told.own[name]}", "@muted", dash=look, width=1.2)
                )
    mean = "Solid: the mean update of a cluster, which goes to zero as it converges."
    caption = f"{mean} Dotted: its client with the largest update; if that stays large, the members disagree."
    layout = {"xaxis": rounds_axis(), "yaxis": axis("Euclidean norm", type="log"), "hovermode": "x unified"}
    return Figure("norms", title, caption, ("group", "of", "round", "norm"), table, traces, layout, True)
