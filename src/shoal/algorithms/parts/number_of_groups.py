"""How many groups: a number that the user gives, or the one that fits best; and how well groups fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from shoal.measures import choose_k, pairwise, silhouettes, within_groups
from shoal.measures.validity import Cluster
from shoal.seeds import Key
from shoal.types import Array

Groups = Annotated[int, Field(ge=1)] | Literal["auto"]
Criterion = Literal["cosine", "euclidean", "gap", "elbow"]
MOST = 10  # groups that are considered
LEAST = 0.2  # silhouette that nearly every client and every group must reach, else there is one group (departure D85)
LOOK = 200  # clients up to which a given number is looked at beside the others, for the records


def number_of_groups(
    updates_NP: Array, groups: Groups, cluster: Cluster, key: Key, criterion: Criterion = "cosine", least: float = LEAST
) -> tuple[int, Mapping[str, Any]]:
    """The number of groups, and for the records the criterion's value for every number that was considered.

    `cosine` and `euclidean`: the largest silhouette by that distance of the updates, and 1 unless groups stand out
    for nearly everybody (departure D85); `gap`: the gap statistic, which may say 1; `elbow`: the bend of the
    within-group sum of squares. A number that the user gives is taken; the others are looked at all the same while
    clients are few. `least` is how clearly groups must stand out.

    >>> rows = np.array([[1.0, 0.0], [2.0, 0.1], [0.0, 1.0], [0.1, 3.0], [-1.0, 0.0], [-2.0, 0.1]])
    >>> number_of_groups(rows, "auto", lambda x, k, rng: np.arange(6) * k // 6, Key(0))[0]
    3
    """
    most = min(MOST, len(updates_NP) - 1)
    if groups != "auto" and (len(updates_NP) > LOOK or most < 2):
        return groups, {}
    if most < 2:
        return 1, {}
    ks, rng = range(1 if criterion == "gap" else 2, most + 1), key.rng()
    if criterion == "cosine" or criterion == "euclidean":
        found = choose_k(updates_NP, ks, cluster, "silhouette", rng, pairwise(updates_NP, criterion), least)
        values = {"silhouette": by_number(found.values), "clarity": by_number(found.clarity)}
    else:
        found = choose_k(updates_NP, ks, cluster, "gap" if criterion == "gap" else "within", rng)
        values = {criterion: by_number(found.values)}
    return (found.k if groups == "auto" else groups), values


def by_number(values: Mapping[int, float]) -> dict[str, float]:
    """As records hold them."""
    return {str(k): value for k, value in values.items()}


def fit_measures(points_ND: Array, labels_N: Array, updates_NP: Array | None = None) -> dict[str, Any]:
    """For the records: the within-group sum of squares, each group's mean squared distance to its mean and, given the
    updates of few clients, its mean silhouette by their cosine distance.

    >>> fit_measures(np.array([[0.0], [2.0], [10.0]]), np.array([0, 0, 1]))
    {'within': 2.0, 'spread': [1.0, 0.0]}
    """
    sums_K, sizes_K = within_groups(points_ND, labels_N), np.maximum(np.bincount(labels_N), 1)
    out: dict[str, Any] = {"within": float(sums_K.sum()), "spread": (sums_K / sizes_K).tolist()}
    if updates_NP is not None and len(updates_NP) <= LOOK:
        each_N = silhouettes(pairwise(updates_NP, "cosine"), labels_N)
        out["group_silhouette"] = (np.bincount(labels_N, each_N) / sizes_K).tolist()
    return out
