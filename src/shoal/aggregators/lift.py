"""Lifts an aggregator for one model to K groups: each on its own answers; a group without answers keeps its model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.aggregators.mean import plus_mean, weighted_sum
from shoal.aggregators.rules import Aggregator, MeanRule, ServerState, Transform, Transformed, WholeRule
from shoal.errors import BadInput
from shoal.layout import Layout
from shoal.seeds import Key
from shoal.types import Answers, Array, Cohort


@dataclass(frozen=True)
class PerGroup:
    """An aggregator acting on K models and on every part of the vector.

    Trainable numbers go through transforms and the rule, counters take the maximum. Statistics take the mean with the
    same shares, or what a whole rule says of them.
    """

    aggregator: Aggregator
    layout: Layout

    def init(self, models_KP: Array) -> ServerState:
        """What the aggregator carries on, one row per group."""
        rows = [self.aggregator.init(model_P[self.layout.trainable]) for model_P in models_KP]
        return {name: np.stack([r[name] for r in rows]) for name in rows[0]}

    def apply(self, models_KP: Array, got: Answers, s: ServerState, key: Key) -> tuple[Array, ServerState]:
        """The next model of every group from the answers of the clients that trained it (`got.which_N`)."""
        new_KP, new_s = models_KP.copy(), {name: rows.copy() for name, rows in s.items()}
        rule, transforms = taken_apart(self.aggregator)
        for k in np.unique(got.which_N):
            mine: Any = np.flatnonzero(got.which_N == k)
            cohort = tuple(got.cohort[i] for i in mine)
            mine = slice(None) if len(mine) == len(got) else mine  # one group: no copy of the updates
            updates_NP, counts_N = got["update"][mine], got["count"][mine]
            if transforms:
                updates_NP = self._transformed(transforms, updates_NP, cohort, key)
            mine_s = {name: rows[k] for name, rows in s.items()}
            new_KP[k], row = self._one(rule, models_KP[k], updates_NP, counts_N, mine_s, key(f"group {k}"))
            for name, value in row.items():
                new_s[name][k] = value
        return new_KP, new_s

    def _transformed(self, transforms: tuple[Transform, ...], updates_NP: Array, cohort: Cohort, key: Key) -> Array:
        """The updates as the rule behind the transforms sees them."""
        new_NP, at = updates_NP.astype(np.float64), self.layout.trainable
        for i, client in enumerate(cohort):
            update_P = updates_NP[i, at]
            for j, transform in enumerate(transforms):
                update_P = fitting(transform, transform(update_P, key(f"transform {j}").of(client)), update_P)
            new_NP[i, at] = update_P
        return new_NP

    def _one(
        self, rule: Aggregator, model_P: Array, updates_NP: Array, counts_N: Array, s: ServerState, key: Key
    ) -> tuple[Array, ServerState]:
        at = self.layout
        if isinstance(rule, MeanRule) and type(rule).step is MeanRule.step:
            new_P = plus_mean(model_P, rule.shares(updates_NP[:, at.trainable], counts_N), updates_NP)
            new_P[at.counters] = model_P[at.counters] + updates_NP[:, at.counters].max(0, initial=0)
            return new_P, s
        new_P = model_P.astype(np.float64)
        params_P, seen_NP = new_P[at.trainable].copy(), updates_NP[:, at.trainable]
        if isinstance(rule, MeanRule):
            mean_P = weighted_sum(rule.shares(seen_NP, counts_N), updates_NP)
            new_P += mean_P
            made_P, s = rule.step(params_P, mean_P[at.trainable], s)
        elif isinstance(rule, WholeRule):
            new_P[at.statistics] += rule.statistics(updates_NP[:, at.statistics], counts_N)
            made_P, s = rule.apply(params_P, seen_NP, counts_N, s, key)
        else:
            raise BadInput(f"{type(rule).__name__} is no aggregator: derive it from MeanRule or WholeRule")
        new_P[at.trainable] = fitting(rule, made_P, params_P)
        new_P[at.counters] = model_P[at.counters] + updates_NP[:, at.counters].max(0, initial=0)
        with np.errstate(over="ignore"):  # a model that is not finite ends the run with a sentence
            return new_P.astype(model_P.dtype), s


def taken_apart(aggregator: Aggregator) -> tuple[Aggregator, tuple[Transform, ...]]:
    """The rule, and all that stands in front of it, first things first."""
    transforms: tuple[Transform, ...] = ()
    while isinstance(aggregator, Transformed):
        transforms, aggregator = (*transforms, *aggregator.transforms), aggregator.rule
    return aggregator, transforms


def fitting(who: object, made_P: Array, like_P: Array) -> Array:
    """What a part has made, if it is as long as it must be."""
    if np.shape(made_P) != np.shape(like_P):
        raise BadInput(
            f"{type(who).__name__} makes numbers of shape {np.shape(made_P)} of a model with {np.shape(like_P)}"
        )
    return made_P


def per_group(aggregator: Aggregator, layout: Layout) -> PerGroup:
    """The aggregator for K groups.

    Args:
        aggregator: For one model.
        layout: Where trainable numbers, statistics and counters stand in the vector.

    Returns:
        An object with `init(models_KP)` and `apply(models_KP, answers, state, key)`.

    >>> from torch import nn
    >>> layout = Layout.of(lambda: nn.Linear(1, 2, bias=False), np.zeros((1, 1)))
    >>> got = Answers(("a",), np.array([1]), {"update": np.ones((1, 2)), "count": np.array([5])})
    >>> from shoal.aggregators.mean import weighted_mean
    >>> per_group(weighted_mean(), layout).apply(np.zeros((2, 2)), got, {}, Key(0))[0].tolist()
    [[0.0, 0.0], [1.0, 1.0]]
    """
    return PerGroup(aggregator, layout)
