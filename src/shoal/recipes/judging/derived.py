"""Quantities by seed, also those that follow from what else a run keeps."""

from __future__ import annotations

import math
from collections.abc import Callable

from shoal.recipes.judging.curves import Run, climb, curve_of, first_of_curve, mean_of_curve, unrest
from shoal.recipes.store import Result

__all__ = ["DERIVED", "values_of"]

EARLY = 1 / 3  # of the rounds of a run: by then it shows how fast accuracy rises


def cosine(kind: str, place: int, at: int | None = None) -> Callable[[Run], float | None]:
    """Least (0), mean (1) or largest (2) cosine of a round, or of the last one that is kept.

    >>> run = {"cosines": [{"round": 5, "within": [0.1, 0.2, 0.3]}, {"round": 8, "within": [0.4, 0.5, 0.6]}]}
    >>> cosine("within", 0)(run), cosine("within", 1, at=5)(run), cosine("within", 1, at=6)(run)
    (0.4, 0.2, None)
    """

    def found(run: Run) -> float | None:
        kept = [one for one in run.get("cosines") or () if at in (None, one["round"])]
        values = kept[-1].get(kind) if kept else None
        return values[place] if values else None

    return found


def below_best(run: Run) -> float | None:
    """How far the end of a run is below its best.

    >>> round(below_best({"figures": {"best_accuracy": 0.9, "last_three_accuracy": 0.88}}), 6)
    0.02
    """
    figures = run["figures"]
    if "last_three_accuracy" not in figures:
        return None
    return float(figures["best_accuracy"] - figures["last_three_accuracy"])


def time_to_80(run: Run) -> float | None:
    """Seconds of computing and of sending until 80 %, or of the whole run if that was never reached.

    >>> time_to_80({"figures": {"t_comm": 9.0, "t_comp": 1.0, "t_comm_to_80": 3.0, "t_comp_to_80": 1.0}})
    4.0
    """
    spent = times_to_80(run)
    return None if spent is None else sum(spent)


def times_to_80(run: Run) -> tuple[float, float] | None:
    figures = run["figures"]
    end = "_to_80" if "t_comm_to_80" in figures else ""
    if f"t_comm{end}" not in figures or f"t_comp{end}" not in figures:
        return None
    return float(figures[f"t_comm{end}"]), float(figures[f"t_comp{end}"])


def share_of_sending(run: Run) -> float | None:
    """The share of communication in the time until 80 %, or of the whole run if that was never reached.

    >>> share_of_sending({"figures": {"t_comm": 9.0, "t_comp": 1.0, "t_comm_to_80": 3.0, "t_comp_to_80": 1.0}})
    0.75
    """
    spent = times_to_80(run)
    return None if spent is None else spent[0] / sum(spent)


def loss_rise(run: Run) -> float | None:
    """How far the test loss is above its least in the end.

    >>> loss_rise({"figures": {"best_test_loss": 0.5, "last_test_loss": 0.75}})
    0.25
    """
    figures = run["figures"]
    if "last_test_loss" not in figures:
        return None
    return float(figures["last_test_loss"] - figures["best_test_loss"])


def first_split(run: Run) -> float:
    """The round of the first split; infinite if there is none."""
    return float(min((split["round"] for split in run.get("splits", ())), default=math.inf))


def accuracy_before_split(run: Run) -> float | None:
    """The accuracy of the last test before the first split; that of its own round is of the models after it.

    >>> curves = {"round": [5, 10, 15], "accuracy": [0.1, 0.2, 0.4]}
    >>> accuracy_before_split({"curves": curves, "splits": [{"round": 10}]}), accuracy_before_split({"curves": curves})
    (0.1, 0.4)
    """
    values = [v for t, v in curve_of(run, "accuracy") if t < first_split(run)]
    return values[-1] if values else None


def gain_at_split(run: Run) -> float | None:
    """How far accuracy rises from the last test before the first split to that of its round.

    >>> round(gain_at_split({"curves": {"round": [5, 10], "accuracy": [0.1, 0.4]}, "splits": [{"round": 10}]}), 6)
    0.3
    """
    before, split = accuracy_before_split(run), [v for t, v in curve_of(run, "accuracy") if t == first_split(run)]
    return None if before is None or not split else split[0] - before


