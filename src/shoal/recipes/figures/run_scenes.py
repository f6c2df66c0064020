"""Panels that show figures of runs: over a setting or two, costs until a target, cosines by round."""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import fmean

from shoal.recipes.figures.mean_curves import curve_name
from shoal.recipes.figures.ran import left_out, ran, until
from shoal.recipes.figures.scenes import Layer, Scene
from shoal.recipes.figures.spans import span
from shoal.recipes.judging.relations import Known
from shoal.recipes.records import Panel, Quantity
from shoal.recipes.store import Result, usable

__all__ = ["costs", "over", "settings_of", "similarities", "tiles"]

COSTS = (Quantity("t_comp_to_80", "T_comp", digits=2), Quantity("t_comm_to_80", "T_comm", digits=0))
THICK = 0.36  # of a bar, where rows are 1 apart
COSINES: dict[str, tuple[str, str, dict[str, str]]] = {  # what runs keep: of what, between whom, and how they call it
    "similarities": ("updates", "clients of", {"same": "same planted group", "other": "different ones"}),
    "cosines": (
        "local models",
        "of",
        {"within": "clients and the mean of their group", "between": "means of groups"},
    ),
}


def settings_of(name: str) -> list[tuple[str, str]]:
    """What the column of a cell is called after.

    Args:
        name: Of a cell.

    Returns:
        Keys and values.

    >>> settings_of("fedgsp/fig4/log/alpha-1.1-beta-10")
    [('alpha', '1.1'), ('beta', '10')]
    """
    return re.findall(r"([a-z_]+)-([\d.]+)", name.rsplit("/", 1)[1])


def stored(name: str, known: Known) -> Result | None:
    """What is stored of a cell under its settings, if a run of it is complete."""
    result = usable(*known[name])
    return result if result is not None and result.seeds_done else None


def shown_mean(panel: Panel, name: str, known: Known) -> float | None:
    """The mean of a panel's quantity over the seeds of a cell, as tables show it; None: there is none."""
    result = stored(name, known)
    values = result.values(panel.quantity.name) if result is not None else {}
    return panel.quantity.scale * fmean(values.values()) if values else None


def over(panel: Panel, known: Known) -> Scene | None:
    """A quantity over the setting that the columns of the cells are called after.

    Args:
        panel: Its cells differ in one setting.
        known: All cells with what is stored of them.

    Returns:
        Points and a line; None if nothing was run.
    """
    found = [(float(settings_of(name)[0][1]), shown_mean(panel, name, known)) for name in panel.cells]
    points = sorted((x, y) for x, y in found if y is not None)
    if not points:
        return None
    key, head = settings_of(panel.cells[0])[0][0], panel.quantity.head
    values = [y for _, y in points]
    up = span(values) if panel.quantity.scale == 100 else span([0.0, *values])  # times begin at zero
    layers = (Layer("line", (tuple(points),)), Layer("points", (tuple(points),)))
    right = span([0.0, *(x for x, _ in found)])
    rows = [[x, round(y, 4)] for x, y in points]
    caption = f"Means over seeds.{left_out(panel.cells, known)}"
    return Scene((key, head), (right, up), layers, (key, head), rows, caption)


def tiles(panel: Panel, known: Known) -> Scene | None:
    """A quantity over the two settings that the columns of the cells are called after, darker where it is lower.

    Args:
        panel: Its cells differ in two settings.
        known: All cells with what is stored of them.

    Returns:
        A grid; None if nothing was run.
    """
    named = [dict(settings_of(name)) for name in panel.cells]
    first, second = named[0]
    across, down = (sorted({one[key] for one in named}, key=float) for key in (first, second))
    values = tuple(shown_mean(panel, name, known) for name in panel.cells)
    if all(value is None for value in values):
        return None
    places = tuple((float(across.index(one[first])), float(down.index(one[second]))) for one in named)
    texts = tuple(tile_text(panel, name, known) for name in panel.cells)
    rows = [[one[first], one[second], v] for one, v in zip(named, values, strict=True)]
    return Scene(
        (first, second),
        ((-0.5, len(across) - 0.5), (len(down) - 0.5, -0.5)),
        (Layer("tiles", (places,), texts=texts, values=values),),
        (first, second, panel.quantity.head),
        rows,
        f"Means over seeds, darker where lower.{left_out(panel.cells, known)}",
        tuple(across),
        tuple(down),
    )


def tile_text(panel: Panel, name: str, known: Known) -> str:
    """The quantity of a cell, or why there is none."""
    value = shown_mean(panel, name, known)
    if value is not None:
        return f"{value:.{panel.quantity.digits}f}"
    return "-" if stored(name, known) is not None else ran(name, known)


