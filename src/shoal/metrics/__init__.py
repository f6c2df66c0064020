"""What is measured: metrics as sums that add up over samples and clients, and the figures of a tested round."""

from shoal.metrics.classes import accuracy, calibration_error, macro_f1_metric
from shoal.metrics.figures import (
    adjusted_rand,
    client_f1,
    discrepancy,
    macro_f1,
    mutual_information,
    training_loss,
    weighted_accuracy,
    worst_tenth,
)
from shoal.metrics.metric import BASE, METRICS, Metric, by_client, pooled, sums_of, test_loss, value_of, worst_of
from shoal.metrics.numbers import mae, r2, rmse
from shoal.metrics.ranking import auc, average_precision

__all__ = [
    "BASE",
    "METRICS",
    "Metric",
    "accuracy",
    "adjusted_rand",
    "auc",
    "average_precision",
    "by_client",
    "calibration_error",
    "client_f1",
    "discrepancy",
    "macro_f1",
    "macro_f1_metric",
    "mae",
    "mutual_information",
    "pooled",
    "r2",
    "rmse",
    "sums_of",
    "test_loss",
    "training_loss",
    "value_of",
    "weighted_accuracy",
    "worst_of",
    "worst_tenth",
]
