"""The contrast of distances by hand."""

from __future__ import annotations

import math

import pytest

from shoal.errors import BadInput
from shoal.measures import relative_contrast


def test_by_hand() -> None:
    # Pairs 2, 5 and 6: (6 - 2) / 2.
    assert relative_contrast([[0, 2, 5], [2, 0, 6], [5, 6, 0]]) == 2.0  # type: ignore[arg-type]


def test_one_pair_has_no_contrast() -> None:
    assert relative_contrast([[0, 3], [3, 0]]) == 0.0  # type: ignore[arg-type]


def test_clients_that_coincide() -> None:
    assert relative_contrast([[0, 0, 1], [0, 0, 1], [1, 1, 0]]) == math.inf  # type: ignore[arg-type]
    assert relative_contrast([[0, 0, 0], [0, 0, 0], [0, 0, 0]]) == 0.0  # type: ignore[arg-type]


def test_one_client() -> None:
    with pytest.raises(BadInput, match="there are 1"):
        relative_contrast([[0.0]])  # type: ignore[arg-type]
