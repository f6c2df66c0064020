"""Rows by client: newer ones replace older ones, and nobody else's row moves."""

from __future__ import annotations

import numpy as np

from shoal.table import Table


def test_put_replaces_and_keeps_the_order_of_ids() -> None:
    first = Table().put(("c", "a"), np.array([[3.0, 3.5], [1.0, 1.5]]))
    second = first.put(("b", "a"), np.array([[2.0, 2.5], [9.0, 9.5]]))
    assert (first.ids, first.rows.tolist()) == (("a", "c"), [[1.0, 1.5], [3.0, 3.5]])  # as before
    assert (second.ids, second.rows.tolist()) == (("a", "b", "c"), [[9.0, 9.5], [2.0, 2.5], [3.0, 3.5]])
    assert second.put((), np.zeros((0, 2))) is second
    assert (len(second), "b" in second, "b" in first) == (3, True, False)


def test_get_follows_the_order_asked_for() -> None:
    table = Table().put(("a", "b"), np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert table.get(("b", "zoe", "a", "b"), np.array([7.0, 8.0])).tolist() == [[3, 4], [7, 8], [1, 2], [3, 4]]
    assert table.get(("zoe",), 0.5).tolist() == [[0.5, 0.5]]
    assert table.get((), 0.0).shape == (0, 2)


def test_an_empty_table_has_only_defaults() -> None:
    assert Table().get(("a", "b"), -1).tolist() == [-1, -1]
    assert Table().get(("a",), np.array([1.0, 2.0])).tolist() == [[1.0, 2.0]]
    assert Table().get(("a",), -1).dtype == np.int64


def test_a_row_that_is_taken_out_is_a_copy() -> None:
    table = Table().put(("a",), np.array([1]))
    table.get(("a",), 0)[0] = 5
    assert table.get(("a",), 0).tolist() == [1]
