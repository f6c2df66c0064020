"""WeCFL's E step in general form (equation 3b): what stands for clients and groups, and how far they lie apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from shoal.aggregators import Mean
from shoal.clusterers import Clusters, e_step, lloyd, spherical_centres, spherical_lloyd, unit
from shoal.layout import Layout
from shoal.types import Answers, Array, Representation

Represent = Literal["model", "update"]
Distance = Literal["euclidean", "cosine"]


@dataclass(frozen=True)
class Points:
    """What the clients of a round learnt, and where that lies.

    Attributes:
        got: Their answers.
        omega_NP: Their solutions.
        lambda_N: How much each counts, 1 in all.
        seen_ND: What the distance sees of what stands for a client.
        learnt_ND: What it sees of the updates.
    """

    got: Answers
    omega_NP: Array
    lambda_N: Array
    seen_ND: Array
    learnt_ND: Array


@dataclass(frozen=True)
class ClientSpace:
    """Where clients and groups are points: which part of models or updates, seen by which distance.

    Args:
        part: The part of a model, by name of the layout, or `all` trainable numbers.
        represent: What stands for a client, its local model or its update.
        distance: How far points lie apart.
    """

    part: str
    represent: Represent
    distance: Distance

    def seen(self, rows_NP: Array, layout: Layout) -> Array:
        """What the distance sees of models or updates."""
        return seen_by(self.distance, layout.take(rows_NP, "trainable" if self.part == "all" else self.part))

    def points(self, got: Answers, Omega_KP: Array, mean: Mean, layout: Layout) -> Points:
        """The clients that trained from these models, weighted as by this mean."""
        omega_NP, learnt_ND = Omega_KP[got.which_N] + got["update"], self.seen(got["update"], layout)
        seen_ND = learnt_ND if self.represent == "update" else self.seen(omega_NP, layout)
        return Points(got, omega_NP, mean.shares(got["update"], got["count"]), seen_ND, learnt_ND)

    def centres(self, state: Any, layout: Layout) -> Array:
        """The points of the present centres."""
        return state.G_KD if self.represent == "update" else self.seen(state.Omega_KP, layout)

    def nearest_first(self, state: Any, update_NP: Array, layout: Layout) -> Array:
        """For clients that trained from w_0 the nearest of the groups' mean first solutions, or of the centres."""
        centres_KP = state.first_KP if len(state.first_KP) else state.Omega_KP
        rows = (
            (update_NP, centres_KP - state.w0_P) if self.represent == "update" else (state.w0_P + update_NP, centres_KP)
        )
        return e_step(*(self.seen(each, layout) for each in rows))

    def shown(self, at: Points) -> Representation:
        """The points as records hold them."""
        what = "local models" if self.represent == "model" else "updates"
        return Representation(what, self.distance, at.got.cohort, at.seen_ND)


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
