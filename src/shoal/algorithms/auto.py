"""How many groups: a number that the user gives, or the one with the best silhouette on the representation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from shoal.measures import choose_k
from shoal.measures.validity import Cluster
from shoal.types import Array

Groups = Annotated[int, Field(ge=1)] | Literal["auto"]
MOST = 10  # groups that auto considers


def how_many(
    rows_ND: Array, groups: Groups, cluster: Cluster, rng: np.random.Generator, distances_NN: Array | None = None
) -> tuple[int, Mapping[str, Any]]:
    """The number of groups, and for the records the criterion's value for every number that was considered.

    >>> rows = np.array([[0.0], [0.1], [5.0], [5.1], [9.0], [9.1]])
    >>> how_many(rows, "auto", lambda x, k, rng: np.arange(6) * k // 6, np.random.default_rng(0))[0]
    3
    """
    if groups != "auto":
        return groups, {}
    most = min(MOST, len(rows_ND) - 1)
    if most < 2:
        return 1, {"silhouette": {}}
    found = choose_k(rows_ND, range(2, most + 1), cluster, "silhouette", rng, distances_NN)
    return found.k, {"silhouette": {str(k): value for k, value in found.values.items()}}
