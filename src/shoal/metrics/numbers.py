"""Metrics of numbers: mean absolute error, root of the mean squared error, R2; of vectors the mean over columns."""

from __future__ import annotations

import math

import numpy as np

from shoal.metrics.metric import METRICS, Metric, Sums
from shoal.types import Array

__all__ = ["mae", "r2", "rmse"]


def columns(said: Array, targets: Array) -> tuple[Array, Array]:
    """Both as B x D numbers of 64 bits."""
    width = math.prod(targets.shape[1:])
    return said.astype(np.float64).reshape(len(said), width), targets.astype(np.float64).reshape(len(targets), width)


def absolute(said: Array, targets: Array) -> dict[str, Array]:
    """
    >>> absolute(np.array([1.0, 2.0]), np.array([1.5, 4.0]))
    {'absolute_error': array([2.5])}
    """
    said_BD, y_BD = columns(said, targets)
    return {"absolute_error": np.abs(said_BD - y_BD).sum(0)}


def squared(said: Array, targets: Array) -> dict[str, Array]:
    """
    >>> squared(np.array([1.0, 2.0]), np.array([1.5, 4.0]))
    {'squared_error': array([4.25])}
    """
    said_BD, y_BD = columns(said, targets)
    return {"squared_error": np.square(said_BD - y_BD).sum(0)}


def moments(said: Array, targets: Array) -> dict[str, Array]:
    """
    >>> moments(np.array([1.0, 2.0]), np.array([1.5, 4.0]))
    {'r2_error': array([4.25]), 'target_sum': array([5.5]), 'target_squares': array([18.25])}
    """
    _, y_BD = columns(said, targets)
    error = squared(said, targets)["squared_error"]
    return {"r2_error": error, "target_sum": y_BD.sum(0), "target_squares": np.square(y_BD).sum(0)}


def explained(sums: Sums) -> float:
    """`1 - sum (y - f)^2 / sum (y - mean y)^2`, as scikit-learn has it where all targets are the same; nan for one.

    >>> sums = {"r2_error": np.array([4.25]), "target_sum": np.array([5.5]), "target_squares": np.array([18.25])}
    >>> round(explained({**sums, "total": 2}), 4)               # 5.5^2 / 2 = 15.125, so 1 - 4.25 / 3.125
    -0.36
    """
    if sums["total"] < 2:
        return math.nan
    spread_D = sums["target_squares"] - np.square(sums["target_sum"]) / sums["total"]
    flat_D = spread_D <= 1e-12 * sums["target_squares"]
    constant_D = np.where(sums["r2_error"] == 0, 1.0, 0.0)
    return float(np.where(flat_D, constant_D, 1 - sums["r2_error"] / np.where(flat_D, 1, spread_D)).mean())


mae = METRICS("mae")(
    Metric(
        "mae",
        absolute,
        lambda s: np.mean(s["absolute_error"] / s["total"]),
        "lower",
        kinds=("floats",),
        about="Mean absolute error.",
    )
)
rmse = METRICS("rmse")(
    Metric(
        "rmse",
        squared,
        lambda s: np.sqrt(s["squared_error"] / s["total"]).mean(),
        "lower",
        kinds=("floats",),
        about="Root of the mean squared error.",
    )
)
r2 = METRICS("r2")(
    Metric("r2", moments, explained, kinds=("floats",), guarded=True, about="Share of the variance that is explained.")
)
