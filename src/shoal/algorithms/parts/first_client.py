"""The averaging that FlexCFL's code does for IFCA and FeSEM: of a group's clients the first one's update alone."""

from __future__ import annotations

import numpy as np

from shoal.seeds import Key, hash_ids
from shoal.types import Answers


def first_of_each(got: Answers, key: Key) -> Answers:
    """The answers of one client per group: the first in an order that is drawn anew in every round (departure D87).

    Args:
        got: The answers of a round, each with its group in `which_N`.
        key: Of the order.

    Returns:
        One answer for every group that has any, in canonical order.

    >>> got = Answers(("a", "b", "c"), np.array([1, 0, 1]), {"update": np.array([[1.0], [2.0], [3.0]])})
    >>> one = first_of_each(got, Key(0))
    >>> sorted(one.which_N.tolist()), len(one), one["update"].shape
    ([0, 1], 2, (2, 1))
    """
    scores_N = key.scores(hash_ids(got.cohort))
    members = (np.flatnonzero(got.which_N == k) for k in np.unique(got.which_N))
    rows = sorted(int(mine[scores_N[mine].argmin()]) for mine in members)
    fields = {name: values[rows] for name, values in got.fields.items()}
    return Answers(tuple(got.cohort[i] for i in rows), got.which_N[rows], fields, got.failed, got.models_KP)
