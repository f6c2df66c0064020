"""Quantities by seed, also those that follow from what else a run keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from shoal.recipes.store import Result

__all__ = ["DERIVED", "values_of"]

Run = Mapping[str, Any]


def first_of_curve(run: Run) -> float | None:
    """The discrepancy of round 1, if the curve of a run begins there.

    >>> first_of_curve({"curves": {"round": [2], "discrepancy": [0.5]}}) is None
    True
    """
    curves = run.get("curves", {})
    return curves["discrepancy"][0] if curves.get("discrepancy") and curves["round"][0] == 1 else None


def last_cosine(kind: str, place: int) -> Callable[[Run], float | None]:
    """Least (0), mean (1) or largest (2) cosine of the last round that has a picture.

    >>> last_cosine("within", 0)({"cosines": [{"round": 1, "within": [0.1, 0.2, 0.3]}]})
    0.1
    """

    def found(run: Run) -> float | None:
        kept = run.get("cosines") or [{}]
        values = kept[-1].get(kind) or []
        return values[place] if values else None

    return found


DERIVED: dict[str, Callable[[Run], float | None]] = {
    "first_discrepancy": first_of_curve,  # of runs made before it was a figure
    "least_cosine_within": last_cosine("within", 0),
    "mean_cosine_between": last_cosine("between", 1),
}


def values_of(quantity: str, result: Result) -> dict[int, float]:
    """A quantity by seed; what is counted until a target that was never reached counts as that of the whole run.

    Args:
        quantity: A figure of runs, or one of `DERIVED`.
        result: Of a cell.

    Returns:
        Values of the complete runs that have it.

    >>> figures = {"t_comm": 9.0}
    >>> result = Result({}, {0: {"complete": True, "rounds": 7, "figures": figures}})
    >>> values_of("rounds_to_80", result), values_of("t_comm_to_80", result), values_of("t_comp_to_80", result)
    ({0: 7.0}, {0: 9.0}, {})
    >>> curves = {"round": [1, 9], "discrepancy": [0.5, 0.1]}
    >>> values_of("first_discrepancy", Result({}, {0: {"complete": True, "figures": {}, "curves": curves}}))
    {0: 0.5}
    """
    found = result.values(quantity)
    if quantity in DERIVED:
        derived = {seed: DERIVED[quantity](result.runs[seed]) for seed in result.seeds_done}
        return {**{seed: value for seed, value in derived.items() if value is not None}, **found}
    if "_to_" not in quantity:
        return found
    counted = quantity.split("_to_")[0]
    whole = {s: float(result.runs[s]["rounds"]) for s in result.seeds_done}
    return {**(whole if counted == "rounds" else result.values(counted)), **found}
