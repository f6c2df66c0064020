"""FedGroup's cold starts: groups from the pre-training updates of some clients, and a group for everybody else.

Duan et al., "FedGroup: Efficient Clustered Federated Learning via Decomposed Data-Driven Measure", 2021;
https://arxiv.org/abs/2010.06870. Spec 2.4.1, 2.4.2. The client's half needs nothing but a measure, so that devices can
have it too; it lives in `shoal.measures`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np

from shoal.aggregators import weighted_sum
from shoal.clusterers import cut_into, kmeans, kmeans_from
from shoal.errors import BadInput, unknown
from shoal.measures import client_cold_start, cosine, edc_embedding, madc
from shoal.types import Array

__all__ = ["GroupMeasure", "GroupStart", "client_cold_start", "group_cold_start", "group_labels"]

GroupMeasure = Literal["edc", "madc"]
STARTS, ITERATIONS = 10, 20  # of k-means, as in the authors' code


class GroupStart(NamedTuple):
    """Group of every client, and the model and the direction of every group."""

    labels_N: Array
    models_KP: Array
    directions_KP: Array


def group_cold_start(
    updates_NP: Array,
    w0_P: Array,
    m: int,
    measure: GroupMeasure = "edc",
    rng: np.random.Generator | None = None,
    centres: Sequence[int] | None = None,
    measured: slice = slice(None),
) -> GroupStart:
    """Labels of `group_labels`; direction `mean of the group's updates`, equal weights; model `w_0 + direction` (D9).

    The measure sees the `measured` slice of the updates only (the trainable part), the means take all of them.

    >>> updates = np.array([[1.0, 0.0], [3.0, 0.0], [0.0, -2.0]])
    >>> start = group_cold_start(updates, np.ones(2), 2, rng=np.random.default_rng(0))
    >>> start.labels_N.tolist(), start.directions_KP.tolist(), start.models_KP.tolist()
    ([0, 0, 1], [[2.0, 0.0], [0.0, -2.0]], [[3.0, 1.0], [1.0, -1.0]])
    """
    updates_NP, w0_P = np.asarray(updates_NP), np.asarray(w0_P)
    labels_N = group_labels(updates_NP[:, measured], m, measure, rng, centres)
    means_KP = np.stack([_mean(updates_NP[labels_N == k]) for k in range(m)])
    return GroupStart(labels_N, (w0_P + means_KP).astype(w0_P.dtype), means_KP.astype(w0_P.dtype))


def group_labels(
    rows_NP: Array,
    m: int,
    measure: GroupMeasure = "edc",
    rng: np.random.Generator | None = None,
    centres: Sequence[int] | None = None,
) -> Array:
    """m groups, none of them empty: k-means++ on the EDC embedding, or complete linkage of the MADC matrix.

    `centres` (places of m clients) replaces the random starts of k-means, and group k then grows from the k-th of
    them; otherwise groups are numbered by their first clients. Where fewer than m points are distinct, the largest
    group gives its last client to a group that would be empty.

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


def _none_empty(labels_N: Array, m: int) -> Array:
    """Fills groups for which there is no distinct point left."""
    labels_N = labels_N.copy()
    for k in np.setdiff1d(np.arange(m), labels_N):
        largest = np.bincount(labels_N).argmax()
        labels_N[np.flatnonzero(labels_N == largest)[-1]] = k
    return labels_N


def _mean(rows_NP: Array) -> Array:
    return weighted_sum(np.full(len(rows_NP), 1 / len(rows_NP)), rows_NP)
