"""Client cold start: the group whose direction is most like a newcomer's update (Duan et al. 2021, equation 9)."""

from __future__ import annotations

import numpy as np

from shoal.measures.cosine import cosine_to, dissimilarity
from shoal.types import Array

EQUAL = 1e-12  # dissimilarities this close differ by rounding only


def client_cold_start(directions_KP: Array, update_P: Array) -> tuple[int, Array]:
    """`g* = argmin_j (1 - cos(direction_j, update)) / 2`, ties to the lowest; the group and all K dissimilarities.

    A zero update, or a zero direction, has dissimilarity 1/2.

    Args:
        directions_KP: The groups' directions, fixed by the group cold start.
        update_P: What the client learnt in pre-training from the same start.

    Returns:
        The number of the nearest group, and the K dissimilarities in [0, 1].

    >>> group, dissimilarities_K = client_cold_start(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0.0, 5.0]))
    >>> group, dissimilarities_K.tolist()
    (1, [0.5, 0.0])
    """
    dissimilarities_NK = dissimilarity(cosine_to(np.asarray(update_P)[None], directions_KP))
    return int(lowest(dissimilarities_NK)[0]), dissimilarities_NK[0]


def nearest_directions(directions_KP: Array, updates_NP: Array) -> Array:
    """`client_cold_start` of many clients with the same directions.

    Args:
        directions_KP: The groups' directions.
        updates_NP: What each client learnt in pre-training.

    Returns:
        For each client the number of its nearest group.

    >>> nearest_directions(np.eye(2), np.array([[0.0, 5.0], [3.0, 1.0], [0.0, 0.0]])).tolist()
    [1, 0, 0]
    """
    return lowest(dissimilarity(cosine_to(updates_NP, directions_KP)))


def lowest(dissimilarities_NK: Array) -> Array:
    """In each row the place of the lowest value, of equal ones the first.

    >>> lowest(np.array([[0.5, 0.25, 0.25 - 1e-16]])).tolist()
    [1]
    """
    near_NK = dissimilarities_NK <= dissimilarities_NK.min(1, keepdims=True) + EQUAL
    return np.asarray(near_NK.argmax(1))
