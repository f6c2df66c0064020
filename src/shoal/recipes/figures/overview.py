"""Every accuracy that papers print, beside ours: how far they are apart, as a picture and in numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from shoal.recipes.figures.scenes import Layer, Scene
from shoal.recipes.figures.spans import span
from shoal.recipes.judging.derived import values_of
from shoal.recipes.judging.items import FAR, NEAR
from shoal.recipes.judging.relations import Known
from shoal.recipes.records import Paper
from shoal.recipes.store import usable

__all__ = ["DISTANCES", "Pair", "distances", "overview", "pairs_of"]

AXES = ("the paper's accuracy (%)", "ours, mean over seeds (%)")
CAPTION = "Everything that a paper prints and that was run here; on the line both are equal."
WITHIN = (1.0, NEAR, FAR)  # points
DISTANCES = ("run", "median distance", *(f"within {points:g}" for points in WITHIN))


@dataclass(frozen=True)
class Pair:
    """An accuracy of a paper and ours, in per cent.

    >>> round(Pair("flexcfl/table3/mnist-mclr/fedavg", 89.4, 89.1).apart, 6)
    0.3
    """

    cell: str
    paper: float
    ours: float

    @property
    def apart(self) -> float:
        return abs(self.ours - self.paper)


def pairs_of(paper: Paper, known: Known) -> list[Pair]:
    """The accuracies that a paper prints and that were run, played as its text says.

    Args:
        paper: With its tables; trials and variants that imitate its code are left out, they have the same figures.
        known: All cells with what is stored of them.

    Returns:
        A pair for each figure.
    """
    own = [cell for table in paper.tables if not table.trial for cell in table.cells if not cell.of]
    found = []
    for cell in own:
        result = usable(*known[cell.name])
        for quantity, value in cell.paper.items():
            if result and value is not None and quantity.endswith("accuracy"):
                ours = values_of(quantity, result).values()
                found += [Pair(cell.name, value, 100 * fmean(ours))] if ours else []
    return found


def distances(pairs: Sequence[Pair]) -> list[str]:
    """How many there are, how far they are apart in the middle, and how many are near.

    Args:
        pairs: Of a paper, or of all.

    Returns:
        Cells of a table with the heads `DISTANCES`.

    >>> distances([Pair("a", 90.0, 90.5), Pair("b", 80.0, 82.0), Pair("c", 70.0, 79.0)])
    ['3', '2.0', '1', '2', '2']
    >>> distances([])
    ['0', '-', '0', '0', '0']
    """
    apart = [round(pair.apart, 9) for pair in pairs]
    middle = f"{median(apart):.1f}" if apart else "-"
    return [str(len(apart)), middle, *(str(sum(one <= points for one in apart)) for points in WITHIN)]


def overview(groups: Mapping[str, Sequence[Pair]], caption: str = CAPTION) -> Scene | None:
    """A picture of some pairs: the paper's figure across, ours up.

    Args:
        groups: Pairs by what the legend calls them.
        caption: How to read it.

    Returns:
        The scene; None where there are no pairs.

    >>> scene = overview({"cfl": [Pair("a", 80.0, 82.0)], "fedgsp": []})
    >>> [layer.name for layer in scene.layers], scene.spans[0] == scene.spans[1]
    (['', 'cfl'], True)
    """
    values = [value for pairs in groups.values() for pair in pairs for value in (pair.paper, pair.ours)]
    if not values:
        return None
    ends = span([max(min(values) - 1, 0.0), min(max(values) + 1, 100.0)])  # no point on the frame
    layers = [Layer("line", (((ends[0], ends[0]), (ends[1], ends[1])),), -1)]
    for number, (name, pairs) in enumerate(groups.items()):
        places = tuple((pair.paper, pair.ours) for pair in pairs)
        if places:
            layers.append(Layer("points", (places,), number, name, texts=tuple(pair.cell for pair in pairs)))
    rows: list[list[str | float | int | None]] = [
        [p.cell, round(p.paper, 2), round(p.ours, 2)] for pairs in groups.values() for p in pairs
    ]
    return Scene(AXES, (ends, ends), tuple(layers), ("cell", "paper, %", "ours, %"), rows, caption, equal=True)