def gap_before_split(run: Run) -> float | None:
    """Least cosine inside planted groups minus the largest across, in the last picture up to the first split.

    >>> picture = {"round": 9, "same": [0.4, 0.5, 0.6], "other": [-0.1, 0.1, 0.3]}
    >>> round(gap_before_split({"splits": [{"round": 10}], "similarities": [picture]}), 6)
    0.1
    """
    seen = [one for one in run.get("similarities", ()) if one["round"] <= first_split(run)]
    return seen[-1]["same"][0] - seen[-1]["other"][2] if seen and seen[-1]["same"] and seen[-1]["other"] else None


def last_same(run: Run) -> float | None:
    """The mean cosine inside planted groups in the last picture.

    >>> last_same({"similarities": [{"round": 9, "same": [0.0, 0.1, 0.3], "other": []}]})
    0.1
    """
    seen = run.get("similarities") or [{}]
    return seen[-1]["same"][1] if seen[-1].get("same") else None


def ari_by(last: int) -> Callable[[Run], float | None]:
    """Agreement with the planted groups after some rounds, by the last test up to then.

    >>> [ari_by(t)({"curves": {"round": [1, 2, 4], "ari": [0.8, 0.9, 1.0]}}) for t in (1, 3, 5)]
    [0.8, 0.9, 1.0]
    """

    def found(run: Run) -> float | None:
        values = [v for t, v in curve_of(run, "ari") if t <= last]
        return values[-1] if values else None

    return found


def ari_moves(run: Run) -> float | None:
    """How far agreement with the planted groups is from its last value at most, from round 10 on.

    >>> round(ari_moves({"curves": {"round": [1, 10, 20, 30], "ari": [0.1, 0.8, 0.9, 0.9]}}), 6)
    0.1
    """
    values = [v for t, v in curve_of(run, "ari") if t >= 10]
    return max(abs(v - values[-1]) for v in values) if values else None


def whole_in_round_3(run: Run) -> float | None:
    """The share of planted groups that lie inside one group in round 3.

    >>> whole_in_round_3({"together": [[1, 7, 10], [2, 9, 10], [3, 9, 10]]})
    0.9
    """
    return next((whole / of for t, whole, of in run.get("together", ()) if t == 3), None)


def code_discrepancy(run: Run) -> float | None:
    """The discrepancy as FedGroup's first code has it (departure D78): of groups from the mean of groups.

    Of a method with one model it is that of clients from the model.

    >>> figures = {"groups": 3, "discrepancy_mean": 0.5}
    >>> code_discrepancy({"figures": figures, "apart": 4.0}), code_discrepancy({"figures": figures})
    (4.0, None)
    >>> code_discrepancy({"figures": {**figures, "groups": 1}})
    0.5
    """
    if run.get("apart") is not None:
        return float(run["apart"])
    return run["figures"].get("discrepancy_mean") if run["figures"].get("groups") == 1 else None


DERIVED: dict[str, Callable[[Run], float | None]] = {
    "first_discrepancy": first_of_curve,  # of runs made before it was a figure
    "least_cosine_within": cosine("within", 0),
    "mean_cosine_within": cosine("within", 1),
    "mean_cosine_between": cosine("between", 1),
    "cosine_between_in_round_5": cosine("between", 1, at=5),
    "least_cosine_in_round_5": cosine("within", 0, at=5),
    "early_accuracy": mean_of_curve("accuracy", EARLY),
    "early_loss": mean_of_curve("loss", EARLY),
    "mean_loss": mean_of_curve("loss"),
    "below_best": below_best,
    "time_to_80": time_to_80,
    "share_of_sending": share_of_sending,
    "loss_rise": loss_rise,
    "unrest": unrest,
    "climb": climb,
    "accuracy_before_split": accuracy_before_split,
    "gain_at_split": gain_at_split,
    "gap_before_split": gap_before_split,
    "last_same": last_same,
    "ari_by_1": ari_by(1),
    "ari_by_3": ari_by(3),
    "ari_by_5": ari_by(5),
    "ari_moves": ari_moves,
    "whole_in_round_3": whole_in_round_3,
    "code_discrepancy": code_discrepancy,
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
