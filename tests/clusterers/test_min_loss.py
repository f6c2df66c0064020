"""IFCA's choice, and what all clusterers share: torch tensors and read-only arrays are welcome."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from shoal import clusterers as c
from shoal.errors import BadInput

ROWS = np.random.default_rng(0).normal(size=(9, 4)).astype(np.float32)
GRAM = np.corrcoef(ROWS)


def test_choice() -> None:
    losses = np.array([[2.0, 1.0, 1.0], [0.0, 0.0, 0.0], [np.nan, 9e9, np.inf], [np.inf, np.nan, np.nan]])
    assert c.min_loss(losses).tolist() == [1, 0, 1, 0]
    assert c.min_loss(np.array([[-np.inf, 3.0]])).tolist() == [1]
    assert c.min_loss(np.zeros((0, 3))).tolist() == []


def test_no_model() -> None:
    with pytest.raises(BadInput, match="clients by models"):
        c.min_loss(np.zeros((3, 0)))


CALLS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "min_loss": (c.min_loss, (ROWS,)),
    "e_step": (c.e_step, (ROWS, ROWS[:3])),
    "m_step": (c.m_step, (ROWS, np.arange(9) % 3, np.ones(9), ROWS[:3])),
    "lloyd": (c.lloyd, (ROWS, ROWS[:3], np.ones(9))),
    "unit": (c.unit, (ROWS,)),
    "spherical_centres": (c.spherical_centres, (ROWS, np.zeros(9, int), np.ones(9), ROWS[:3])),
    "spherical_lloyd": (c.spherical_lloyd, (ROWS, ROWS[:3], np.ones(9))),
    "reseed": (c.reseed, (ROWS, np.zeros(9, int), np.ones(9), ROWS[:3])),
    "kmeans_from": (c.kmeans_from, (ROWS, ROWS[:3], np.ones(9))),
    "seed_centres": (lambda r, w: c.seed_centres(r, 3, w, np.random.default_rng(0)), (ROWS, np.ones(9))),
    "kmeans": (lambda r, w: c.kmeans(r, 3, w, np.random.default_rng(0)), (ROWS, np.ones(9))),
    "kmeans in few coordinates": (lambda r, w: c.kmeans(r, 2, w, np.random.default_rng(0)), (ROWS[:3], np.ones(3))),
    "cut_into": (c.cut_into, (1 - GRAM, 3)),
    "cut_at": (c.cut_at, (1 - GRAM, 0.5)),
    "bipartition": (c.bipartition, (GRAM,)),
    "optimal_bipartition": (c.optimal_bipartition, (GRAM,)),
    "complete_bipartition": (c.complete_bipartition, (GRAM,)),
    "assign_equal": (c.assign_equal, (np.abs(ROWS[:, :3]),)),
    "equal_size": (c.equal_size, (ROWS, ROWS[:3])),
    "equal_size_kmeans": (lambda r: c.equal_size_kmeans(r, 3, np.random.default_rng(0)), (ROWS,)),
    "icg": (lambda r: c.icg(r, 3, np.random.default_rng(0)), (ROWS,)),
    "icg_sizes": (c.icg_sizes, (9, 4)),
    "seat_the_rest": (lambda r: c.seat_the_rest(r, (np.arange(4), np.arange(4, 8))), (ROWS,)),
    "by_first": (c.by_first, (np.array([3, 1, 3]),)),
}


@pytest.mark.parametrize("name", CALLS)
def test_torch_and_read_only_arrays(name: str) -> None:
    function, arguments = CALLS[name]
    frozen = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    for a in frozen:
        if isinstance(a, np.ndarray):
            a.setflags(write=False)
    tensors = [torch.from_numpy(a.copy()) if isinstance(a, np.ndarray) else a for a in arguments]
    want, got = function(*frozen), function(*tensors)
    parts = zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]
    for mine, theirs in parts:
        np.testing.assert_array_equal(mine, theirs)
        assert not isinstance(mine, torch.Tensor)


def test_every_function_is_in_the_list() -> None:
    assert {n for n in c.__all__ if n[0].islower()} <= set(CALLS)