def costs(panel: Panel, known: Known) -> Scene | None:
    """Time of computation and of communication until 80 %, by the paper's formulas, a pair of bars for each cell.

    Args:
        panel: Of any cells.
        known: All cells with what is stored of them.

    Returns:
        Bars, and words where a cell never came so far; None if nothing was run.
    """
    names = tuple(curve_name(name, panel.cells) for name in panel.cells)
    bars: dict[str, list[tuple[float, float]]] = {cost.name: [] for cost in COSTS}
    words: list[tuple[float, float, str]] = []
    rows: list[list[str | float | int | None]] = []
    for place, (name, shown) in enumerate(zip(panel.cells, names, strict=True)):
        result = stored(name, known)
        if result is None:
            words.append((0.0, float(place), ran(name, known)))
            continue
        means: list[float | None] = []
        seeds = len(result.seeds_done)
        for offset, cost in zip((-0.5, 0.5), COSTS, strict=True):
            reached, at = result.values(cost.name), place + THICK * offset
            mean = fmean(reached.values()) if reached else None
            means.append(mean)
            if mean is not None:
                bars[cost.name].append((mean, at))
                some = f" ({len(reached)} of {seeds} seeds)" if len(reached) < seeds else ""
                words.append((mean, at, f"{mean:,.{cost.digits}f} s{some}"))
        if means == [None, None]:
            words.append((0.0, float(place), f"80 % not reached in {known[name][0].rounds} rounds"))
        rows.append([shown, *(None if m is None else round(m, 2) for m in means), len(result.values("rounds_to_80"))])
    if not rows:
        return None
    right = span([0.0, *(value for kind in bars.values() for value, _ in kind)])[1]
    layers = [Layer("bars", (tuple(bars[cost.name]),), k, cost.head) for k, cost in enumerate(COSTS)]
    layers.append(Layer("words", (tuple((x, y) for x, y, _ in words),), texts=tuple(word for *_, word in words)))
    return Scene(
        ("seconds until 80 %", ""),
        ((0.0, 1.35 * right), (len(names) - 0.5, -0.5)),  # figures stand on the right of bars
        tuple(layers),
        ("method", *(f"{cost.head}, s" for cost in COSTS), "seeds that reach 80 %"),
        rows,
        f"By the paper's formulas, means over the seeds that reach 80 %.{left_out(panel.cells, known)}",
        y_names=names,
    )


def similarities(panel: Panel, known: Known) -> Scene | None:
    """Cosines by round, inside groups and across: means, and from least to largest.

    Args:
        panel: Of one cell that keeps what it draws, one of `COSINES`.
        known: All cells with what is stored of them.

    Returns:
        Two lines inside their bands, over the rounds that all seeds have; None if nothing was run.
    """
    result = usable(*known[panel.cells[0]])
    if result is None:
        return None
    what, who, kinds = COSINES[panel.curve]
    runs = [result.runs[seed].get(panel.curve, []) for seed in result.seeds_done or result.runs]
    by_seed = [{one["round"]: one for one in pictures} for pictures in runs if pictures]
    if not by_seed:
        return None
    shared = sorted(set.intersection(*(set(rounds) for rounds in by_seed)))
    layers: list[Layer] = []
    rows: list[list[str | float | int | None]] = []
    for k, (kind, shown) in enumerate(kinds.items()):
        found = [(float(t), bounds([one[t][kind] for one in by_seed])) for t in shared]
        seen = [(t, three) for t, three in found if three]
        band = (*((t, three[0]) for t, three in seen), *((t, three[2]) for t, three in reversed(seen)))
        middle = tuple((t, three[1]) for t, three in seen)
        layers += [Layer("area", (band,), k, faint=True), Layer("line", (middle,), k, shown)]
        layers.append(Layer("points", (middle,), k))
        rows += [[shown, round(t), *(round(v, 3) for v in three)] for t, three in seen]
    layers.sort(key=lambda layer: layer.kind != "area")  # bands lie behind lines
    places = [point for layer in layers for point in layer.places]
    if not places:
        return None
    spans = (0.0, max(x for x, _ in places)), span([y for _, y in places])
    heads = (who, "round", "least", "mean", "largest")
    caption = "In the rounds that have a picture. Lines are means over pairs and seeds, bands go from least to largest."
    label = f"round{until(panel.cells[0], spans[0][1], known)}"
    return Scene((label, f"cosine of {what}"), spans, tuple(layers), heads, rows, caption)


def bounds(kept: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """Least, mean and largest over seeds, of least, mean and largest each; empty if no seed has pairs.

    >>> bounds([[0.1, 0.25, 0.4], [0.0, 0.75, 0.8], []])
    (0.0, 0.5, 0.8)
    """
    some = [three for three in kept if three]
    if not some:
        return ()
    least, mean, largest = zip(*some, strict=True)
    return min(least), fmean(mean), max(largest)
