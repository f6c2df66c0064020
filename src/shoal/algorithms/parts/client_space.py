"""WeCFL's E step in general form (equation 3b): what stands for clients and groups, and how far they lie apart."""

from __future__ import annotations

from typing import Literal

from shoal.clusterers import Clusters, lloyd, spherical_centres, spherical_lloyd, unit
from shoal.types import Array

Represent = Literal["model", "update"]
Distance = Literal["euclidean", "cosine"]


def seen_by(distance: Distance, rows_ND: Array) -> Array:
    """Rows as the distance sees them: for cosine only their directions, whose squared distance is `2 (1 - cos)`.

    Args:
        distance: `euclidean` or `cosine`.
        rows_ND: A row per client or per centre.

    Returns:
        The rows, or rows of length one.

    >>> import numpy as np
    >>> seen_by("cosine", np.array([[0.0, 5.0]])).tolist(), seen_by("euclidean", np.array([[0.0, 5.0]])).tolist()
    ([[0.0, 1.0]], [[0.0, 5.0]])
    """
    return unit(rows_ND) if distance == "cosine" else rows_ND


def em_steps(distance: Distance, seen_ND: Array, centres_KD: Array, lambda_N: Array, times: int) -> Clusters:
    """E and M steps from given centres, none of which raises the objective.

    Args:
        distance: By Lloyd's steps, or for cosine by those of spherical k-means.
        seen_ND: The clients, as `seen_by` gives them.
        centres_KD: The centres, as `seen_by` gives them.
        lambda_N: How much each client counts.
        times: E and M steps at most.

    Returns:
        Groups, centres and F.

    >>> import numpy as np
    >>> em_steps("euclidean", np.array([[0.0], [8.0]]), np.array([[1.0], [7.0]]), np.ones(2), 1).centres_KD.tolist()
    [[0.0], [8.0]]
    """
    steps = spherical_lloyd if distance == "cosine" else lloyd
    return steps(seen_ND, centres_KD, lambda_N, times)


def centred(distance: Distance, found: Clusters, seen_ND: Array, lambda_N: Array) -> Clusters:
    """Groups found by other means, with the centres that the distance asks for: for cosine of length one.

    Args:
        distance: `euclidean`: as they are.
        found: Groups and their means.
        seen_ND: The clients.
        lambda_N: How much each counts.

    Returns:
        The same groups, their centres and F.
    """
    if distance == "euclidean":
        return found
    return spherical_centres(seen_ND, found.labels_N, lambda_N, found.centres_KD)
