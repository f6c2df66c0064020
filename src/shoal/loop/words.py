"""Counts and times as people read them."""

from __future__ import annotations


def clock(seconds: float) -> str:
    """
    >>> clock(12.3), clock(3723)
    ('0:12', '1:02:03')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def clients_of(clients: float | None, of: float | None) -> str:
    """How many clients a figure is about, of how many; records of earlier versions do not tell the latter.

    >>> clients_of(78, 1000), clients_of(78, None), clients_of(None, None)
    ('78 of 1,000 clients', '78 clients', 'some clients')
    """
    if clients is None:
        return "some clients"
    return f"{clients:,.0f} clients" if of is None else f"{clients:,.0f} of {of:,.0f} clients"
