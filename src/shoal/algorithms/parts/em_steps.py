"""E and M steps of FeSEM and WeCFL on what a round's clients learnt: first groups, empty groups, new centres."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from shoal.algorithms.parts.client_space import Distance, Points, centred, em_steps
from shoal.algorithms.parts.number_of_groups import Criterion, Groups, fit_measures, number_of_groups
from shoal.clusterers import Clusters, kmeans, m_step, reseed, unit
from shoal.measures import coordinates, wecfl_objective
from shoal.measures.validity import Cluster
from shoal.seeds import Key
from shoal.types import Answers, Array

Events = tuple[dict[str, Any], ...]
Weights = Literal["uniform", "samples", "first"]
Start = Literal["directions", "kmeans", "random_models"]


def first_groups(
    at: Points, distance: Distance, start: Start, groups: Groups, criterion: Criterion, key: Key
) -> tuple[Clusters, dict[str, Any], Events]:
    """k-means++ on what clients learnt first, the best of ten starts (departure D56).

    Args:
        at: All clients, trained from one model.
        distance: How far they lie from centres.
        start: `directions`: updates of length one, all clients alike (departure D86); `kmeans`: solutions and weights.
        groups: A number, or `auto`, which looks at the updates.
        criterion: What `auto` asks.
        key: Of the draws.

    Returns:
        Groups and centres; how well they fit, for the record; no events.
    """
    seen_ND, lambda_N, by_direction = at.seen_ND, at.lambda_N, start == "directions"
    weights_N = np.ones(len(lambda_N)) if by_direction else lambda_N
    looked_at_ND = unit(at.learnt_ND) if by_direction else at.learnt_ND
    cluster: Cluster = lambda rows_ND, k, rng: kmeans(rows_ND, k, weights_N, rng).labels_N  # noqa: E731
    k, values = number_of_groups(coordinates(looked_at_ND), groups, cluster, key("how many"), criterion)
    found = kmeans(looked_at_ND if by_direction else seen_ND, k, weights_N, key.rng())
    if by_direction:
        found = m_step_alone(seen_ND, np.tile(seen_ND.mean(0), (k, 1)), found.labels_N, lambda_N)
    found = centred(distance, found, seen_ND, lambda_N)
    return found, {"F": found.F, **fit_measures(seen_ND, found.labels_N, at.learnt_ND), **values}, ()


def next_groups(
    at: Points, distance: Distance, centres_KD: Array, times: int, absent_N: Array | None
) -> tuple[Clusters, dict[str, Any], Events]:
    """E and M steps from the present centres; an empty group is filled again.

    Args:
        at: The clients of the round.
        distance: How far they lie from centres.
        centres_KD: The centres they trained from, as the distance sees them.
        times: E and M steps at most; 0: clients stay where they trained, the M step alone.
        absent_N: The groups of all clients that are not in the round, -1 for none; None: empty groups stay empty.

    Returns:
        Groups and centres; for the record the objective before and after, and how well groups fit; an event for every
        client that fills a group.
    """
    seen_ND, lambda_N, which_N = at.seen_ND, at.lambda_N, at.got.which_N
    before, filled = wecfl_objective(seen_ND, centres_KD, which_N, lambda_N), list[int]()
    if times:
        found = em_steps(distance, seen_ND, centres_KD, lambda_N, times)
    else:
        found = m_step_alone(seen_ND, centres_KD, which_N, lambda_N)
    if absent_N is not None:
        found, filled = fill_empty(found, seen_ND, lambda_N, np.concatenate([absent_N, found.labels_N]))
    found = centred(distance, found, seen_ND, lambda_N)
    measures = {"F_before": before, "F": found.F, **fit_measures(seen_ND, found.labels_N)}
    places = [{"client": at.got.cohort[i], "group": int(found.labels_N[i])} for i in filled]
    return found, measures, tuple({"kind": "group filled again", **place} for place in places)


def m_step_alone(seen_ND: Array, centres_KD: Array, labels_N: Array, lambda_N: Array) -> Clusters:
    """The centres of clients that stay where they trained, and the objective.

    Args:
        seen_ND: What the distance sees of the clients' solutions.
        centres_KD: The same of the centres they trained from.
        labels_N: Which of them.
        lambda_N: How much each client counts.

    Returns:
        The same groups, their new centres and F.

    >>> m_step_alone(np.array([[1.0], [3.0]]), np.array([[0.0], [9.0]]), np.array([0, 0]), np.ones(2))
    Clusters(labels_N=array([0, 0]), centres_KD=array([[2.],
           [9.]]), F=1.0)
    """
    centres_KD = m_step(seen_ND, labels_N, lambda_N, centres_KD)
    return Clusters(labels_N, centres_KD, wecfl_objective(seen_ND, centres_KD, labels_N, lambda_N))


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
    moved = np.flatnonzero(got.which_N != labels_N)
    update_NP = got["update"].copy() if len(moved) else got["update"]
    for i in moved:
        update_NP[i] += start_KP[got.which_N[i]] - start_KP[labels_N[i]]
    return replace(got, which_N=labels_N, fields={**got.fields, "update": update_NP}, models_KP=start_KP)
