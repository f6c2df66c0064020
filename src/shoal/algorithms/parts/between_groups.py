"""What groups give each other after a round: inter-group aggregation of FedGroup and FlexCFL (departure D12)."""

from __future__ import annotations

import numpy as np

from shoal.aggregators import inter_group
from shoal.aggregators.inter_group import InterGroupMode
from shoal.table import Table
from shoal.types import Array, Engine


def between_groups(w_KP: Array, group: Table, eta_g: float, mode: InterGroupMode, engine: Engine) -> tuple[Array, int]:
    """Inter-group aggregation of the trainable numbers, over groups that have members.

    Args:
        w_KP: The groups' models.
        group: The group of each client.
        eta_g: Inter-group learning rate; 0 changes nothing.
        mode: `normalised` or `paper`.
        engine: Knows who is there, and the layout.

    Returns:
        The new models, and how many of them servers relayed.
    """
    if not eta_g:
        return w_KP, 0
    members_K = np.bincount(group.get(engine.clients.ids, len(w_KP)), minlength=len(w_KP) + 1)[: len(w_KP)]
    new_KP, at = w_KP.copy(), engine.layout.trainable
    new_KP[:, at] = inter_group(w_KP[:, at], eta_g, mode, members_K)
    return new_KP, int((members_K > 0).sum())
