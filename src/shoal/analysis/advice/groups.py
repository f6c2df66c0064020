"""Whether the number of groups looks right, and whether groups were lost."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any

from shoal.algorithms.parts.growth import in_proportion
from shoal.algorithms.parts.number_of_groups import LEAST
from shoal.analysis.advice.advice_input import Advice, AdviceInput, ahead, listed
from shoal.analysis.measured import by_count, measured, numbers
from shoal.analysis.measured import number as one

BETTER = 0.05  # a silhouette that is larger by this much is worth another number of groups
FAINT = 0.15  # no number of groups fits that has less
ALIKE = 0.1  # a group whose members' silhouette is below this is not told from another one
WIDE = 3.0  # times the spread of the other groups


def number(seen: AdviceInput) -> Iterator[Advice]:
    """By the silhouette of every number that was considered, where it was recorded."""
    values = next(iter(seen.measured("silhouette", by_count)), {})
    if not values:
        return
    best = max(values, key=lambda k: values[k])
    clarity = next(iter(seen.measured("clarity", by_count)), {})
    numbers: dict[str, Any] = {"silhouette": values, "best": int(best)}
    if clarity and max(clarity.values()) < LEAST:
        clearest = max(clarity, key=lambda k: clarity[k])
        text = f"no groups stand out: {clearest} do so most clearly ({clarity[clearest]:.2f} of {LEAST:g} needed),"
        text += " so clients look alike, or differ by degrees"
        yield Advice("groups", f"{text}; compare with fedavg and local", {**numbers, "clarity": clarity})
        return
    if not clarity and values[best] < FAINT:  # records from before clarity was measured
        text = (
            f"no number of groups fits (silhouette by number: {listed(values)}): clients look alike, or all different"
        )
        yield Advice("groups", f"{text}; compare with fedavg and local before you believe in groups", numbers)
        return
    given = seen.own.get("groups")
    if isinstance(given, int) and str(given) in values and values[best] - values[str(given)] > BETTER:
        word = "few" if int(best) > given else "many"
        text = (
            f"{given} groups look too {word}: the silhouette is {values[str(given)]:.2f}, and {values[best]:.2f} with"
        )
        yield Advice("groups", f"{text} {best} ({listed(values)})", numbers, {"groups": int(best)})
    elif given == "auto":
        close = [k for k in values if k != best and values[best] - values[k] < BETTER / 2]
        if close:
            text = f"the number of groups is a guess: {best} has the largest silhouette, {values[best]:.2f}, and"
            text += f" {', '.join(close)} nearly the same; more local work in the first round makes it clearer"
            yield Advice("groups", text, {**numbers, "close": [int(k) for k in close]})


def shape(seen: AdviceInput) -> Iterator[Advice]:
    """By the groups themselves: tiny ones, ones that are alike, and one that is much wider than the others."""
    sizes = seen.last.get("group_size", [])
    filled = [n for n in sizes if n]
    if seen.is_known_for("takes_number") and seen.is_known_for("finds_number") and len(filled) > 2:
        tiny = [k for k, n in enumerate(sizes) if n == 1]
        if tiny and sum(filled) > 2 * len(filled):
            text = (
                f"{len(tiny)} of {len(filled)} groups have a single client (sizes {sizes}): too many groups, it seems"
            )
            yield Advice("groups", text, {"sizes": sizes, "single": tiny})
    for each in seen.measured("group_silhouette", numbers)[:1]:
        faint = [k for k, v in enumerate(each) if v < ALIKE]
        if len(faint) > 1:
            values = ", ".join(f"{each[k]:.2f}" for k in faint)
            text = f"groups {', '.join(map(str, faint))} are hardly told from another group (silhouettes {values}):"
            text += " too many groups, or too little training before the clustering"
            yield Advice("groups", text, {"group_silhouette": each, "alike": faint})
    for spread in seen.measured("spread", numbers)[:1]:
        known = [s for s in spread if s > 0]
        widest = max(range(len(spread)), key=lambda k: spread[k]) if spread else 0
        others = [s for k, s in enumerate(spread) if k != widest and s > 0]
        if len(known) > 1 and others and spread[widest] > WIDE * median(others):
            times = spread[widest] / median(others)
            text = (
                f"group {widest} is {times:.1f} times as wide as the others (mean squared distance to its mean): it may"
            )
            yield Advice("groups", f"{text} hold several groups; try one more", {"spread": spread, "widest": widest})


def lost(seen: AdviceInput) -> Iterator[Advice]:
    """Models that serve nobody."""
    sizes = seen.last.get("group_size", [])
    empty = [k for k, n in enumerate(sizes) if not n]
    if len(sizes) < 2 or not empty:
        return
    numbers = {"sizes": sizes, "empty": empty}
    all_in_one = len(empty) == len(sizes) - 1
    what = (
        f"all clients are in one of {len(sizes)} groups"
        if all_in_one
        else f"{len(empty)} of {len(sizes)} groups are empty"
    )
    what += f" (sizes {sizes})"
    if seen.is_known_for("draws_models") and seen.own.get("init") != "one_model":
        least = round(0.4 / len(sizes), 2)
        text = (
            f"{what}: some of the random models were never the best for anybody; draw them again until each is chosen"
        )
        yield Advice("empty groups", text, numbers, {"init_min_share": least})
    elif seen.own.get("init") == "random_models":
        text = f"{what}: clients stay nearest to the random model they began at; begin with what clients learn"
        yield Advice("empty groups", text, numbers, {"init": "directions"})
    else:
        yield Advice("empty groups", f"{what}: fewer groups would do", numbers, {"groups": len(sizes) - len(empty)})


def needed(seen: AdviceInput) -> Iterator[Advice]:
    """Whether the mean of all groups serves clients as well as their own group does."""
    score = seen.history.score
    name = f"{score.name}_mean"
    tested = [r for r in seen.history.tested() if r.get(name) is not None]
    if tested and len([n for n in tested[-1].get("group_size", []) if n]) > 1:
        own, mean = tested[-1][score.name], tested[-1][name]
        if not ahead(score, own, mean):
            text = f"the plain mean of all groups serves everybody as well ({score.show(mean)}) as their own group does"
            text += f" ({score.show(own)}): groups do not disagree, and fedavg may be enough"
            yield Advice("need", text, {score.name: own, name: mean})


def chains(seen: AdviceInput) -> Iterator[Advice]:
    """Groups in which a model should go from client to client, and most of which hold a single one."""
    groups, seated = (dict(measured(seen.history, name, one)) for name in ("groups", "seated"))
    for r, alone in measured(seen.history, "alone", one):
        if not 2 * alone > groups.get(r, alone) > 1:
            continue
        text = f"from round {r} on most groups hold a single client ({alone} of {groups[r]}), which is FedAvg on few"
        change: dict[str, Any] = {"alpha": seen.own.get("alpha", 2) / 2}
        for key, of_368 in (("beta", 10), ("groups", 52)):
            given = seen.own.get(key)
            if isinstance(given, int) and given > in_proportion(of_368, int(seated.get(r, 0))):
                change = {key: "auto"}
        text += " clients; " + "".join(f"{key}={value}" for key, value in change.items()) + " makes chains longer"
        yield Advice("chains", text, {"round": r, "alone": alone, "groups": groups[r]}, change)
        return
