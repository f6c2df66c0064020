"""The median and the trimmed mean by hand, through the lift too: batch-norm statistics go the same way."""

from __future__ import annotations

import numpy as np
import pytest
from torch import nn

from shoal.aggregators import Median, TrimmedMean, by_column, per_group
from shoal.errors import BadInput
from shoal.layout import Layout
from shoal.seeds import Key
from shoal.types import Answers

# Five clients, two coordinates; sorted: -50, 1, 2, 3, 9 and 0, 0, 4, 6, 1000.
ROWS = np.array([[1.0, 4.0], [2.0, 1000.0], [3.0, 0.0], [-50.0, 6.0], [9.0, 0.0]])
COUNTS = np.array([1, 100, 1, 1, 1])
W = np.array([10.0, -10.0])


def test_median_by_hand() -> None:
    assert Median().apply(W, ROWS, COUNTS, {}, Key(0))[0].tolist() == [12.0, -6.0]  # 10 + 2, -10 + 4
    # Of an even number the mean of the two in the middle: 1, 2 and 4, 6.
    assert Median().apply(W, ROWS[[0, 1, 3, 3]], COUNTS[:4], {}, Key(0))[0].tolist() == [10.0 - 49 / 2, -4.0]
    assert Median().apply(W, ROWS[:1], COUNTS[:1], {}, Key(0))[0].tolist() == [11.0, -6.0]


def test_trimmed_mean_by_hand() -> None:
    # A fifth of five is one at either end: (1 + 2 + 3) / 3 and (0 + 4 + 6) / 3; 0.19 of five is none.
    np.testing.assert_allclose(TrimmedMean(0.2).apply(W, ROWS, COUNTS, {}, Key(0))[0], [12, -10 + 10 / 3], rtol=1e-15)
    np.testing.assert_allclose(TrimmedMean(0.19).apply(W, ROWS, COUNTS, {}, Key(0))[0], W + ROWS.mean(0), rtol=1e-15)
    # Two at either end leave the median.
    assert TrimmedMean(0.4).apply(W, ROWS, COUNTS, {}, Key(0))[0].tolist() == [12.0, -6.0]


@pytest.mark.parametrize("share", [-0.1, 0.5, float("nan")])
def test_one_cannot_leave_out_everybody(share: float) -> None:
    with pytest.raises(BadInput, match=r"from 0 to below 0.5"):
        TrimmedMean(share)


def test_statistics_go_by_the_rule_and_counters_by_the_largest() -> None:
    # The vector is (weight, bias) of batch norm, then running mean and variance, then the counter.
    layout = Layout.of(lambda: nn.Sequential(nn.Flatten(), nn.BatchNorm1d(2)), np.zeros((1, 2)))
    model_KP = np.array([[1.0, -1, 0, 0, 10, 20, 1, 1, 4], [5.0, 5, 5, 5, 5, 5, 5, 5, 5]])
    updates = np.array([[1.0, 0, 0, 0, 3, 0, 0, 0, 1], [2.0, 0, 0, 0, 900, 0, 0, 0, 2], [3.0, -6, 0, 0, 4, 1, 0, 0, 3]])
    got = Answers(("a", "b", "c"), np.zeros(3, int), {"update": updates, "count": np.array([1, 3, 5])})
    new_KP, s = per_group(Median(), layout).apply(model_KP, got, {}, Key(0))
    assert new_KP[0].tolist() == [3, -1, 0, 0, 14, 20, 1, 1, 7]  # medians 2, 0 and 4, 0; the largest count 3
    assert new_KP[1].tolist() == [5.0] * 9  # nobody answered
    assert s == {}
    trimmed_KP, _ = per_group(TrimmedMean(0.34), layout).apply(model_KP, got, {}, Key(0))
    assert trimmed_KP.tolist() == new_KP.tolist()  # one of three at either end


def test_columns_in_pieces_are_columns_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rows_NP = np.random.default_rng(0).normal(size=(7, 33)).astype(np.float32)
    whole = by_column(rows_NP, lambda rows: np.median(rows, 0))
    monkeypatch.setattr("shoal.aggregators.rules.BLOCK", 20)
    pieces = by_column(rows_NP, lambda rows: np.median(rows, 0))
    assert whole.tolist() == pieces.tolist() == np.median(rows_NP.astype(np.float64), 0).tolist()
    assert by_column(rows_NP[:, :0], lambda rows: np.median(rows, 0)).tolist() == []
