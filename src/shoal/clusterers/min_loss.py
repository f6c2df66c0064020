"""IFCA's choice: every client takes the model with the least loss on its data (Ghosh et al. 2020, Algorithm 1)."""

from __future__ import annotations

import numpy as np

from shoal.errors import BadInput
from shoal.types import Array


def min_loss(losses_NK: Array) -> Array:
    """`k_i = argmin_k loss_ik`, ties to the lowest; a loss that is not finite is chosen only if a client has no other.

    Args:
        losses_NK: Loss of every client with every model.

    Returns:
        The model of each client.

    >>> min_loss(np.array([[0.3, 0.1, 0.1], [np.nan, 2.0, np.inf], [np.nan, np.inf, np.nan]])).tolist()
    [1, 1, 0]
    """
    losses_NK = np.asarray(losses_NK, np.float64)
    if losses_NK.ndim != 2 or not losses_NK.shape[1]:
        raise BadInput(f"a table of losses, clients by models, is needed, not one of shape {losses_NK.shape}.")
    return np.asarray(np.where(np.isfinite(losses_NK), losses_NK, np.inf).argmin(1))
