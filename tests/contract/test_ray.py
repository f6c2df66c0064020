"""Every algorithm on a Ray cluster of two nodes: the bits and the records of one process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.backends.ray_cluster import cluster
from tests.contract.test_algorithms import ALIASES, bits, plan_of, played, timeless

from shoal.algorithms import ALGORITHMS
from shoal.backends import RayWorkers, Workers
from shoal.data.federation import Federation

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def actors() -> Iterator[Any]:
    with cluster(1, 1) as made:
        workers = RayWorkers(address=made.address)
        yield workers
        workers.close()


@pytest.mark.parametrize("name", sorted(set(ALGORITHMS) - set(ALIASES)))
def test_a_cluster_of_two_nodes_gives_the_bits_of_local(
    name: str, toy: Federation, actors: RayWorkers, pool: Workers
) -> None:
    plan = plan_of(name, toy, rounds=3)
    local, ray = played(plan, pool), played(plan, actors)
    assert timeless(local) == timeless(ray)
    assert bits(plan, local[-1]) == bits(plan, ray[-1])
