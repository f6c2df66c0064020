"""What CFL decides about a cluster in a round, with everything it looked at and the reason in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from shoal.algorithms.parts.split_criteria import (
    CriteriaMode,
    Norms,
    Threshold,
    cfl_criteria,
    cluster_norms,
    thresholds,
)
from shoal.algorithms.parts.subgroups import LEAST, ORDER, SILHOUETTE, Subgroups, cut_between, subgroups
from shoal.clusterers import BipartitionMode, Split, bipartition
from shoal.measures import cosine, relative_deviation, within
from shoal.types import Algorithm, Array, Cohort, Engine

Guard = Literal["auto", "on", "off"]
Answer = Literal["alone", "moving", "early", "congruent", "final", "refused", "kept", "split"]


@dataclass(frozen=True, kw_only=True)
class SplitRule:
    """When a cluster is split: CFL's options, as `shoal list` explains them."""

    eps1: Threshold = "auto"
    eps2: Threshold = "auto"
    criteria: CriteriaMode = "paper"
    min_round: int = 20
    min_cluster_size: int = 2
    bipartition: BipartitionMode = "optimal"
    guard: Guard = "auto"

    @classmethod
    def of(cls, method: Algorithm, guard: Guard) -> SplitRule:
        """The rule with the values that the options of the same names have in CFL."""
        own = {f.name: getattr(method, f.name) for f in fields(cls)}
        return cls(**{**own, "guard": guard})

    @property
    def guarded(self) -> bool:
        """Whether clients must form groups that stand apart; thresholds that were given decide alone."""
        return self.guard == "on" or (self.guard == "auto" and "auto" in (self.eps1, self.eps2))


class Verdict(NamedTuple):
    """The answer, why, the cut that was considered (None for a client alone), and the numbers for the records."""

    answer: Answer
    reason: str
    cut: Split | None
    seen: dict[str, Any]

    @property
    def record(self) -> dict[str, Any]:
        """What the records hold: the numbers, the answer and the reason."""
        return {**self.seen, "verdict": self.answer, "reason": self.reason}

    def at_fixed_rounds(self, split: bool) -> Verdict:
        """The same where `split_rounds` decides, not the norms."""
        return self._replace(answer="split" if split else "kept", reason="split_rounds decides, not the norms")


def judge_all(
    state: Any, clusters: Mapping[int, Cohort], rule: SplitRule, engine: Engine, t: int
) -> tuple[Any, dict[int, Verdict]]:
    """CFL's decision about every cluster, by the latest updates of its clients.

    Args:
        state: Of CFL.
        clusters: Members by cluster.
        rule: When a cluster is split.
        engine: Knows the clients' sizes, and which numbers of a model are trained.
        t: The round.

    Returns:
        The state, which remembers the similarities, the first lengths and who is final, and the verdicts.
    """
    verdicts: dict[int, Verdict] = {}
    for k, mine in clusters.items():
        rows_NP, sizes_N = state.latest.get(mine, 0.0)[:, engine.layout.trainable], np.array(engine.clients.sizes(mine))
        similarity_NN = cosine(rows_NP)
        if rule.guarded:
            state = replace(state, alike=state.alike.put(mine, similarity_NN))
            similarity_NN = state.alike.get(mine)
        verdicts[k] = judge(rows_NP, sizes_N, similarity_NN, rule, state.first, t, k in state.final)
        state = replace(state, first=state.first or verdicts[k].seen["length"])
    final = {k for k, verdict in verdicts.items() if verdict.answer == "final"}
    return replace(state, final=tuple(sorted({*state.final, *final}))), verdicts


