"""Distance concentration: in high dimension all distances become alike (Duan et al. 2021, section II-B)."""

from __future__ import annotations

import numpy as np

from shoal.errors import BadInput
from shoal.types import Array


def relative_contrast(distances_NN: Array) -> float:
    """`(max - min) / min` over all pairs of different clients; infinite if two coincide, 0 if all do.

    Args:
        distances_NN: Distances of at least two clients.

    Returns:
        The contrast; near 0 nobody has a nearest neighbour worth the name.

    >>> relative_contrast(np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]]))
    2.0
    """
    distances_NN = np.asarray(distances_NN, np.float64)
    n = len(distances_NN)
    if n < 2:
        raise BadInput(f"a contrast of distances needs at least two clients; there are {n}.")
    pairs = distances_NN[np.triu_indices(n, 1)]
    low, high = float(pairs.min()), float(pairs.max())
    if high == low:
        return 0.0
    return (high - low) / low if low > 0 else float("inf")
