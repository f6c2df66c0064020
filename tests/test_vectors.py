"""Long vectors by client: newer ones replace older ones, and what stays is shared."""

from __future__ import annotations

import numpy as np

from shoal.table import Table
from shoal.vectors import Vectors


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
