"""Shares, bytes and seconds as people read them, the same on the terminal and on pages."""

from __future__ import annotations

from shoal.loop.words import clock as clock
from shoal.scores import ACCURACY


def percent(share: float | None) -> str:
    """
    >>> percent(0.9342), percent(None)
    ('93.4 %', '-')
    """
    return ACCURACY.show(share)


def size(count: float) -> str:
    """Bytes for people.

    >>> size(521600), size(12.3e9)
    ('0.5 MB', '12.3 GB')
    """
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:,.1f} MB"


def duration(seconds: float) -> str:
    """
    >>> duration(0.332), duration(12.3), duration(83)
    ('0.3 s', '12.3 s', '1:23 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{clock(seconds)} {'h' if round(seconds) >= 3600 else 'min'}"
