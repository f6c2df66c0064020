"""Rows by client: newer ones replace older ones, and nobody else's row moves."""

from __future__ import annotations

import numpy as np

from shoal.table import Table, Vectors


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


def test_vectors_share_what_stays_and_copy_what_comes() -> None:
    rows = np.array([[1.0, 2.0], [3.0, 4.0]])
    old = Vectors().put(("ann", "bob"), rows)
    rows[:] = 0  # whoever made them may use the memory again
    new = old.put(("bob", "cyd"), np.array([[5.0, 6.0], [7.0, 8.0]]))
    assert new.get(("cyd", "ann", "bob"), 0.0).tolist() == [[7.0, 8.0], [1.0, 2.0], [5.0, 6.0]]
    assert old.get(("bob",), 0.0).tolist() == [[3.0, 4.0]] and "cyd" not in old
    assert new.by_client["ann"] is old.by_client["ann"]


def test_vectors_answer_as_a_table_does() -> None:
    ids, rows = ("bob", "ann"), np.array([[3.0, 4.0], [1.0, 2.0]], np.float32)
    table, vectors = Table().put(ids, rows), Vectors().put(ids, rows)
    for default in (-1.0, np.array([8.0, 9.0])):
        asked = table.get(("zoe", "ann"), default), vectors.get(("zoe", "ann"), default)
        assert asked[0].tolist() == asked[1].tolist() and asked[0].dtype == asked[1].dtype
    assert (len(vectors), "ann" in vectors, "zoe" in vectors) == (len(table), "ann" in table, "zoe" in table)
