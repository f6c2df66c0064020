"""Inner products of rows that are lists as well as of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.measures import coordinates, gram


def test_rows_may_be_lists() -> None:
    rows: Any = [[1, 2, 0], [3, 0, 4]]
    assert gram(rows).tolist() == [[5.0, 3.0], [3.0, 25.0]]
    np.testing.assert_allclose(gram(coordinates(rows)), [[5.0, 3.0], [3.0, 25.0]])


def test_coordinates_are_as_many_as_rows_where_that_is_fewer() -> None:
    """Rows that are no longer than they are many stay as they are, and so do more than `most`."""
    for n, p, most, shape in ((2, 3, 2, (2, 2)), (3, 3, 9, (3, 3)), (2, 3, 1, (2, 3)), (0, 3, 9, (0, 3))):
        rows = np.arange(float(n * p)).reshape(n, p)
        got = coordinates(rows, most)
        assert got.shape == shape
        assert (got is rows) == (shape == (n, p))
