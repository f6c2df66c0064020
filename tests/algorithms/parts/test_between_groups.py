"""Inter-group aggregation: over which groups, and what is counted as relayed."""

from __future__ import annotations

import numpy as np
from tests.algorithms.tiny import clients_of, close, engine_of

from shoal.algorithms.parts.between_groups import between_groups
from shoal.table import Table

ENGINE = engine_of(clients_of({"ann": (1.0, 0, 1), "bob": (1.0, 1, 1), "cyd": (1.0, 1, 1)}))
W_KP = np.array([[3.0, 4.0], [0.0, 2.0], [7.0, 7.0]])


def test_a_rate_of_nothing_changes_and_relays_nothing() -> None:
    group = Table().put(("ann", "bob"), np.array([0, 1]))
    after_KP, relayed = between_groups(W_KP, group, 0.0, "paper", ENGINE)
    assert after_KP is W_KP and relayed == 0


def test_groups_without_members_and_clients_without_a_group_do_not_count() -> None:
    # Groups 0 and 1 have a member each, cyd has none, group 2 nobody. Each adds 0.5 times the other's direction,
    # (3, 4) / 5 and (0, 2) / 2, and is divided by the weights' sum, 1 + 0.5 / 2 and 1 + 0.5 / 5; group 2 stays.
    group = Table().put(("ann", "bob"), np.array([0, 1]))
    after_KP, relayed = between_groups(W_KP, group, 0.5, "normalised", ENGINE)
    close(after_KP, [[3 / 1.25, 4.5 / 1.25], [0.3 / 1.1, 2.4 / 1.1], [7.0, 7.0]])
    assert relayed == 2
    close(W_KP[0], [3.0, 4.0])  # what came in is as it was
