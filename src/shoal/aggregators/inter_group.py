"""Inter-group aggregation of FedGroup and FlexCFL: every group model leans towards the others (departure D12)."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from shoal.aggregators.mean import weighted_sum
from shoal.errors import BadInput, unknown
from shoal.types import Array

InterGroupMode = Literal["normalised", "paper"]


def inter_group(
    models_KP: Array, eta_g: float, mode: InterGroupMode = "normalised", members_K: Array | None = None
) -> Array:
    """`w_j + eta_g sum_{l != j} w_l / |w_l|`, all right-hand sides from before the step.

    `paper` is this sum as published, which makes models grow by up to eta_g (K - 1) every time. `normalised` divides
    it by the sum of its weights, `1 + eta_g sum_{l != j} 1 / |w_l|`: what the authors' code does. A model of norm 0 is
    left out of the sums (it still receives). With `members_K` (clients per group) only groups that have any take part:
    the others neither give nor receive. `eta_g = 0` returns the models as they are. Norms are those of the vectors
    given: hand in the trainable part.

    Args:
        models_KP: The groups' models.
        eta_g: Inter-group learning rate, from 0 up.
        mode: `normalised` or `paper` (departure D12).
        members_K: Clients of each group; without it all groups take part.

    Returns:
        The new models, K x P.

    >>> models = np.array([[2.0, 0.0], [0.0, 4.0]])
    >>> inter_group(models, 1.0, "paper").tolist()
    [[2.0, 1.0], [1.0, 4.0]]
    >>> inter_group(models, 1.0).round(3).tolist()
    [[1.6, 0.8], [0.667, 2.667]]
    """
    if mode not in get_args(InterGroupMode):
        raise unknown("inter-group form", mode, get_args(InterGroupMode))
    if not 0 <= eta_g < np.inf:
        raise BadInput(f"the inter-group rate eta_g must be a number from 0 up, not {eta_g}.")
    models_KP = np.asarray(models_KP)
    new_KP = models_KP.copy()
    takes_part_K = np.full(len(models_KP), True) if members_K is None else np.asarray(members_K) > 0
    if eta_g == 0 or takes_part_K.sum() < 2:
        return new_KP
    lengths_K = np.array([np.sqrt(np.square(model_P, dtype=np.float64).sum()) for model_P in models_KP])
    givers_K = takes_part_K & (lengths_K > 0)
    gives_K = np.where(givers_K, eta_g / np.where(givers_K, lengths_K, 1.0), 0.0)
    for j in np.flatnonzero(takes_part_K):
        weights_K = gives_K.copy()
        weights_K[j] = 1.0
        if mode == "normalised":
            weights_K /= weights_K.sum()
        new_KP[j] = weighted_sum(weights_K[takes_part_K], models_KP[takes_part_K])
    return new_KP
