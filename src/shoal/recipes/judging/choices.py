"""Settings that papers leave open: what our runs choose by rules that were fixed before them, and what is open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from shoal.recipes.grids import grid
from shoal.recipes.judging.relations import Known
from shoal.recipes.papers.cfl import RATE, RATES
from shoal.recipes.papers.fedgsp import CANDIDATES, ORIGIN, TUNED
from shoal.recipes.papers.wecfl import ACC, CIFAR32, READING_NAME, READINGS, ROUNDS
from shoal.recipes.records import VALIDATION, Table
from shoal.recipes.store import usable

__all__ = ["Distance", "distances", "nearest", "rate", "remarks", "tuned"]

METHODS = ("fedavg", "wecfl")  # by which readings are judged
CIRCULAR = (
    " It is chosen by how near `k1/fedavg` and `k10/wecfl` of this table come to the paper: that these two are near is "
    "no evidence."
)


def tuned(known: Known) -> dict[str, float]:
    """For each method of FedGSP's Table 1 that was tuned: the best validation accuracy, of equals the smallest value.

    Args:
        known: All cells with what is stored of them.

    Returns:
        Values by method; a method of which a candidate was not run is left out.
    """
    found = {
        method: by_validation({value: f"fedgsp/tuning/{method}/{key}-{value}" for value in values}, known)
        for method, (key, values) in CANDIDATES.items()
    }
    return {method: value for method, value in found.items() if value is not None}


def rate(known: Known) -> float | None:
    """The learning rate of CFL's Fig. 3: the best validation accuracy on one group alone, of equals the smallest.

    Args:
        known: All cells with what is stored of them.

    Returns:
        The rate; None while one of them was not run.
    """
    return by_validation({value: f"cfl/tuning/one-group/lr-{value:g}" for value in RATES}, known)


def by_validation(cells: Mapping[float, str], known: Known) -> float | None:
    """Of values the one whose cell has the best validation accuracy, of equals the smallest; None: not all were run."""
    results = {value: usable(*known[name]) for value, name in cells.items()}
    scores = {v: r.values(VALIDATION.name)[0] for v, r in results.items() if r and r.values(VALIDATION.name)}
    return min(scores, key=lambda value: (-scores[value], value)) if len(scores) == len(cells) else None


@dataclass(frozen=True)
class Distance:
    """How far a reading of WeCFL's "local steps 10" lies from the paper.

    Attributes:
        reading: Its name.
        points: Distances of FedAvg and WeCFL from the paper's accuracies, added.
        at_least: It was played for fewer rounds than the paper's or with one of the two methods, and lies at least so
            far.

    >>> Distance("epochs-kept", 12.34, True).shown
    'at least 12.3'
    """

    reading: str
    points: float
    at_least: bool

    @property
    def shown(self) -> str:
        return f"{'at least ' if self.at_least else ''}{self.points:.1f}"


def distances(known: Known) -> list[Distance]:
    """The readings that were run, each with its distance.

    Fewer rounds, also those of a run that goes on, count with what they are above the paper, and not with what they are
    below: accuracies rise, and what is above the paper stays there. A method that was not run yet adds nothing.

    Args:
        known: All cells with what is stored of them.

    Returns:
        In the order of the recipe.
    """
    found = []
    for reading in READINGS:
        parts = [part for method in METHODS if (part := apart(known, f"wecfl/d28/{reading}/{method}"))]
        at_least = len(parts) < len(METHODS) or any(early for _, early in parts)
        if parts:
            found.append(Distance(reading, sum(points for points, _ in parts), at_least))
    return found


def apart(known: Known, name: str) -> tuple[float, bool] | None:
    """How far a cell lies from the paper in points, and whether after fewer rounds than the paper's; None: not run."""
    result, printed = usable(*known[name]), known[name][0].paper[ACC.name]
    run = result.runs.get(0, {}) if result else {}
    value = run.get("figures", {}).get(ACC.name)
    if value is None or printed is None:
        return None
    points, early = ACC.scale * value - printed, run["rounds"] < ROUNDS
    return max(points, 0.0) if early else abs(points), early


