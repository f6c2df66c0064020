"""Why CFL split a cluster or did not, and what its own rule says to thresholds that were given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from shoal.algorithms.parts.split_criteria import STATIONARY
from shoal.analysis.advice.advice_input import Advice, AdviceInput
from shoal.analysis.measured import measured, norms_by_group, number

MANY = 6  # clusters that are told one by one
AUTO = {"eps1": "auto", "eps2": "auto"}
Clusters = Mapping[int, Mapping[str, Any]]


def splits(seen: AdviceInput) -> Iterator[Advice]:
    """What was decided about the clusters that are left, and where given thresholds and the guard disagree."""
    rounds = measured(seen.history, "clusters", norms_by_group) if seen.is_known_for("splits") else []
    if not rounds:
        return
    yield from waits(seen)
    told: list[tuple[int, Clusters]] = [
        (t, {k: v for k, v in clusters.items() if "verdict" in v}) for t, clusters in rounds
    ]
    if not any(clusters for _, clusters in told):
        yield Advice("eps1", "the records of this run do not tell why: run it again with eps1=auto eps2=auto", {}, AUTO)
        return
    yield decided(told)
    if not seen.own.get("split_rounds") and {name: seen.own.get(name) for name in AUTO} != AUTO:
        yield from against_the_guard(told)


def decided(told: list[tuple[int, Clusters]]) -> Advice:
    """The last verdict on every cluster that is left, in words."""
    last = {k: (t, cluster) for t, clusters in told for k, cluster in clusters.items()}
    again = [f"cluster {k} ({c['clients']} clients, round {t}): {c['reason']}" for k, (t, c) in sorted(last.items())]
    text = "; ".join(again[:MANY]) + (f"; and {len(again) - MANY} more" if len(again) > MANY else "")
    return Advice("clusters", text, {str(k): c["verdict"] for k, (_, c) in sorted(last.items())})


def asks(cluster: Mapping[str, Any]) -> bool:
    """Whether CFL's own rule, with nothing given, wants a cluster split: stationary, and with groups that stand apart.

    >>> asks({"mean_relative": 0.3, "apart": True}), asks({"mean_relative": 0.7, "apart": True}), asks({})
    (True, False, False)
    """
    relative = number(cluster.get("mean_relative"))
    return relative is not None and relative < STATIONARY and cluster.get("apart") is True


def against_the_guard(told: list[tuple[int, Clusters]]) -> Iterator[Advice]:
    """Splits of clients that form no groups, and groups that given thresholds left together."""
    made = [(t, k, c) for t, clusters in told for k, c in clusters.items() if c["verdict"] == "split"]
    torn = [(t, k) for t, k, c in made if not asks(c)]
    if torn:
        text = f"{len(torn)} of {len(made)} splits were of clusters that still moved, or whose clients form no groups"
        yield Advice(
            "eps2", f"{text} that stand apart: eps1=auto eps2=auto would not have made them", {"torn": torn}, AUTO
        )
    t, clusters = told[-1]
    mixed = {k: c["subgroups"] for k, c in clusters.items() if c["verdict"] != "split" and asks(c)}
    if mixed:
        which = ", ".join(f"{k} ({n} groups)" for k, n in mixed.items())
        text = (
            f"cluster {which} would stand still by eps1=auto in round {t}, with groups that stand apart, and the"
            " eps1 or eps2 that was given keeps it whole"
        )
        yield Advice("eps1", f"{text}: take eps1=auto eps2=auto", {"mixed": mixed}, AUTO)


def waits(seen: AdviceInput) -> Iterator[Advice]:
    """Rounds without norms: some member's update was too old."""
    silent = len(seen.history) - 1 - len(measured(seen.history[1:], "clusters", norms_by_group))
    if silent > 0.2 * len(seen.history):
        text = (
            f"in {silent} of {len(seen.history) - 1} rounds no cluster could be judged: members' updates were too old"
        )
        yield Advice(
            "waiting", f"{text}; use selection=all, or a larger max_age", {"rounds": silent}, {"selection": "all"}
        )
