"""AUC and average precision from histograms: by hand, and beside scikit-learn's on the scores themselves."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from shoal.errors import ShoalError
from shoal.metrics import auc, average_precision, sums_of
from shoal.metrics.ranking import BINS, auc_error, precision_error


def two_classes(rng: np.random.Generator, n: int, spread: float) -> tuple[np.ndarray, np.ndarray]:
    """Log-probabilities of two classes, 9 % of class 1, and the truth."""
    y = (rng.random(n) < 0.09).astype(np.int64)
    odds = spread * rng.normal(size=n) + y - 2
    return np.stack([-np.logaddexp(0, odds), -np.logaddexp(0, -odds)], 1), y


@pytest.mark.parametrize("spread", [0.01, 0.3, 2.0, 20.0])
def test_of_two_classes_they_are_scikit_learns_but_for_pairs_in_one_bin(spread: float) -> None:
    said, y = two_classes(np.random.default_rng(0), 4000, spread)
    sums = sums_of(auc, said, y)
    for metric, exact, error in (
        (auc, roc_auc_score, auc_error),
        (average_precision, average_precision_score, precision_error),
    ):
        assert abs(metric.value(sums) - exact(y, np.exp(said[:, 1]))) <= error(sums) + 1e-12
    if 0.3 <= spread <= 2:  # scores over several log-odds: what is usual
        assert auc_error(sums) < 0.02 and abs(auc.value(sums) - roc_auc_score(y, said[:, 1])) < 1e-3


def test_of_more_classes_they_are_means_of_one_against_the_rest() -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 4, 500)
    scores = rng.normal(size=(500, 4)) + 1.5 * np.eye(4)[y]
    said = scores - np.logaddexp.reduce(scores, 1)[:, None]
    sums = sums_of(auc, said, y)
    wanted = roc_auc_score(y, np.exp(said) / np.exp(said).sum(1, keepdims=True), multi_class="ovr")
    assert abs(auc.value(sums) - wanted) <= auc_error(sums)
    wanted = average_precision_score(np.eye(4)[y], np.exp(said), average="macro")
    assert abs(average_precision.value(sums) - wanted) <= precision_error(sums)


def test_of_labels_they_are_means_over_labels_that_can_tell() -> None:
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, (300, 3))
    said = 1 / (1 + np.exp(-(rng.normal(size=(300, 3)) + y)))
    y[:, 2] = 0  # nobody has it: nothing to rank
    sums = sums_of(auc, said, y)
    assert abs(auc.value(sums) - roc_auc_score(y[:, :2], said[:, :2])) <= auc_error(sums)


def test_sums_of_parts_are_those_of_the_whole_and_one_side_alone_tells_nothing() -> None:
    said, y = two_classes(np.random.default_rng(3), 100, 1.0)
    parts = [sums_of(auc, said[i : i + 50], y[i : i + 50]) for i in (0, 50)]
    for name, whole in sums_of(auc, said, y).items():
        np.testing.assert_array_equal(parts[0][name] + parts[1][name], whole)
    assert math.isnan(auc.value(sums_of(auc, said[y == 0], y[y == 0])))


def test_scores_beyond_the_bins_stand_in_the_last_ones() -> None:
    said = np.log(np.array([[1.0, 1e-30], [1e-30, 1.0]]))
    sums = sums_of(auc, said, np.array([0, 1]))
    assert sums["misses"][0, 0] == 1 and sums["hits"][0, BINS - 1] == 1 and auc.value(sums) == 1.0


def test_too_many_classes_are_refused() -> None:
    with pytest.raises(ShoalError, match="rank up to 200 classes against the rest, not 300"):
        sums_of(auc, np.zeros((1, 300)), np.zeros(1, np.int64))
