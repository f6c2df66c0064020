"""Metrics of decisions: accuracy, macro F1 and calibration, of classes and of labels."""

from __future__ import annotations

import numpy as np

from shoal.metrics.figures import macro_f1
from shoal.metrics.metric import METRICS, Metric, Sums
from shoal.types import Array

__all__ = ["accuracy", "calibration_error", "macro_f1_metric"]

CONFIDENCES = 15  # bins of the calibration error, of equal width (Guo et al. 2017)
DECIDED = ("classes", "labels", "tokens")


def right_labels(said: Array, targets: Array) -> dict[str, Array]:
    """Labels that were decided rightly, and all of them; right classes every test counts by itself.

    >>> found = right_labels(np.array([[0.9, 0.2], [0.6, 0.1]]), np.array([[1, 0], [0, 0]]))
    >>> int(found["right_labels"]), int(found["labels"])
    (3, 4)
    """
    if targets.ndim == 1:
        return {}
    return {"right_labels": ((said > 0.5) == (targets > 0.5)).sum(), "labels": np.asarray(targets.size)}


def share_right(sums: Sums) -> float:
    """Right decisions over all decisions.

    >>> share_right({"right": 3, "total": 4}), share_right({"right_labels": 3, "labels": 4, "total": 2})
    (0.75, 0.75)
    """
    right, of = ("right", "total") if "right" in sums else ("right_labels", "labels")
    return float(sums[right] / sums[of])


def decisions(said: Array, targets: Array) -> dict[str, Array]:
    """Per class, or per label, how often it is true, predicted, and both.

    >>> decisions(np.log([[0.9, 0.1], [0.4, 0.6]]), np.array([0, 0]))["predictions"]
    array([1, 1])
    """
    if targets.ndim == 1:
        true, guess = np.eye(said.shape[1], dtype=bool)[targets], np.eye(said.shape[1], dtype=bool)[said.argmax(1)]
    else:
        true, guess = targets > 0.5, said > 0.5
    return {"truths": true.sum(0), "predictions": guess.sum(0), "agreements": (true & guess).sum(0)}


def f1_of(sums: Sums) -> float:
    """The unweighted mean of the F1 of the classes that occur.

    >>> sums = {"truths": np.array([2, 2]), "predictions": np.array([3, 1]), "agreements": np.array([2, 1])}
    >>> round(f1_of(sums), 4)
    0.7333
    """
    return macro_f1(*(np.asarray(sums[name]) for name in ("truths", "predictions", "agreements")))


def confidences(said: Array, targets: Array) -> dict[str, Array]:
    """By bins of confidence: decisions, the confidence that they had, and how many were right.

    Of classes the confidence is that in the class decided for, of labels the probability of each.

    >>> confidences(np.log([[0.9, 0.1], [0.4, 0.6]]), np.array([0, 0]))["confidence"][[8, 13]].round(6)
    array([0.6, 0.9])
    """
    if targets.ndim == 1:
        sure, right = np.exp(said.max(1).astype(np.float64)), said.argmax(1) == targets
    else:
        sure, right = said.astype(np.float64).ravel(), targets.ravel() > 0.5
    bin_M = np.clip(np.ceil(sure * CONFIDENCES).astype(np.int64) - 1, 0, CONFIDENCES - 1)  # (0, 1/15], (1/15, 2/15] ...
    return {
        "confidence": np.bincount(bin_M, sure, minlength=CONFIDENCES),
        "confident_right": np.bincount(bin_M, right, minlength=CONFIDENCES),
        "confident": np.bincount(bin_M, minlength=CONFIDENCES),
    }


def gap(sums: Sums) -> float:
    """The mean distance between confidence and share of right decisions, over bins, weighted by their decisions.

    >>> gap({"confidence": np.array([0.0, 1.5]), "confident_right": np.array([0, 1]), "confident": np.array([0, 2])})
    0.25
    """
    return float(np.abs(sums["confidence"] - sums["confident_right"]).sum() / sums["confident"].sum())


accuracy = METRICS("accuracy")(
    Metric("accuracy", right_labels, share_right, percent=True, kinds=DECIDED, about="Share of right decisions.")
)
OF_F1 = "Mean F1 of the classes that occur, of all samples pooled."
OF_CALIBRATION = f"Mean distance of confidence and share of right decisions, over {CONFIDENCES} bins."
macro_f1_metric = METRICS("macro_f1", "f1")(
    Metric("macro_f1", decisions, f1_of, percent=True, kinds=DECIDED, guarded=True, about=OF_F1)
)
calibration_error = METRICS("calibration_error", "ece")(
    Metric("calibration_error", confidences, gap, "lower", percent=True, kinds=DECIDED, about=OF_CALIBRATION)
)
