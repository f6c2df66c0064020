"""How alike clients are: the similarity of every pair, and where clients lie in a plane."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from shoal.loop.similarity import is_pictured, unpack
from shoal.report.figure import Cell, Figure, FigureOrReason, NoFigure, Trace, axis, text
from shoal.report.figures.groups import bar
from shoal.report.loaded_run import LoadedRun, Row
from shoal.report.theme import colour, symbol
from shoal.types import Array

SHOWN = 4  # pictures of a run
NOTHING = "no round has a picture of how alike clients are (runs of earlier versions have none)"
Place = Callable[[Row], tuple[list[float], list[float], str, str]]  # picture -> x, y, their names


def chosen(loaded: LoadedRun) -> tuple[list[tuple[int, Row]], int]:
    """The pictures to show, and the place of the one to show first: the first in which there are groups.

    That is what the grouping was decided on. Then those in which groups changed, and the latest.
    """
    found = loaded.pictures
    groups = [len(set(p.get("group", [])) - {-1}) for _, p in found]
    first = next((i for i, n in enumerate(groups) if n > 1), 0)
    odd = [i for i, (t, _) in enumerate(found) if not is_pictured(t)]  # groups changed in them
    even = [i for i in range(len(found)) if i not in odd]
    order = [first, len(found) - 1, *odd[: SHOWN - 3], 0, *reversed(even), *odd]
    kept = sorted(dict.fromkeys(order[: 4 * SHOWN]), key=order.index)[:SHOWN]
    kept.sort()
    return [found[i] for i in kept], kept.index(first)


def ordered(picture: Row) -> Array:
    """Places of the clients, group by group, inside by truth and name."""
    n = len(picture["ids"])
    group, truth = picture.get("group", [0] * n), picture.get("truth", [0] * n)
    return np.array(sorted(range(n), key=lambda i: (group[i] < 0, group[i], truth[i], picture["ids"][i])), int)


def similarity(loaded: LoadedRun) -> FigureOrReason:
    """The similarity of every pair of clients, ordered by group."""
    title = "Similarity of clients"
    if not loaded.pictures:
        return NoFigure("similarity", title, NOTHING)
    pictures, active = chosen(loaded)
    traces: list[Trace] = []
    options: list[dict[str, Any]] = []
    table: list[list[Cell]] = []
    for number, (t, p) in enumerate(pictures):
        order, cosine = ordered(p), p["measure"] == "cosine"
        z_NN = unpack(p["pairs"], len(order), 1.0 if cosine else 0.0)[np.ix_(order, order)] * p["scale"]
        scale = [[0, "@low"], [0.5, "@zero"], [1, "@high"]] if cosine else [[0, "@high"], [1, "@zero"]]
        trace: Trace = {"type": "heatmap", "z": [[float(f"{v:.3g}") for v in row] for row in z_NN.tolist()]}
        trace |= {"colorscale": scale, "colorbar": bar("cosine similarity" if cosine else "Euclidean distance")}
        trace |= {"zmin": -1 if cosine else 0, "zmax": 1 if cosine else p["scale"], "visible": number == active}
        axes = ticks(loaded, p, order)
        options.append({"label": str(t), "traces": [number], "layout": {"shapes": edges(p, order), **axes}})
        traces.append({**trace, "hovertemplate": "row %{y}, column %{x}: %{z}<extra></extra>"})
        if number == active:
            rank = [p["ids"][i] for i in order]
            table = [[name, *row] for name, row in zip(rank, traces[-1]["z"], strict=True)]
    t, p = pictures[active]
    layout: dict[str, Any] = {
        "xaxis": axis("client, ordered by group", showgrid=False, zeroline=False),
        "yaxis": axis("client, ordered by group", showgrid=False, zeroline=False, autorange="reversed"),
        "meta": {"choice": "round", "options": options, "active": active},
    }
    for name, value in options[active]["layout"].items():
        where, _, key = name.partition(".")
        if key:
            layout[where][key] = value
        else:
            layout[where] = value
    seen = sentence(p)
    caption = f"{seen} Blocks along the diagonal are clients that are alike; lines part the groups."
    return Figure("similarity", title, caption, (f"round {t}", *rank), table, traces, layout, False, 420)


def sentence(picture: Row) -> str:
    """What was compared, and of how many clients."""
    shown, of = len(picture["ids"]), picture["of"]
    some = f"{shown} of {of:,} clients" if shown < of else f"{shown} clients"
    measure = "cosine similarity" if picture["measure"] == "cosine" else "Euclidean distance"
    return f"{measure[0].upper()}{measure[1:]} of the {picture['what']} of {some}."


def ticks(loaded: LoadedRun, picture: Row, order: Array) -> dict[str, Any]:
    """A name in the middle of every group, on both axes."""
    group = picture.get("group")
    if group is None:
        return {"xaxis.tickvals": [], "yaxis.tickvals": [], "xaxis.ticktext": [], "yaxis.ticktext": []}
    count, at, start = Counter(group[i] for i in order), [], 0
    for k in dict.fromkeys(group[i] for i in order):
        if count[k] >= len(order) / 24:  # smaller ones would write over each other
            at.append((start + (count[k] - 1) / 2, k))
        start += count[k]
    where, names = [v for v, _ in at], [text(loaded.group(k).removeprefix("group "), 10) for _, k in at]
    return {
        f"{a}.{key}": value for a in ("xaxis", "yaxis") for key, value in (("tickvals", where), ("ticktext", names))
    }


def edges(picture: Row, order: Array) -> list[dict[str, Any]]:
    """Lines between groups."""
    group = picture.get("group", [0] * len(order))
    cuts = [i - 0.5 for i in range(1, len(order)) if group[order[i]] != group[order[i - 1]]]
    look = {"type": "line", "line": {"color": "@panel", "width": 1.5}}
    low, high = -0.5, len(order) - 0.5
    across = [{**look, "x0": c, "x1": c, "y0": low, "y1": high} for c in cuts]
    return across + [{**look, "x0": low, "x1": high, "y0": c, "y1": c} for c in cuts]


def components(picture: Row) -> tuple[list[float], list[float], str, str]:
    """The first two principal components, as recorded."""
    first, second = (f"{100 * share:.0f} %" for share in picture["share"])
    return (
        picture["x"],
        picture["y"],
        f"first principal component ({first} of variance)",
        f"second principal component ({second})",
    )


def neighbours(picture: Row) -> tuple[list[float], list[float], str, str]:
    """t-SNE of the recorded pairs: neighbours stay neighbours, distances between groups mean little."""
    from sklearn.manifold import TSNE

    n, cosine = len(picture["ids"]), picture["measure"] == "cosine"
    pairs_NN = unpack(picture["pairs"], n, 1.0 if cosine else 0.0)
    apart_NN = (1 - pairs_NN) if cosine else pairs_NN
    perplexity = max(1.0, min(30.0, (n - 1) / 3))
    found = TSNE(metric="precomputed", init="random", perplexity=perplexity, random_state=0).fit_transform(apart_NN)
    x, y = ([float(f"{v:.4g}") for v in found[:, i]] for i in (0, 1))
    return x, y, "t-SNE, first axis (no unit)", "t-SNE, second axis (no unit)"


def plane(loaded: LoadedRun, place: Place = components) -> FigureOrReason:
    """Clients in a plane, coloured by group."""
    return in_plane(loaded, place, ("plane", "Clients in a plane, by group"), lambda p: p.get("group"), loaded.group)


def plane_by_truth(loaded: LoadedRun, place: Place = components) -> FigureOrReason:
    """The same, coloured by the planted truth; a truth has the colour of the group that holds most of it."""
    title = ("plane_by_truth", "Clients in a plane, by truth")
    if loaded.pictures and "truth" not in loaded.pictures[0][1]:
        return NoFigure(*title, "no true groups are known")
    return in_plane(loaded, place, title, lambda p: p.get("truth"), lambda k: f"truth {k}", matched)


def matched(picture: Row) -> Mapping[int, int]:
    """For every true group the number of the group that holds most of its clients, none taken twice if it can be.

    >>> matched({"truth": [0, 0, 1, 1], "group": [1, 1, 0, 0]})
    {0: 1, 1: 0}
    """
    truth = picture["truth"]
    pairs = Counter(zip(truth, picture.get("group", truth), strict=True))
    found: dict[int, int] = {}
    for (t, k), _ in sorted(pairs.items(), key=lambda item: (-item[1], item[0])):
        if t not in found and k not in found.values() and k >= 0:
            found[t] = k
    free = (k for k in range(10**6) if k not in found.values())
    return {t: found[t] if t in found else next(free) for t in sorted(set(truth))}


def in_plane(
    loaded: LoadedRun,
    place: Place,
    names: tuple[str, str],
    label: Callable[[Row], Sequence[int] | None],
    called: Callable[[int], str],
    number: Callable[[Row], Mapping[int, int]] | None = None,
) -> FigureOrReason:
    """A point per client, a choice of rounds, colours and symbols by label."""
    if not loaded.pictures:
        return NoFigure(*names, NOTHING)
    pictures, active = chosen(loaded)
    traces: list[Trace] = []
    options: list[dict[str, Any]] = []
    table: list[list[Cell]] = []
    for i, (t, p) in enumerate(pictures):
        x, y, x_name, y_name = place(p)
        labels = label(p) or [0] * len(x)
        style = number(p) if number else {k: k for k in set(labels)}
        mine = []
        for k in sorted(set(labels), key=lambda k: (k < 0, k)):
            pick = [j for j, value in enumerate(labels) if value == k]
            look = {"size": 8, "color": colour(style[k]), "symbol": symbol(style[k]), "opacity": 0.85}
            point: Trace = {"type": "scatter", "mode": "markers", "x": [x[j] for j in pick], "y": [y[j] for j in pick]}
            point |= {"marker": look | {"line": {"width": 0.8, "color": "@panel"}}, "visible": i == active}
            point |= {
                "text": [text(p["ids"][j], 40) for j in pick],
                "name": text(called(k) if label(p) else "clients", 24),
            }
            mine.append(len(traces))
            traces.append({**point, "hovertemplate": "client %{text}<extra></extra>"})
        table += [[t, p["ids"][j], x[j], y[j], labels[j]] for j in range(len(x))]
        options.append(
            {"label": str(t), "traces": mine, "layout": {"xaxis.title.text": x_name, "yaxis.title.text": y_name}}
        )
    now = options[active]["layout"]
    layout = {
        "xaxis": axis(now["xaxis.title.text"], zeroline=False),
        "yaxis": axis(now["yaxis.title.text"], zeroline=False),
        "hovermode": "closest",
        "meta": {"choice": "round", "options": options, "active": active},
    }
    what = pictures[active][1]
    caption = f"Each point is a client, placed by its {what['what']}: near points are alike."
    return Figure(
        names[0], names[1], caption, ("round", "client", "x", "y", "label"), table, traces, layout, False, 420
    )
