"""Numbers for small files."""

from __future__ import annotations

DIGITS = 5  # of a figure


def rounded(value: float | None, digits: int = DIGITS) -> float | None:
    """A number for a small file.

    >>> rounded(0.123456789), rounded(3), rounded(None)
    (0.12346, 3, None)
    """
    return value if value is None or isinstance(value, int) else round(float(value), digits)
