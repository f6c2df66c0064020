"""Accuracy, macro F1 and calibration, by hand and beside scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score

from shoal.metrics import METRICS, accuracy, calibration_error, macro_f1_metric, sums_of, value_of


def test_of_classes_and_labels_f1_is_scikit_learns() -> None:
    rng = np.random.default_rng(0)
    said, y = np.log(rng.dirichlet(np.ones(3), 60)), rng.integers(0, 3, 60)
    got = value_of(macro_f1_metric, {**sums_of(macro_f1_metric, said, y), "total": np.array(60)})
    assert got == pytest.approx(f1_score(y, said.argmax(1), average="macro"))
    labels, truth = rng.random((60, 3)), rng.integers(0, 2, (60, 3))
    sums = {**sums_of(macro_f1_metric, labels, truth), **sums_of(accuracy, labels, truth), "total": np.array(60)}
    assert value_of(macro_f1_metric, sums) == pytest.approx(f1_score(truth, labels > 0.5, average="macro"))
    assert value_of(accuracy, sums) == pytest.approx(accuracy_score(truth.ravel(), (labels > 0.5).ravel()))


def test_the_calibration_error_by_hand() -> None:
    # Confidences 0.9 (right), 0.9 (wrong), 0.6 (right). Bin of 0.9: |1.8 - 1| = 0.8; bin of 0.6: |0.6 - 1| = 0.4.
    # Together 1.2 over 3 decisions.
    said = np.log(np.array([[0.9, 0.1], [0.9, 0.1], [0.4, 0.6]]))
    sums = sums_of(calibration_error, said, np.array([0, 1, 1]))
    assert value_of(calibration_error, {**sums, "total": np.array(3)}) == pytest.approx(0.4)


def test_names_lead_to_metrics() -> None:
    assert METRICS["f1"] is macro_f1_metric and METRICS["ece"] is calibration_error
    assert METRICS["loss"].score.better == "lower"
