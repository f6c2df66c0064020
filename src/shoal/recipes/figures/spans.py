"""Where axes begin and end."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.report.svg import round_up

__all__ = ["span"]


def span(values: Sequence[float]) -> tuple[float, float]:
    """Round ends of an axis for some values.

    Args:
        values: At least one.

    Returns:
        Below the least of them, and above the largest.

    >>> span([81.0, 94.5]), span([3.0])
    ((80.0, 95.0), (3.0, 4.0))
    """
    step = round_up((max(values) - min(values)) / 5 or 1.0)
    low, high = step * (min(values) // step), step * -(-max(values) // step)
    return low, high if high > low else low + step
