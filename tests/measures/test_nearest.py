"""The client cold start: the nearest direction, and its edges."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.measures import client_cold_start, nearest_directions


def test_by_hand() -> None:
    # cos with (3,4)/5: (1,0) 0.6 -> 0.2; (0,1) 0.8 -> 0.1; (-1,0) -0.6 -> 0.8.
    group, d = client_cold_start(np.array([[1.0, 0], [0, 2], [-5, 0]]), np.array([3.0, 4.0]))
    assert group == 1
    np.testing.assert_allclose(d, [0.2, 0.1, 0.8], atol=1e-12)


@pytest.mark.parametrize("k", [2, 3, 7, 16, 33])
def test_ties_go_to_the_lowest_group(k: int) -> None:
    rng = np.random.default_rng(k)
    direction, update = rng.normal(size=5001), rng.normal(size=5001)
    scales = rng.uniform(0.1, 9, size=(k, 1))  # the same direction up to rounding
    assert client_cold_start(scales * direction, update)[0] == 0
    best = np.sign(update @ direction) * direction
    assert client_cold_start(np.vstack([-best, scales * best]), update)[0] == 1


def test_a_zero_update_or_direction_is_half_way() -> None:
    group, d = client_cold_start(np.eye(3), np.zeros(3))
    assert (group, d.tolist()) == (0, [0.5, 0.5, 0.5])
    group, d = client_cold_start(np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([1.0, 0.0]))
    assert (group, d.tolist()) == (1, [0.5, 0.0])


def test_one_group() -> None:
    assert client_cold_start(np.array([[1.0, 0.0]]), np.array([-1.0, 0.0]))[0] == 0


def test_many_clients_at_once_find_what_each_finds_alone() -> None:
    rng = np.random.default_rng(3)
    directions, updates = rng.normal(size=(4, 50)), rng.normal(size=(30, 50))
    updates[7], updates[8] = 0.0, directions[1] + directions[2]
    directions[3] = 2 * directions[2]  # equally near: the first counts
    alone = [client_cold_start(directions, update)[0] for update in updates]
    assert nearest_directions(directions, updates).tolist() == alone
    assert alone[7] == 0 and 3 not in alone and len(set(alone)) == 3
