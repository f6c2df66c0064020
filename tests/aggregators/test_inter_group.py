"""Inter-group aggregation by hand in both forms, and who takes part."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.aggregators import InterGroupMode, inter_group
from shoal.errors import BadInput

MODELS = np.array([[3.0, 4.0], [0.0, 2.0], [-1.0, 0.0]])  # norms 5, 2, 1


def test_paper_by_hand() -> None:
    # Unit vectors (0.6, 0.8), (0, 1), (-1, 0); eta_g = 0.5. Group 0: (3,4) + 0.5*((0,1) + (-1,0)) = (2.5, 4.5);
    # group 1: (0,2) + 0.5*(-0.4, 0.8) = (-0.2, 2.4); group 2: (-1,0) + 0.5*(0.6, 1.8) = (-0.7, 0.9).
    np.testing.assert_allclose(inter_group(MODELS, 0.5, "paper"), [[2.5, 4.5], [-0.2, 2.4], [-0.7, 0.9]], atol=1e-12)


def test_normalised_by_hand() -> None:
    # The same divided by 1 + 0.5*(1/2 + 1/1) = 1.75; 1 + 0.5*(1/5 + 1) = 1.6; 1 + 0.5*(1/5 + 1/2) = 1.35.
    want = np.array([[2.5, 4.5], [-0.2, 2.4], [-0.7, 0.9]]) / np.array([[1.75], [1.6], [1.35]])
    np.testing.assert_allclose(inter_group(MODELS, 0.5), want, atol=1e-12)


@pytest.mark.parametrize("mode", ["normalised", "paper"])
def test_a_rate_of_zero_returns_the_same_bits_in_a_new_array(mode: InterGroupMode) -> None:
    models = np.random.default_rng(0).normal(size=(4, 99)).astype(np.float32)
    models[0, 0] = -0.0
    got = inter_group(models, 0.0, mode)
    assert got.tobytes() == models.tobytes()
    assert got.dtype == np.float32
    assert not np.shares_memory(got, models)


@pytest.mark.parametrize("mode", ["normalised", "paper"])
def test_groups_without_members_neither_give_nor_receive(mode: InterGroupMode) -> None:
    got = inter_group(MODELS, 2.0, mode, members_K=np.array([7, 0, 1]))
    np.testing.assert_array_equal(got[1], MODELS[1])
    np.testing.assert_array_equal(got[[0, 2]], inter_group(MODELS[[0, 2]], 2.0, mode))
    np.testing.assert_array_equal(inter_group(MODELS, 2.0, mode, members_K=np.array([0, 5, 0])), MODELS)
    np.testing.assert_array_equal(inter_group(MODELS, 2.0, mode, members_K=np.zeros(3)), MODELS)


def test_a_model_of_norm_zero_is_skipped_in_the_sums_but_receives() -> None:
    models = np.array([[0.0, 0.0], [0.0, 2.0], [3.0, 0.0]])
    got = inter_group(models, 1.0, "paper")
    assert got.tolist() == [[1.0, 1.0], [1.0, 2.0], [3.0, 1.0]]
    # Normalised, group 1: ((0,2) + (1,0)) / (1 + 1/3), without a share for group 0.
    np.testing.assert_allclose(inter_group(models, 1.0)[1], [0.75, 1.5])


def test_one_group() -> None:
    for mode in ("normalised", "paper"):
        np.testing.assert_array_equal(inter_group(MODELS[:1], 5.0, mode), MODELS[:1])


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 6), st.floats(0.01, 10), st.integers(0, 10**6))
def test_laws(k: int, eta_g: float, seed: int) -> None:
    models = np.random.default_rng(seed).normal(size=(k, 7))
    new = inter_group(models, eta_g)
    # A convex combination stays between the extremes, coordinate by coordinate; equal models stay.
    assert (new <= models.max(0) + 1e-12).all()
    assert (new >= models.min(0) - 1e-12).all()
    np.testing.assert_allclose(inter_group(np.tile(models[0], (k, 1)), eta_g), np.tile(models[0], (k, 1)), atol=1e-12)
    # The published form adds at most eta_g (k - 1) to the norm.
    grown = np.linalg.norm(inter_group(models, eta_g, "paper") - models, axis=1)
    assert (grown <= eta_g * (k - 1) + 1e-9).all()
    order = np.random.default_rng(seed).permutation(k)
    np.testing.assert_allclose(inter_group(models[order], eta_g), new[order], atol=1e-12)


def test_inputs_stay_and_tensors_are_welcome() -> None:
    models = MODELS.copy()
    models.setflags(write=False)
    got = inter_group(torch.from_numpy(MODELS.copy()), 1.0)  # type: ignore[arg-type]
    np.testing.assert_array_equal(got, inter_group(models, 1.0))


def test_bad_input() -> None:
    for eta_g in (-0.1, np.nan, np.inf):
        with pytest.raises(BadInput, match="from 0 up"):
            inter_group(MODELS, eta_g)
    with pytest.raises(BadInput, match="did you mean 'normalised'"):
        inter_group(MODELS, 1.0, "normalized")  # type: ignore[arg-type]
