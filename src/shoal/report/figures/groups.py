"""Groups over time: how large they are, who moves between them, and which labels they hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from shoal.report.figure import Cell, Figure, FigureOrReason, NoFigure, Trace, axis, rounds_axis, text, thin
from shoal.report.loaded_run import LoadedRun
from shoal.report.theme import colour

STAGES = 6  # of the flow
HEIGHT, ABOVE, UNDER, PAD = 360, 26, 20, 16  # pixels of the flow, its margins, and between its nodes
INSIDE = HEIGHT - ABOVE - UNDER
ONE = "the method does not group clients"


def sizes(loaded: LoadedRun) -> FigureOrReason:
    """Clients of each group by round, stacked."""
    rows = thin([r for r in loaded.history if "group_size" in r])
    if loaded.group_count < 2:
        return NoFigure(
            "sizes", "Group sizes", ONE if not loaded.group_count else "there was never more than one group"
        )
    x, traces, table = [r["round"] for r in rows], [], []
    for k in range(loaded.group_count):
        y = [r["group_size"][k] if k < len(r["group_size"]) else 0 for r in rows]
        shape: Trace = {
            "type": "scatter",
            "mode": "lines",
            "stackgroup": "all",
            "x": x,
            "y": y,
            "name": text(loaded.group(k), 24),
        }
        traces.append(
            {**shape, "line": {"color": colour(k), "width": 0.8, "shape": "hv"}, "fillcolor": f"{colour(k)}:soft"}
        )
        table += [[loaded.group(k), t, n] for t, n in zip(x, y, strict=True)]
    caption = "Height is the number of clients of a group; a group that swallows the others is a collapse."
    layout = {"xaxis": rounds_axis(), "yaxis": axis("clients (number)", rangemode="tozero"), "hovermode": "x unified"}
    return Figure("sizes", "Group sizes", caption, ("group", "round", "clients"), table, traces, layout, True, 260)


def flow(loaded: LoadedRun) -> FigureOrReason:
    """Who goes where: a Sankey diagram of a handful of rounds."""
    title, members = "Flow between groups", loaded.members
    if loaded.group_count < 2:
        return NoFigure("flow", title, ONE if not loaded.group_count else "there was never more than one group")
    if not members:
        return NoFigure("flow", title, "the run did not record who was in which group (earlier versions did not)")
    at, moves = stages(members)
    if len(at) < 2:
        return NoFigure("flow", title, "only one round has groups so far")
    picked = [members[i] for i in at]
    everybody = sorted({c for _, groups in picked for c in groups})
    nodes: list[tuple[int, int, int]] = []  # stage, group, clients
    for s, (_, groups) in enumerate(picked):
        count = Counter(groups.get(c, -1) for c in everybody)
        nodes += [(s, k, count[k]) for k in sorted(count, key=lambda k: (k < 0, k))]
    place = {(s, k): i for i, (s, k, _) in enumerate(nodes)}
    links: list[tuple[int, int, int, int]] = []  # stage, from, to, clients
    for s, ((_, before), (_, after)) in enumerate(pairwise(picked)):
        pairs = Counter((before.get(c, -1), after.get(c, -1)) for c in everybody)
        links += [(s, a, b, n) for (a, b), n in sorted(pairs.items())]
    trace = {
        "type": "sankey",
        "arrangement": "fixed",
        "node": {**positions(nodes, len(picked)), "thickness": 12, "line": {"width": 0}}
        | {"label": [text(loaded.group(k), 10) if s in (0, len(picked) - 1) else "" for s, k, _ in nodes]}
        | {"color": [colour(k) for _, k, _ in nodes]}
        | {"customdata": [text(f"{loaded.group(k)}: {n} clients in round {picked[s][0]}") for s, k, n in nodes]}
        | {"hovertemplate": "%{customdata}<extra></extra>"},
        "link": {
            "source": [place[s, a] for s, a, _, _ in links],
            "target": [place[s + 1, b] for s, _, b, _ in links],
            "value": [n for *_, n in links],
            "color": [f"{colour(a)}:{'faint' if a == b else 'soft'}" for _, a, b, _ in links],
            "customdata": [text(f"{n} clients from {loaded.group(a)} to {loaded.group(b)}") for _, a, b, n in links],
            "hovertemplate": "%{customdata}<extra></extra>",
        },
        "textfont": {"color": "@ink", "size": 11},
    }
    marks = [heading(str(t) if s else f"round {t}", s / (len(picked) - 1)) for s, (t, _) in enumerate(picked)]
    table: list[list[Cell]] = [
        [picked[s][0], picked[s + 1][0], loaded.group(a), loaded.group(b), n] for s, a, b, n in links
    ]
    caption = f"Bands are clients, from left to right; stronger ones change groups. {moves_sentence(loaded, moves)}"
    columns = ("from round", "to round", "from group", "to group", "clients")
    return Figure(
        "flow",
        title,
        caption,
        columns,
        table,
        [trace],
        {"annotations": marks, "margin": {"l": 8, "r": 8, "t": 26, "b": 20}},
        True,
        360,
    )


def stages(members: list[tuple[int, Mapping[str, int]]]) -> tuple[list[int], int]:
    """Places of the rounds to show: the first with groups, the last, and those with the most moves; and all moves.

    >>> a, b = {"x": 0, "y": 0}, {"x": 0, "y": 1}
    >>> stages([(0, {"x": -1, "y": -1}), (1, a), (2, a), (3, b), (4, b)])
    ([1, 3, 4], 1)
    """
    first = next((i for i, (_, groups) in enumerate(members) if any(k >= 0 for k in groups.values())), None)
    if first is None:
        return [], 0
    moved = {}
    for i in range(first + 1, len(members)):
        before, after = members[i - 1][1], members[i][1]
        n = sum(before.get(c, -1) != k for c, k in after.items()) + sum(c not in after for c in before)
        if n:
            moved[i] = (sum(before.get(c, -1) not in (-1, k) for c, k in after.items() if k >= 0), n)
    largest = sorted(moved, key=lambda i: (-moved[i][0], -moved[i][1], i))[: STAGES - 2]
    return sorted({first, *largest, len(members) - 1}), sum(real for real, _ in moved.values())


def moves_sentence(loaded: LoadedRun, moves: int) -> str:
    clients, sampled = len(loaded.members[-1][1]), sum(loaded.history[-1].get("group_size", []))
    of = f"Of {clients:,} recorded clients" if sampled > clients else "In all"
    return f"{of}, {moves:,} change{'s' if moves != 1 else ''} of group over the whole run."


def positions(nodes: list[tuple[int, int, int]], columns: int) -> dict[str, Any]:
    """Middles of the nodes of a flow: a column per stage, groups in order of their numbers, columns centred.

    Plotly makes the fullest column as high as the figure; so the heights are known.

    >>> positions([(0, 0, 4), (1, 0, 2), (1, 1, 2)], 2)
    {'pad': 16.0, 'x': [0.001, 0.999, 0.999], 'y': [0.5, 0.2373, 0.7627]}
    """
    total, many = sum(n for s, _, n in nodes if s == 0), Counter(s for s, _, _ in nodes)
    gaps = max(many.values()) - 1
    gap = min(PAD / INSIDE, 0.3 / max(gaps, 1))
    filled = 1 - gap * gaps  # of the height, by nodes
    below = {s: (1 - filled - gap * (count - 1)) / 2 for s, count in many.items()}
    x, y = [], []
    for s, _, n in nodes:
        height = filled * n / total
        x.append(min(max(round(s / (columns - 1), 4), 0.001), 0.999))
        y.append(round(below[s] + height / 2, 4))
        below[s] += height + gap
    return {"pad": round(gap * INSIDE, 2), "x": x, "y": y}


def heading(label: str, x: float) -> dict[str, Any]:
    """A word above the figure."""
    side = "left" if x == 0 else "right" if x == 1 else "center"
    place = {
        "xref": "paper",
        "yref": "paper",
        "x": x,
        "y": 1.01,
        "xanchor": side,
        "yanchor": "bottom",
        "showarrow": False,
    }
    return {**place, "text": label, "font": {"size": 11, "color": "@muted"}}


def labels(loaded: LoadedRun) -> FigureOrReason:
    """Which share of a group's test samples is of which class."""
    title = "Labels of each group"
    found = next((r for r in reversed(loaded.tested) if "labels" in r), None)
    if found is None:
        why = "no round with groups was tested yet"
        if not loaded.has_classes:
            why = "what is learnt are no classes"
        elif any(f"group_{loaded.score.name}" in r for r in loaded.tested):
            why = "the run did not count tests by class (per_class=false)"
        return NoFigure("labels", title, why if loaded.group_count else ONE)
    counts = [(k, row) for k, row in enumerate(found["labels"]["samples"]) if sum(row)]
    z = [[round(100 * n / sum(row), 2) for n in row] for _, row in counts]
    names = [text(loaded.group(k), 18) for k, _ in counts]
    classes = list(range(len(z[0])))
    called = loaded.class_names if loaded.class_names and len(loaded.class_names) == len(classes) else classes
    table = [[loaded.group(k), called[c], n] for k, row in counts for c, n in enumerate(row)]
    trace = {
        "type": "heatmap",
        "z": z,
        "x": classes,
        "y": list(range(len(names))),
        "zmin": 0,
        "zmax": max(max(row) for row in z),
        "colorscale": [[0, "@zero"], [1, "@high"]],
        "colorbar": bar("share (%)"),
        "xgap": 1,
        "ygap": 2,
        "customdata": [[f"{name}, class {text(str(word), 18)}" for word in called] for name in names],
        "hovertemplate": "%{customdata}: %{z} %<extra></extra>",
    }
    share = f"Test samples of each class as a share of the group's, round {found['round']}."
    caption = f"{share} Rows that differ are groups that hold different data."
    ticks = {"tickmode": "array", "tickvals": list(range(len(names))), "ticktext": names, "autorange": "reversed"}
    every: dict[str, Any] = {"dtick": 1} if len(classes) <= 20 else {}
    if called is not classes and len(classes) <= 40:
        every = {"tickmode": "array", "tickvals": classes, "ticktext": [text(str(word), 12) for word in called]}
    x = axis("class", showgrid=False, zeroline=False, **every)
    layout = {"xaxis": x, "yaxis": axis("group", showgrid=False, zeroline=False, **ticks)}
    return Figure("labels", title, caption, ("group", "class", "samples"), table, [trace], layout, False, 420)


def bar(title: str) -> dict[str, Any]:
    """A colour bar that leaves room for the figure."""
    look = {"thickness": 10, "outlinewidth": 0, "tickfont": {"color": "@muted"}, "len": 0.9}
    return {**look, "title": {"text": title, "side": "right", "font": {"size": 11, "color": "@muted"}}}
