"""What the records of finished runs say that a user would miss: one sentence each, with the numbers it rests on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from shoal.experiment.advice import cfl, groups, training
from shoal.experiment.advice.across import together
from shoal.experiment.advice.look import Advice, Look
from shoal.experiment.history import History

Rule = Callable[[Look], Iterator[Advice]]
RULES: tuple[Rule, ...] = (
    cfl.thresholds,
    groups.lost,
    groups.number,
    groups.shape,
    groups.needed,
    training.clients,
    training.learning,
    training.drift,
    training.theory,
)


def advise(algorithm: str, own: Mapping[str, Any], history: History) -> list[Advice]:
    """All that the rules find in the records of one run: its algorithm by name, the algorithm's own keys, the records.

    >>> row = {"round": 1, "group_size": [5, 0], "groups": 1}
    >>> [found] = advise("ifca", {"groups": 2}, History([row]))
    >>> found.about, dict(found.change)
    ('empty groups', {'init_min_share': 0.2})
    """
    if not len(history):
        return []
    look = Look(algorithm, own, history)
    return [advice for rule in RULES for advice in rule(look)]


__all__ = ["RULES", "Advice", "Look", "advise", "together"]
