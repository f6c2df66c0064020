"""Every algorithm on a Ray cluster of two nodes: the bits and the records of one process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.backends import test_workers
from tests.backends.ray_cluster import cluster
from tests.conftest import small_net
from tests.contract.test_algorithms import ALIASES, bits, plan_of, played, timeless
from tests.engine import test_engine
from tests.loop import test_personal

from shoal.algorithms import ALGORITHMS
from shoal.backends import RayWorkers, Workers
from shoal.data.federation import Federation
from shoal.layout import Layout

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


def test_laws_of_engines_hold_for_actors(toy: Federation, actors: Any, tmp_path: Path) -> None:
    """Those that are asked of worker processes, with actors in their place."""
    test_engine.test_engines_agree_bit_for_bit(Layout.of(small_net, toy.sample()), toy, actors)
    test_personal.test_it_resumes_and_works_on_workers_to_the_same_bits(toy, tmp_path, actors)
    test_workers.test_an_answer_that_cannot_be_sent_is_a_failure(actors, toy)
    test_workers.test_a_model_that_cannot_be_sent_is_one_sentence(actors, toy)
    test_workers.test_a_pool_survives_a_call_that_was_broken_off(actors, toy)
    test_workers.test_one_pool_serves_one_model_and_federation_after_another(actors, toy)
