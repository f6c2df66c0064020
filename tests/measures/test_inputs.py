"""Every measure takes torch tensors and read-only arrays, and gives the same numbers for either."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from shoal import measures as m

ROWS = np.random.default_rng(0).normal(size=(8, 12)).astype(np.float32)
OTHER = np.random.default_rng(1).normal(size=(3, 12)).astype(np.float32)
LABELS = np.array([0, 0, 1, 1, 2, 2, 0, 1])
WEIGHTS = np.arange(1.0, 9.0)
SQUARE = m.cosine(ROWS)

CALLS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "cosine": (m.cosine, (ROWS,)),
    "cosine_from_gram": (m.cosine_from_gram, (m.gram(ROWS),)),
    "cosine_to": (m.cosine_to, (ROWS, OTHER)),
    "dissimilarity": (m.dissimilarity, (SQUARE,)),
    "gram": (m.gram, (ROWS,)),
    "coordinates": (m.coordinates, (ROWS,)),
    "norms": (m.norms, (ROWS,)),
    "madc": (m.madc, (SQUARE,)),
    "edc": (m.edc, (ROWS, 3)),
    "edc_embedding": (m.edc_embedding, (ROWS, 3)),
    "squared_l2": (m.squared_l2, (ROWS, OTHER)),
    "pairwise_squared_l2": (m.pairwise_squared_l2, (ROWS,)),
    "pairwise": (m.pairwise, (ROWS, "manhattan")),
    "client_cold_start": (m.client_cold_start, (OTHER, ROWS[0])),
    "nearest_directions": (m.nearest_directions, (OTHER, ROWS)),
    "shift_distance": (m.shift_distance, (LABELS, LABELS[::-1].copy())),
    "shifted": (m.shifted, (LABELS, LABELS[::-1].copy())),
    "clusterability": (m.clusterability, (ROWS, WEIGHTS, LABELS)),
    "mean_square_gradient": (m.mean_square_gradient, (ROWS, WEIGHTS)),
    "gradient_noise": (m.gradient_noise, (ROWS, WEIGHTS, WEIGHTS)),
    "smoothness": (m.smoothness, (ROWS, ROWS[::-1].copy(), WEIGHTS)),
    "gradient_divergence": (m.gradient_divergence, (ROWS, WEIGHTS, LABELS)),
    "group_divergence": (m.group_divergence, (WEIGHTS, WEIGHTS, LABELS)),
    "clustering_step": (m.clustering_step, (WEIGHTS, WEIGHTS, 1.0)),
    "clarity": (m.clarity, (np.linspace(0, 1, len(LABELS)), LABELS)),
    "pair_order": (m.pair_order, (SQUARE, LABELS)),
    "relative_deviation": (m.relative_deviation, (ROWS, LABELS)),
    "silhouette": (m.silhouette, (1 - SQUARE, LABELS)),
    "silhouettes": (m.silhouettes, (1 - SQUARE, LABELS)),
    "within": (m.within, (ROWS, LABELS, WEIGHTS)),
    "within_groups": (m.within_groups, (ROWS, LABELS, WEIGHTS)),
    "principal": (m.principal, (m.gram(ROWS),)),
    "relative_contrast": (m.relative_contrast, (2 - SQUARE,)),
    "cpd": (m.cpd, (LABELS, LABELS[::-1].copy())),
    "cpd_pairs": (m.cpd_pairs, (np.abs(ROWS), 1.0, "index")),
    "grouping_objective": (m.grouping_objective, (ROWS,)),
    "objective": (m.objective, (m.squared_l2(ROWS, OTHER), LABELS, WEIGHTS)),
    "wecfl_objective": (m.wecfl_objective, (ROWS, OTHER, LABELS, WEIGHTS)),
}


@pytest.mark.parametrize("name", CALLS)
def test_torch_and_read_only_arrays(name: str) -> None:
    function, arguments = CALLS[name]
    frozen = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    for a in frozen:
        if isinstance(a, np.ndarray):
            a.setflags(write=False)
    tensors = [torch.from_numpy(a.copy()) if isinstance(a, np.ndarray) else a for a in arguments]
    want = function(*frozen)
    got = function(*tensors)
    parts = zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]
    for mine, theirs in parts:
        np.testing.assert_array_equal(mine, theirs)
        assert not isinstance(mine, torch.Tensor)


@pytest.mark.parametrize("name", CALLS)
def test_lists(name: str) -> None:
    function, arguments = CALLS[name]
    want = function(*[a.astype(float) if isinstance(a, np.ndarray) and a.dtype == np.float32 else a for a in arguments])
    got = function(*[a.tolist() if isinstance(a, np.ndarray) else a for a in arguments])
    for mine, theirs in zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]:
        np.testing.assert_array_equal(mine, theirs)


# What becomes of a measure when all vectors are so many times as long: that number to the power given here.
POWERS = {
    **dict.fromkeys(("cosine", "cosine_to", "edc", "edc_embedding", "client_cold_start", "relative_deviation"), 0),
    **dict.fromkeys(("clusterability", "nearest_directions"), 0),
    **dict.fromkeys(("coordinates", "norms", "pairwise", "gradient_divergence", "grouping_objective"), 1),
    **dict.fromkeys(
        ("gram", "squared_l2", "pairwise_squared_l2", "mean_square_gradient", "within", "within_groups"), 2
    ),
    "wecfl_objective": 2,
}


@pytest.mark.parametrize("times", [2.0**-12, 2.0**12])
@pytest.mark.parametrize("name", POWERS)
def test_no_measure_has_a_length_of_its_own(name: str, times: float) -> None:
    """Powers of two leave all digits as they are: a threshold that is not relative would show."""
    function, arguments = CALLS[name]
    want = function(*arguments)
    got = function(*[times * a if a is ROWS or a is OTHER or np.shares_memory(a, ROWS) else a for a in arguments])
    for mine, theirs in zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]:
        np.testing.assert_allclose(mine, np.multiply(theirs, times ** POWERS[name]), rtol=1e-6, atol=0)


def test_every_function_is_in_the_list() -> None:
    others = {
        "gap",
        "choose_k",
        "threshold",
        "descent_step",
        "least_eps",
        "rounds_needed",
        "divergence_bound",
    }  # tested by themselves
    functions = {n for n in m.__all__ if callable(getattr(m, n)) and n[0].islower()}
    assert functions == {*CALLS, *others}
