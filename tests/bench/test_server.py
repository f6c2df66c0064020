"""Every piece of the server's mathematics runs, and gives what the usual way gives."""

from __future__ import annotations

import numpy as np

from shoal.bench.grouping import time_grouping
from shoal.bench.server import PARAMETERS, memory_of, one, server_steps
from shoal.measures import edc_embedding


def test_pieces_and_their_figures() -> None:
    found = list(server_steps(12, PARAMETERS))
    assert [p.name for p in found] == ["cosine", "edc", "madc", "weighted k-means"]
    got = one(found[0], 12, PARAMETERS, 1)
    assert got["way"] == "scikit-learn"
    assert got["memory"] >= 12 * 12 * 8
    for piece, close in zip(found[:2], (1e-5, 1e-4), strict=True):
        assert piece.usual is not None
        np.testing.assert_allclose(np.abs(piece.shoal()), np.abs(piece.usual()), atol=close)


def test_memory_is_that_of_the_arrays_made() -> None:
    assert memory_of(lambda: np.ones(1000)) >= 8000
    assert edc_embedding(np.eye(3), 1).shape == (3, 1)


def test_phases_of_the_grouping_add_up() -> None:
    found = time_grouping((28,), 1, lambda line: None)
    assert (found[0]["clients"], found[0]["groups"]) == (28, 4)
    assert list(found[0]["ms"]) == ["seeding", "distances", "flow", "means", "groups"]
    assert found[0]["total_ms"] == sum(found[0]["ms"].values()) > 0
