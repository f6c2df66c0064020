"""The figures of a tested round, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, f1_score, normalized_mutual_info_score

from shoal import metrics


def test_weighted_accuracy_weighs_by_samples() -> None:
    # (1 + 9) / (2 + 10); the plain mean of 0.5 and 0.9 would be 0.7.
    assert metrics.weighted_accuracy(np.array([1, 9]), np.array([2, 10])) == pytest.approx(10 / 12)
    assert math.isnan(metrics.weighted_accuracy(np.array([0]), np.array([0])))


def test_macro_f1_by_hand() -> None:
    # Truth 0 0 1 1, guesses 0 0 0 2. Class 0: 2*2/(2+3) = 0.8; class 1: no true positive, 0; class 2: only guessed, 0.
    # Class 3 occurs nowhere and does not count: mean of three.
    got = metrics.macro_f1(np.array([2, 2, 0, 0]), np.array([3, 0, 1, 0]), np.array([2, 0, 0, 0]))
    assert got == pytest.approx(0.8 / 3)


def test_macro_f1_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        y, guess = rng.integers(0, 5, 12), rng.integers(0, 5, 12)
        counts = [np.bincount(v, minlength=5) for v in (y, guess, y[y == guess])]
        expected = f1_score(y, guess, average="macro", zero_division=0)
        assert metrics.macro_f1(*counts) == pytest.approx(expected)


def test_f1_of_each_client() -> None:
    # One class, all right: F1 = 2*3/(3+3) = 1. Nothing tested: nan. Two classes: 2*2/(2+3) = 0.8 and 0.
    true, guess = np.array([[3, 0], [0, 0], [2, 1]]), np.array([[3, 0], [0, 0], [3, 0]])
    got = metrics.client_f1({"true": true, "predicted": guess, "both": np.array([[3, 0], [0, 0], [2, 0]])})
    np.testing.assert_allclose(got, [1.0, math.nan, 0.4])


@pytest.mark.parametrize(("n", "worst"), [(1, 1), (10, 1), (11, 2), (15, 2), (20, 2), (21, 3)])
def test_a_part_of_a_tenth_counts_as_one_client_more(n: int, worst: int) -> None:
    # Accuracies 0, 1, 2, ...: the mean of the `worst` lowest is (worst - 1) / 2.
    assert metrics.worst_tenth(np.arange(n)[::-1].astype(float)) == (worst - 1) / 2


def test_the_worst_tenth() -> None:
    accuracy_N = np.linspace(0, 0.99, 100)
    assert metrics.worst_tenth(accuracy_N) == pytest.approx(0.045)  # mean of 0.00 ... 0.09
    assert metrics.worst_tenth(np.array([math.nan, 0.3, 0.9])) == 0.3
    assert math.isnan(metrics.worst_tenth(np.array([math.nan])))


def test_discrepancy_is_a_mean_of_distances() -> None:
    assert metrics.discrepancy(np.array([[3.0, 4.0], [6.0, 8.0]]), np.zeros((2, 2))) == 7.5
    assert metrics.discrepancy(np.array([[3.0, 4.0]]), np.array([[3.0, 1.0]])) == 3.0
    assert math.isnan(metrics.discrepancy(np.zeros((0, 2)), np.zeros((0, 2))))


def test_training_loss_weighs_by_samples() -> None:
    assert metrics.training_loss(np.array([1.0, 2.0]), np.array([3, 1])) == 1.25


def test_agreement_by_hand() -> None:
    # Groups {0,1,2},{3} against {0,1},{2,3}: of 6 pairs 1 is together in both, 2 only in the first, 1 only in the
    # second, 2 in neither. ARI = 2 (1*2 - 2*1) / ((1+2)(2+2) + (1+1)(1+2)) = 0.
    one, other = np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1])
    assert metrics.adjusted_rand(one, other) == 0
    # Shared information: (2/4) ln((2/4) / (3/4 2/4)) + (1/4) ln((1/4) / (3/4 2/4)) + (1/4) ln((1/4) / (1/4 2/4)).
    shared = 0.5 * np.log(4 / 3) + 0.25 * np.log(2 / 3) + 0.25 * np.log(2)
    mean = (-0.75 * np.log(0.75) - 0.25 * np.log(0.25) + np.log(2)) / 2
    assert metrics.mutual_information(one, other) == pytest.approx(shared / mean)


def test_agreement_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 2, 7, 60, 300):
        for k in (1, 2, 9):
            one = rng.integers(0, k, n)
            other = np.where(rng.random(n) < 0.5, one, rng.integers(-1, 5, n))
            assert metrics.adjusted_rand(one, other) == pytest.approx(adjusted_rand_score(one, other))
            assert metrics.mutual_information(one, other) == pytest.approx(normalized_mutual_info_score(one, other))
