"""What `shoal reproduce --format json` prints of cells and statements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.recipes.judging.relations import Verdict
from shoal.recipes.numbers import Figure, figure_of, state_of
from shoal.recipes.records import Cell, Quantity, Table
from shoal.recipes.store import Result, Store, usable

__all__ = ["json_lines", "verdict_document"]


def json_lines(table: Table, cells: Sequence[Cell], store: Store, seeds: int | None) -> list[dict[str, Any]]:
    """The cells of a table as data."""
    return [cell_document(cell, table.quantities, store.load(cell), seeds) for cell in cells]


def cell_document(
    cell: Cell, quantities: Sequence[Quantity], result: Result | None, seeds: int | None
) -> dict[str, Any]:
    """A cell as data: the paper's figures, ours, and how far it is.

    Args:
        cell: The recipe.
        quantities: Of its table.
        result: What is stored; None: nothing is.
        seeds: How many are asked for; None: what the recipe says.

    Returns:
        What JSON can hold.

    >>> cell = Cell("p/t", "a", "x", "fedavg", {"rounds": 300}, {"rounds_to_80": None}, seeds=2)
    >>> runs = {0: {"complete": True, "figures": {}}, 1: {"complete": False, "rounds": 137, "figures": {}}}
    >>> found = cell_document(cell, [Quantity("rounds_to_80", "rounds")], Result(cell.settings, runs), None)
    >>> found["paper_never"], found["ours"]["rounds_to_80"], found["values"]["rounds_to_80"]
    (['rounds_to_80'], {'mean': None, 'std': None, 'n': 0, 'never': 1}, {0: None})
    >>> found["seeds_done"], found["seeds_wanted"], found["rounds"], found["rounds_reached"]
    ([0], 2, 300, {1: 137})
    """
    figures = {q.name: figure_of(cell, q, result) for q in quantities}
    found = usable(cell, result) or Result(cell.settings)
    return {
        "cell": cell.name,
        "state": state_of(cell, result, seeds),
        "paper": dict(cell.paper),
        "paper_never": [name for name, figure in figures.items() if figure.unreached],
        "ours": {name: ours_document(figure) for name, figure in figures.items()},
        "values": {} if result is None else {q.name: in_units(q, found) for q in quantities},
        "seeds_done": list(found.seeds_done),
        "seeds_wanted": seeds or cell.seeds,
        "rounds": cell.rounds,
        "rounds_reached": {seed: run["rounds"] for seed, run in found.runs.items() if not run["complete"]},
        "departures": list(cell.departures),
        "note": cell.note or cell.why_not,
    }


def ours_document(figure: Figure) -> dict[str, Any]:
    """Our figure as data; `never` counts complete runs that did not reach the target."""
    never = figure.runs - figure.n if figure.within else 0
    return {"mean": figure.mean, "std": figure.std, "n": figure.n, "never": never}


def in_units(quantity: Quantity, result: Result) -> dict[int, float | None]:
    """The values of every seed in the unit of the paper's figure and of our mean; None: the target was never reached.

    >>> runs = {seed: {"complete": True, "figures": {"best_accuracy": 0.9}} for seed in (0, 1)}
    >>> in_units(Quantity("best_accuracy", "best", 100), Result({}, runs))
    {0: 90.0, 1: 90.0}
    """
    values = {seed: round(quantity.scale * value, 6) for seed, value in result.values(quantity.name).items()}
    return {seed: values.get(seed) for seed in result.seeds_done if seed in values or quantity.counts_to_target}


def verdict_document(verdict: Verdict) -> dict[str, Any]:
    """A verdict as data: `verdict` is one of four, `words` say how far it is.

    >>> from shoal.recipes.judging.claims import Relation
    >>> found = verdict_document(Verdict(Relation("p/a", "", "", ()), "holds", 1.0, n=2, wanted=5))
    >>> found["verdict"], found["words"]
    ('holds', 'holds so far (2 of 5 seeds)')
    """
    relation = verdict.relation
    return {
        "name": relation.name,
        "says": relation.says,
        "source": relation.source,
        "left": list(relation.left),
        "right": list(relation.right),
        "quantity": relation.quantity,
        "asked": relation.bounds,
        "verdict": verdict.says,
        "words": verdict.words,
        "ours": verdict.ours,
        "std": verdict.std,
        "paper": verdict.paper,
        "holds_in": verdict.holds_in,
        "seeds": verdict.n,
        "seeds_wanted": verdict.wanted,
        "without": list(verdict.without),
        "of_the_paper": not relation.ours,
        "p": verdict.p,
        "cause": relation.cause if verdict.says == "does not hold" else "",
        "why": relation.why if verdict.says == "does not hold" else "",
    }
