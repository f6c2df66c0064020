"""E and M steps of FeSEM and WeCFL on what a round's clients learnt: first groups, empty groups, new centres."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from shoal.algorithms.parts.number_of_groups import Criterion, Groups, fit_measures, number_of_groups
from shoal.clusterers import Clusters, kmeans, m_step, reseed, unit
from shoal.measures import coordinates, wecfl_objective
from shoal.measures.validity import Cluster
from shoal.seeds import Key
from shoal.types import Answers, Array

Start = Literal["directions", "kmeans", "random_models"]


def first_groups(
    seen_ND: Array, learnt_ND: Array, lambda_N: Array, start: Start, groups: Groups, criterion: Criterion, key: Key
) -> tuple[Clusters, dict[str, Any]]:
    """k-means++ on what clients learnt first, the best of ten starts (departure D56).

    Args:
        seen_ND: What the distance sees of the clients' solutions.
        learnt_ND: The same of their updates, by which the number of groups is found.
        lambda_N: How much each client counts.
        start: `directions`: updates of length one, all clients alike (departure D86); `kmeans`: solutions and weights.
        groups: A number, or `auto`.
        criterion: What `auto` asks.
        key: Of the draws.

    Returns:
        Groups and centres, and how well they fit, for the record.
    """
    by_direction = start == "directions"
    weights_N, looked_at_ND = (np.ones(len(lambda_N)), unit(learnt_ND)) if by_direction else (lambda_N, learnt_ND)
    cluster: Cluster = lambda rows_ND, k, rng: kmeans(rows_ND, k, weights_N, rng).labels_N  # noqa: E731
    k, values = number_of_groups(coordinates(looked_at_ND), groups, cluster, key("how many"), criterion)
    found = kmeans(looked_at_ND if by_direction else seen_ND, k, weights_N, key.rng())
    if by_direction:
        centres_KD = m_step(seen_ND, found.labels_N, lambda_N, np.tile(seen_ND.mean(0), (k, 1)))
        found = Clusters(found.labels_N, centres_KD, wecfl_objective(seen_ND, centres_KD, found.labels_N, lambda_N))
    return found, {"F": found.F, **fit_measures(seen_ND, found.labels_N, learnt_ND), **values}


def fill_empty(found: Clusters, seen_ND: Array, lambda_N: Array, members_N: Array) -> tuple[Clusters, list[int]]:
    """An empty group is given the client farthest from its centre (departure D62).

    Nothing is done while some group has members, but none among the clients of the round: it only looks empty.

    Args:
        found: Groups and centres of the round's clients.
        seen_ND: What the distance sees of them.
        lambda_N: How much each counts.
        members_N: The groups of all clients that are there, -1 for none.

    Returns:
        Groups and centres without empty ones, and the places of the clients that moved.

    >>> rows_ND = np.array([[0.0], [1.0], [9.0]])
    >>> found = Clusters(np.zeros(3, int), np.array([[3.0], [50.0]]), 0.0)
    >>> filled, moved = fill_empty(found, rows_ND, np.ones(3), found.labels_N)
    >>> filled.labels_N.tolist(), moved
    ([0, 0, 1], [2])
    """
    all_K = np.arange(len(found.centres_KD))
    if len(np.setdiff1d(all_K, members_N)) != len(np.setdiff1d(all_K, found.labels_N)):
        return found, []
    labels_N, centres_KD, moved = reseed(seen_ND, found.labels_N, lambda_N, found.centres_KD)
    return Clusters(labels_N, centres_KD, wecfl_objective(seen_ND, centres_KD, labels_N, lambda_N)), list(moved)


def from_new_centres(got: Answers, start_KP: Array, labels_N: Array) -> Answers:
    """The answers as updates of the centres that clients now belong to: `Delta_i + Omega_old - Omega_new`.

    Who stays has its own update, bit for bit.

    Args:
        got: What clients learnt from the centres in `which_N`.
        start_KP: All centres before the M step.
        labels_N: The centre of each client after the E step.

    Returns:
        Answers whose mean, added to its centre, is the mean of its clients' solutions.

    >>> got = Answers(("a", "b"), np.array([0, 0]), {"update": np.array([[1.0], [5.0]])})
    >>> from_new_centres(got, np.array([[0.0], [4.0]]), np.array([0, 1]))["update"].tolist()
    [[1.0], [1.0]]
    """
    update_NP = got["update"].copy()
    for i in np.flatnonzero(got.which_N != labels_N):
        update_NP[i] += start_KP[got.which_N[i]] - start_KP[labels_N[i]]
    return replace(got, which_N=labels_N, fields={**got.fields, "update": update_NP}, models_KP=start_KP)
