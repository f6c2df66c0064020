"""Errors of numbers beside scikit-learn's."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

from shoal.metrics import Metric, mae, r2, rmse, sums_of, value_of


@pytest.mark.parametrize("shape", [(50,), (50, 3)])
@pytest.mark.parametrize(
    ("metric", "exact"), [(mae, mean_absolute_error), (rmse, root_mean_squared_error), (r2, r2_score)]
)
def test_they_are_scikit_learns(metric: Metric, exact: object, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    y = 5 + rng.normal(size=shape)
    said = y + 0.3 * rng.normal(size=shape)
    got = value_of(metric, {**sums_of(metric, said, y), "total": np.array(len(y))})
    assert got == pytest.approx(exact(y, said), rel=1e-9)  # type: ignore[operator]


def test_r2_of_one_sample_is_unknown_and_of_equal_targets_as_in_scikit_learn() -> None:
    one, same = np.array([3.0]), np.array([3.0, 3.0])
    assert math.isnan(value_of(r2, {**sums_of(r2, one, one), "total": np.array(1)}))
    for said in (same, same + 1):
        got = value_of(r2, {**sums_of(r2, said, same), "total": np.array(2)})
        assert got == r2_score(same, said)
