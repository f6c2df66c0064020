"""What all workers of a pool are told, and what one that is replaced is told again."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from tests.backends.in_process import Here
from tests.conftest import make_toy
from torch import nn

from shoal.backends import process_pool
from shoal.backends.process_pool import ProcessPool
from shoal.layout import Layout
from shoal.net import Arithmetic

TOY = make_toy()
LAYOUT = Layout.of(partial(nn.Linear, 6, 3), TOY.x[:1])  # 21 numbers of 4 bytes
MEGABYTE = 1 << 20


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Two workers that are here."""
    monkeypatch.setattr(process_pool, "WorkerHandle", Here)
    made = ProcessPool(2)
    made.open(LAYOUT, Arithmetic())
    yield made
    made.close()


def heard(pool: Any) -> list[tuple[Any, ...]]:
    """What the second worker has heard since; both hear the same."""
    first, second = ([m for m in w.said if m[0] not in ("block", "arena")] for w in pool.workers)
    assert first == second
    for worker in pool.workers:
        worker.said.clear()
    return list(second)


def test_a_worker_sees_its_own_arena_alone_before_it_is_told_of_it(pool: Any) -> None:
    for worker in pool.workers:
        assert worker.verbs() == ["block", "arena", "open"]
        assert worker.said[0] == ("block", worker.arena) and worker.said[1] == ("arena", worker.arena)
        assert worker.blocks == {worker.arena}
    assert pool.workers[0].arena != pool.workers[1].arena


def test_room_for_answers() -> None:
    # A half holds at least a megabyte: 2^20 // 84 = 12483 answers of this layout, less one for what is rounded up.
    # Of a model of 262145 * 4 > 2^20 bytes it holds one answer, and a message must hold one unit.
    large = Layout.of(partial(nn.Linear, 1, 131073), np.zeros((1, 1), np.float32))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process_pool, "WorkerHandle", Here)
        for layout, units, half in ((LAYOUT, 12482, MEGABYTE), (large, 1, large.bytes)):
            pool: Any = ProcessPool(1)
            pool.open(layout, Arithmetic())
            assert pool.max_units == units
            assert pool._publisher.blocks[pool.workers[0].arena].size == 2 * half
            pool.close()


def test_the_next_run_has_a_larger_arena_only_where_its_model_needs_one(pool: Any) -> None:
    first = [w.arena for w in pool.workers]
    pool.open(LAYOUT, Arithmetic())
    assert [w.arena for w in pool.workers] == first
    pool.open(Layout.of(partial(nn.Linear, 1, 131073), np.zeros((1, 1), np.float32)), Arithmetic())
    now = [w.arena for w in pool.workers]
    assert not set(now) & set(first)
    assert set(pool._publisher.blocks) == set(now)  # the old ones are given back
    assert all(w.blocks == set(w.end.blocks) == {w.arena} for w in pool.workers)


def test_what_was_said_is_not_said_again(pool: Any) -> None:
    heard(pool)
    for _ in range(2):
        pool.set_models(None)
    assert heard(pool) == [("models", None, (), "")]
    pool.open(LAYOUT, Arithmetic())  # another run: nothing was said
    heard(pool)
    pool.set_models(None)
    assert heard(pool) == [("models", None, (), "")]


def test_models_lie_in_one_block_that_grows(pool: Any) -> None:
    heard(pool)
    numbers = []
    for rows in (300, 300, 200, 301):  # 300 rows of 84 bytes: 25200
        models_KP = np.full((rows, LAYOUT.size), rows, np.float32)
        pool.set_models(models_KP)
        for worker in pool.workers:
            np.testing.assert_array_equal(worker.worker.models_KP, models_KP)
        numbers.append(pool._models_block[0])
    assert numbers[0] == numbers[1] == numbers[2] != numbers[3]
    assert set(pool._publisher.blocks) == {numbers[3], *(w.arena for w in pool.workers)}
    told = [("models", numbers[0], (300, 21), "<f4"), ("models", numbers[0], (200, 21), "<f4")]
    assert heard(pool) == [*told, ("drop", numbers[0]), ("models", numbers[3], (301, 21), "<f4")]


def test_workers_remember_eight_lists_of_tasks(pool: Any) -> None:
    heard(pool)
    assert [pool.set_tasks([f"task {i}"]) for i in range(8)] == [(i, True) for i in range(8)]
    assert pool.set_tasks(["task 5"]) == (5, False)
    assert [m[1] for m in heard(pool)] == list(range(8))
    assert pool.set_tasks(["task 8"]) == (6, True)  # after the list that was used last
    assert pool.set_tasks(["task 6"]) == (7, True)
    assert pool.set_tasks(["task 9"]) == (0, True)
    assert [pool.workers[0].worker.tasks[i] for i in (0, 5, 6, 7)] == [["task 9"], ["task 5"], ["task 8"], ["task 6"]]
    pool.open(LAYOUT, Arithmetic())  # another run: the lists are still known
    assert pool.set_tasks(["task 5"]) == (5, False)


def test_one_that_is_replaced_is_told_all_that_the_others_know(pool: Any) -> None:
    pool.set_federation(TOY)
    pool.set_vectors(np.zeros((1, LAYOUT.size), np.float32))
    pool.set_tasks(["a task"])
    pool.set_models(np.ones((2, LAYOUT.size), np.float32))
    old, other = pool.workers
    pool.replace(0)
    new = pool.workers[0]
    assert (old.alive, new.alive, pool.workers[1]) == (False, True, other)
    assert old.arena not in pool._publisher.blocks and new.blocks == set(pool._publisher.blocks) - {other.arena}
    assert new.verbs() == [
        "block", "block", "arena", "open", "set_federation", "set_vectors", "tasks", "models",
    ]  # fmt: skip
    assert new.worker.tasks == {0: ["a task"]}
    assert new.worker.models_KP.tolist() == [[1.0] * LAYOUT.size] * 2


@pytest.mark.parametrize(
    ("portions", "code", "alive", "replaced"),
    [
        ([], None, True, False),  # nothing to do, and well
        ([], 7, True, True),  # ended by itself
        ([], None, False, True),  # given up by us
        ([[1]], 7, True, False),  # died at work: that is found out when its answer is due
        ([[1]], None, True, False),
    ],
)
def test_only_idle_workers_that_are_gone_are_replaced(
    pool: Any, portions: list[list[int]], code: int | None, alive: bool, replaced: bool
) -> None:
    before = list(pool.workers)
    pool.workers[1].portions, pool.workers[1].process.code, pool.workers[1].alive = portions, code, alive
    pool.revive()
    assert pool.workers[0] is before[0]
    assert (pool.workers[1] is not before[1]) == replaced


def test_closing_ends_all_and_gives_all_back(pool: Any) -> None:
    pool.set_models(np.ones((2, LAYOUT.size), np.float32))
    workers = list(pool.workers)
    pool.close()
    assert [w.alive for w in workers] == [False, False]
    assert (pool.workers, pool._publisher.blocks) == ([], {})
