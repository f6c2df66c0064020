"""What the records of finished runs say that a user would miss: one sentence each, with the numbers it rests on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from shoal.analysis.advice import cfl, groups, training
from shoal.analysis.advice.across import advise_across
from shoal.analysis.advice.advice_input import Advice, AdviceInput
from shoal.loop.history import History

Rule = Callable[[AdviceInput], Iterator[Advice]]
RULES: tuple[Rule, ...] = (
    cfl.splits,
    groups.lost,
    groups.number,
    groups.shape,
    groups.needed,
    groups.chains,
    training.clients,
    training.learning,
    training.drift,
    training.theory,
)


def advise(algorithm: str, own: Mapping[str, Any], history: History) -> list[Advice]:
    """All that the rules find in the records of one run.

    Args:
        algorithm: Its name; one that is not declared gets the advice that holds for any.
        own: The algorithm's own keys with their values.
        history: The records.

    Returns:
        One finding each, the most particular rules first.

    >>> row = {"round": 1, "group_size": [5, 0], "groups": 1}
    >>> [found] = advise("ifca", {"groups": 2}, History([row]))
    >>> found.about, dict(found.change)
    ('empty groups', {'init_min_share': 0.2})
    """
    if not len(history):
        return []
    seen = AdviceInput(algorithm, own, history)
    return [advice for rule in RULES for advice in rule(seen)]


__all__ = ["RULES", "Advice", "AdviceInput", "advise", "advise_across"]
