"""The objective by hand, its laws in the assignment step, and the contrast of distances."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.clusterers import e_step, lloyd, m_step, min_loss
from shoal.errors import BadInput
from shoal.measures import objective, pairwise, relative_contrast, squared_l2, wecfl_objective


def test_wecfl_by_hand() -> None:
    # 2*|(0,0)-(1,0)|^2 + 1*|(3,0)-(1,0)|^2 + 1*|(0,5)-(0,5)|^2 = 2 + 4 + 0, over 4.
    rows, centres = np.array([[0.0, 0], [3, 0], [0, 5]]), np.array([[1.0, 0], [0, 5]])
    labels, weights = np.array([0, 0, 1]), np.array([2, 1, 1])
    assert wecfl_objective(rows, centres, labels, weights) == 1.5
    assert objective(squared_l2(rows, centres), labels, weights) == pytest.approx(1.5)


def test_it_is_the_objective_of_k_means_and_falls_in_both_steps() -> None:
    rng = np.random.default_rng(0)
    rows, weights, centres = rng.normal(size=(30, 4)), rng.uniform(1, 9, 30), rng.normal(size=(3, 4))
    labels = rng.integers(0, 3, 30)
    before = wecfl_objective(rows, centres, labels, weights)
    labels = e_step(rows, centres)
    after_e = wecfl_objective(rows, centres, labels, weights)
    after_m = wecfl_objective(rows, m_step(rows, labels, weights, centres), labels, weights)
    assert before >= after_e >= after_m
    found = lloyd(rows, centres, weights)
    assert pytest.approx(wecfl_objective(rows, found.centres_KD, found.labels_N, weights), rel=1e-12) == found.F


def test_ifca_never_raises_its_objective_in_the_assignment_step() -> None:
    # With losses in place of distances (Ma et al. 2022, equation 1).
    rng = np.random.default_rng(1)
    for _ in range(20):
        losses, labels = rng.exponential(size=(9, 4)), rng.integers(0, 4, 9)
        assert objective(losses, min_loss(losses), np.ones(9)) <= objective(losses, labels, np.ones(9))


def test_contrast_by_hand_and_at_the_edges() -> None:
    # Points 0, 1, 4: distances 1, 4, 3; (4 - 1)/1.
    d = np.abs(np.subtract.outer([0.0, 1.0, 4.0], [0.0, 1.0, 4.0]))
    assert relative_contrast(d) == 3
    assert relative_contrast(np.zeros((3, 3))) == 0
    assert relative_contrast(1.0 - np.eye(3)) == 0
    assert relative_contrast(np.array([[0.0, 0, 1], [0, 0, 1], [1, 1, 0]])) == np.inf
    with pytest.raises(BadInput, match="at least two clients; there are 1"):
        relative_contrast(np.zeros((1, 1)))


def test_distances_concentrate_with_the_dimension() -> None:
    rng = np.random.default_rng(0)
    contrast = [relative_contrast(pairwise(rng.normal(size=(30, p)))) for p in (2, 20, 2000)]
    assert contrast[0] > contrast[1] > contrast[2]
    assert contrast[2] < 0.2
