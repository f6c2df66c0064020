"""FlexCFL's shift test: has a client's label histogram left the one it was grouped by? (Duan et al. 2022, section 3.4;
departures D19 and D20)"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np

from shoal.errors import BadInput, unknown
from shoal.types import Array

ShiftMode = Literal["aligned", "counts"]


class Shift(NamedTuple):
    """Distance of two histograms, the threshold, and whether the distance is strictly greater.

    Attributes:
        distance: How far the histogram has moved.
        tau: How far it may.
        shifted: Whether it has moved farther.

    >>> Shift(distance=5.25, tau=5.0, shifted=True).shifted
    True
    """

    distance: float
    tau: float
    shifted: bool


def shift_distance(current_C: Array, reference_C: Array, mode: ShiftMode = "aligned") -> float:
    """`(1/C) sum_c |current_c - reference_c|` over the C classes.

    `aligned` compares class by class. `counts` sorts both histograms first, which is the Wasserstein distance of the
    counts taken as two samples of numbers: what the authors' code computes, and blind to which class is which.

    Args:
        current_C: Label counts now.
        reference_C: Label counts when the client was grouped.
        mode: `aligned` or `counts`.

    Returns:
        The distance, in samples per class.

    >>> shift_distance(np.array([0, 0, 5, 5]), np.array([5, 5, 0, 0]))
    5.0
    >>> shift_distance(np.array([0, 0, 5, 5]), np.array([5, 5, 0, 0]), "counts")
    0.0
    """
    return _total(current_C, reference_C, mode) / len(reference_C)


def threshold(samples: float, classes: int) -> float:
    """`tau = (0.2 / C) n`: as far as a histogram moves when a fifth of the client's n samples come or go.

    Args:
        samples: n, the client's training samples.
        classes: C, the classes of the task.

    Returns:
        tau, in samples per class.

    >>> threshold(100, 4)
    5.0
    """
    return samples / (5 * classes)


def shifted(current_C: Array, reference_C: Array, samples: float | None = None, mode: ShiftMode = "aligned") -> Shift:
    """Whether the distance is strictly over the threshold; `samples` defaults to the size of the reference.

    Args:
        current_C: Label counts now.
        reference_C: Label counts when the client was grouped.
        samples: n in the threshold.
        mode: `aligned` or `counts`.

    Returns:
        Distance, threshold and verdict.

    >>> shifted(np.array([39, 40, 0, 0]), np.array([50, 50, 0, 0]))
    Shift(distance=5.25, tau=5.0, shifted=True)
    """
    samples = float(np.sum(np.asarray(reference_C))) if samples is None else samples
    total, classes = _total(current_C, reference_C, mode), len(reference_C)
    # Whole counts against n / 5: dividing both by the number of classes first could round equal ones apart.
    return Shift(total / classes, threshold(samples, classes), total > samples / 5)


def _total(current_C: Array, reference_C: Array, mode: ShiftMode) -> float:
    """The distance times the number of classes."""
    current_C, reference_C = np.asarray(current_C, np.float64), np.asarray(reference_C, np.float64)
    if current_C.shape != reference_C.shape or current_C.ndim != 1 or not current_C.size:
        raise BadInput(f"two histograms over the same classes are needed, not {current_C.shape}, {reference_C.shape}.")
    if mode == "counts":
        current_C, reference_C = np.sort(current_C), np.sort(reference_C)
    elif mode != "aligned":
        raise unknown("shift test", mode, get_args(ShiftMode))
    return float(np.abs(current_C - reference_C).sum())
