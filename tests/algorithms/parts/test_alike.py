"""The running mean of similarities: half old, half new, pair by pair."""

from __future__ import annotations

import numpy as np

from shoal.algorithms.parts.alike import Alike


def pair(value: float) -> np.ndarray:
    return np.array([[1.0, value], [value, 1.0]])


def test_half_of_what_was_and_half_of_what_is() -> None:
    alike = Alike().put(("a", "b"), pair(0.8)).put(("a", "b"), pair(0.4)).put(("a", "b"), pair(0.0))
    assert np.allclose(alike.get(("b", "a")), pair(0.3))  # 0.8, 0.6, 0.3


def test_a_new_pair_counts_alone_and_others_stay() -> None:
    alike = Alike().put(("a", "b"), pair(0.8)).put(("c", "a"), pair(-0.5))
    assert np.allclose(alike.get(("a", "c")), pair(-0.5))
    assert np.allclose(alike.get(("a", "b")), pair(0.8))
    assert np.allclose(alike.put(("b", "c"), pair(0.2)).get(("b", "c")), pair(0.2))