def judge(
    rows_NP: Array,
    sizes_N: Array,
    similarity_NN: Array,
    rule: SplitRule,
    first: float,
    round: int = 0,
    final: bool = False,
) -> Verdict:
    """CFL's decision about one cluster.

    Args:
        rows_NP: The latest update of each client, trainable numbers only.
        sizes_N: Its training samples.
        similarity_NN: Cosine similarity of every pair of them.
        rule: The thresholds and what else decides.
        first: Mean length of the updates in the first round; 0 if this is it.
        round: The present one.
        final: Whether the cluster was found congruent before; then it is not split any more.

    Returns:
        The answer with its reason, the cut and the numbers.

    >>> rows = np.kron([[1.0, 0.0], [-1.0, 0.0]], np.ones((3, 1)))
    >>> found = judge(rows, np.ones(6), rows @ rows.T, SplitRule(), first=1.0)
    >>> found.answer, found.cut.labels_N.tolist(), found.seen["cross"]
    ('split', [0, 0, 0, 1, 1, 1], -1.0)
    >>> judge(rows[:3], np.ones(3), np.ones((3, 3)), SplitRule(), first=1.0).reason
    "still moving: its mean update is 1 long, and eps1 is 0.5 (half of its clients' mean length)"
    """
    n, norms = len(rows_NP), cluster_norms(rows_NP, sizes_N, rule.criteria)
    first = first or norms.length
    eps1, eps2 = thresholds(rule.eps1, rule.eps2, norms.length, first)
    seen: dict[str, Any] = {"mean_norm": norms.mean_norm, "max_norm": norms.max_norm, "clients": n}
    seen |= {"within": within(rows_NP, np.zeros(n, int)), "length": norms.length, "eps1": eps1, "eps2": eps2}
    seen |= {"mean_relative": norms.mean_norm / (norms.length or 1.0), "max_relative": norms.max_norm / (first or 1.0)}
    if n < 2:
        return Verdict("alone", "a client alone is not split", None, seen)
    groups = subgroups(similarity_NN)
    between = rule.guarded and groups.number > 1
    cut = (cut_between if between else cut_anywhere)(similarity_NN, groups.labels_N, rule.bipartition)
    gamma = relative_deviation(rows_NP, groups.labels_N if groups.number > 1 else cut.labels_N)
    seen |= {"cross": cut.cross, "gamma": gamma if np.isfinite(gamma) else None, "subgroups": groups.number}
    seen |= {"silhouette": groups.silhouette, "order": groups.order, "apart": groups.apart}
    only_notebook = round, rule.min_round, rule.min_cluster_size
    asks = cfl_criteria(rows_NP, sizes_N, eps1, eps2, rule.criteria, *only_notebook).split
    answer = answer_of(norms, n, eps1, asks, rule, round, groups, final)
    return Verdict(answer, in_words(answer, norms, eps1, eps2, rule, groups, cut), cut, seen)


def cut_anywhere(similarity_NN: Array, labels_N: Array, mode: BipartitionMode) -> Split:
    """The paper's cut, which knows of no groups."""
    return bipartition(similarity_NN, mode)


def answer_of(
    norms: Norms, n: int, eps1: float, asks: bool, rule: SplitRule, round: int, groups: Subgroups, final: bool
) -> Answer:
    """In the order of the algorithm: stationary? congruent? and, with the guard, groups that stand apart?"""
    if final:
        return "final"
    if not norms.mean_norm < eps1:
        return "moving"
    if not asks:
        if rule.criteria == "paper":
            return "final"
        return "early" if round <= rule.min_round or n <= max(rule.min_cluster_size, 1) else "congruent"
    return "refused" if rule.guarded and not groups.apart else "split"


def in_words(
    answer: Answer, norms: Norms, eps1: float, eps2: float, rule: SplitRule, groups: Subgroups, cut: Split
) -> str:
    """The reason for an answer, with its numbers."""
    half = " (half of its clients' mean length)" if rule.eps1 == "auto" else ""
    quarter = " (a quarter of the first round's mean length)" if rule.eps2 == "auto" else ""
    best = f"silhouette {groups.silhouette:.2f} of {SILHOUETTE:g}, order {groups.order:.3f} of {ORDER:g}"
    formed = f"the {groups.number} groups its clients form best do not stand apart: {best}"
    return {
        "moving": f"still moving: its mean update is {norms.mean_norm:.3g} long, and eps1 is {eps1:.3g}{half}",
        "early": "the notebook does not split so early, or so few clients",
        "congruent": f"it stands still with no update longer than eps2, {eps2:.3g}{quarter}",
        "final": f"final: it stood still with no update longer than eps2, now {eps2:.3g}{quarter}",
        "refused": formed if groups.number > 1 else f"its clients form no two groups of {LEAST} or more",
        "split": f"it stands still, its clients do not, and the largest similarity across the cut is {cut.cross:.2f}",
    }[answer]
