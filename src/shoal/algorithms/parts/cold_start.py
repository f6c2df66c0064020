"""FedGroup's group cold start: groups from the pre-training updates of some clients (Algorithm 3).

Duan et al., "FedGroup: Efficient Federated Learning via Decomposed Similarity-Based Clustering", 2021;
https://arxiv.org/abs/2010.06870. The client's half needs nothing but a measure, so that devices can
have it too; it lives in `shoal.measures`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, get_args

import numpy as np

from shoal.algorithms.parts.newcomers import merge_answers
from shoal.clusterers import cut_into, kmeans, kmeans_from
from shoal.errors import BadInput, TooFewAnswers, unknown
from shoal.measures import cosine, edc_embedding, madc
from shoal.seeds import Key
from shoal.selection import Random
from shoal.types import Answers, Array, Cohort, Roster

GroupMeasure = Literal["edc", "madc"]
STARTS, ITERATIONS = 10, 20  # of k-means, as in the authors' code


def group_labels(
    rows_NP: Array,
    m: int,
    measure: GroupMeasure = "edc",
    rng: np.random.Generator | None = None,
    centres: Sequence[int] | None = None,
) -> Array:
    """m groups, none of them empty: k-means++ on the EDC embedding, or complete linkage of the MADC matrix.

    Groups are numbered by their first clients. Where fewer than m points are distinct, the largest group gives its
    last client to a group that would be empty.

    Args:
        rows_NP: The updates, trainable numbers only.
        m: Number of groups.
        measure: `edc` or `madc`.
        rng: Draws the starts of k-means.
        centres: Places of m clients that replace those starts; group k then grows from the k-th of them.

    Returns:
        The group of every client.

    >>> group_labels(np.array([[1.0, 0.0], [0.0, 1.0], [0.1, 1.0], [2.0, 0.1]]), 2, centres=[2, 0]).tolist()
    [1, 0, 0, 1]
    """
    n = len(rows_NP)
    if not 1 <= m <= n:
        raise BadInput(f"{n} clients took part in the cold start; they cannot form {m} groups.")
    if measure == "madc":
        return cut_into(madc(cosine(rows_NP)), m, "complete")
    if measure != "edc":
        raise unknown("measure", measure, get_args(GroupMeasure))
    points_NM, ones_N = edc_embedding(rows_NP, m), np.ones(n)
    if centres is not None:
        if len(set(centres)) != m:
            raise BadInput(f"{m} groups need {m} different clients as initial centres, not {list(centres)}.")
        return _none_empty(kmeans_from(points_NM, points_NM[list(centres)], ones_N, ITERATIONS).labels_N, m)
    if rng is None:
        raise BadInput("the group cold start needs random numbers or initial centres for k-means.")
    return _none_empty(kmeans(points_NM, m, ones_N, rng, STARTS, ITERATIONS).labels_N, m)


def ask_until(m: int, ask: Callable[[Cohort], Answers], clients: Roster, key: Key) -> Answers:
    """The answers of m random clients: for each that fails the next one is asked (departure D81).

    Args:
        m: Answers that are needed.
        ask: Asks a cohort, and is content with any number of answers.
        clients: Who is there.
        key: Draws the order in which clients are asked, that of `Random`.

    Returns:
        m answers, and all who failed on the way.

    >>> ask = lambda cohort: Answers(tuple(c for c in cohort if c != "b"), np.zeros(len(set(cohort) - {"b"}), int))
    >>> roster = Roster(("a", "b", "c"), np.ones(3))
    >>> ask_until(2, ask, roster, Key(0)).cohort
    ('a', 'c')
    """
    asked = Random(m)(clients, key)
    got = ask(asked)
    while len(got) < m and len(asked) < len(clients):
        wider = Random(len(asked) + m - len(got))(clients, key)
        more, asked = tuple(c for c in wider if c not in asked), wider
        got = merge_answers(got, ask(more))
    if len(got) < m:
        raise TooFewAnswers(f"{m} random clients are to begin a group each, and {len(got)} could", len(got))
    return got


def _none_empty(labels_N: Array, m: int) -> Array:
    """Fills groups for which there is no distinct point left."""
    labels_N = labels_N.copy()
    for k in np.setdiff1d(np.arange(m), labels_N):
        largest = np.bincount(labels_N).argmax()
        labels_N[np.flatnonzero(labels_N == largest)[-1]] = k
    return labels_N