def nearest(known: Known) -> str | None:
    """The reading nearest to the paper, once all were begun and none that was not run to the end can be nearer.

    Args:
        known: All cells with what is stored of them.

    Returns:
        Its name; None: it is not settled.
    """
    found = distances(known)
    whole = [d for d in found if not d.at_least]
    if len(found) < len(READINGS) or not whole:
        return None
    best = min(whole, key=lambda d: d.points)
    return best.reading if all(d.points >= best.points for d in found) else None


def remarks(table: Table, known: Known) -> list[str]:
    """What a page says under a table about settings that the paper leaves open.

    Args:
        table: Of a paper.
        known: All cells with what is stored of them.

    Returns:
        Pieces of Markdown.
    """
    if table.name == "fedgsp/table1":
        return tuning_remark(tuned(known))
    if table.name == "cfl/fig3":
        return [rate_remark(rate(known))]
    if table.name == "wecfl/d28":
        return [*reading_grid(known), reading_remark(known)]
    runs = any("D28" in cell.departures for cell in table.cells)
    return [reading_remark(known) + (CIRCULAR if table.name == CIFAR32 else "")] if runs else []


def rate_remark(found: float | None) -> str:
    """Where the learning rate of CFL's Fig. 3 comes from."""
    told = "the best validation accuracy of `cfl/tuning`" if found is not None else "the notebook's, not tuned yet"
    return f"The paper does not tell its learning rate. Here it is {RATE:g}: {told}."


def tuning_remark(found: dict[str, float]) -> list[str]:
    """Where the settings of Table 1 come from."""
    lines = []
    for method, (key, _) in CANDIDATES.items():
        value = f"`{method}` with {key} = {TUNED[method]:g}"
        by_rule = "the best validation accuracy of `fedgsp/tuning`"
        lines.append(f"* {value}: {by_rule if method in found else f'{ORIGIN[method]}, not tuned on validation yet'}.")
    return ["\n".join(lines)]


def reading_remark(known: Known) -> str:
    """Whether it is settled what "local steps 10" means."""
    best, taken = nearest(known), f"`{READING_NAME}`"
    if best is not None:
        told = f'"Local steps 10" is read as {taken}, of all readings of `wecfl/d28` the nearest to the paper (D28)'
        more = [f"{points:.1f} points away with seed {seed}" for seed, points in other_seeds(known).items()]
        return f"{told}, by seed 0: {', '.join(more)}, where the others were not run." if more else f"{told}."
    found = distances(known)
    waits = "the readings of `wecfl/d28` were run"
    if len(found) == len(READINGS):
        waits = f"`{min(found, key=lambda d: d.points).reading}` was run with both methods for all {ROUNDS} rounds"
    return f'What "local steps 10" means is not settled yet: {taken} is a first guess (D28), until {waits}.'


def other_seeds(known: Known) -> dict[int, float]:
    """How far the reading that is taken lies from the paper with the seeds that Table 2 has beyond `wecfl/d28`."""
    parts = []
    for name in (f"{CIFAR32}/k1/fedavg", f"{CIFAR32}/k10/wecfl"):
        result, printed = usable(*known[name]), known[name][0].paper[ACC.name]
        values = result.values(ACC.name) if result else {}
        parts.append({s: abs(ACC.scale * v - printed) for s, v in values.items() if s and printed is not None})
    return {seed: sum(part[seed] for part in parts) for seed in sorted(set.intersection(*map(set, parts)))}


def reading_grid(known: Known) -> list[str]:
    """The distance of every reading that was run."""
    rows = [[f"`{d.reading}`", d.shown] for d in distances(known)]
    head = "Distance from the paper's accuracies of FedAvg and WeCFL, added, in points:"
    return [head, grid(("reading", "distance"), rows)] if rows else []
