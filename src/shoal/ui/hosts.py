"""Under which names a server may be asked: a strange one may have been made to point here."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterable

HOST = re.compile(r"(\[(?P<address>[^\]]*)\]|(?P<name>[^:\[\]]*))(:\d*)?")
LOOPBACK = ("localhost", "127.0.0.1", "::1")


def is_loopback(host: str) -> bool:
    """Whether an address reaches this machine alone.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def host_of(header: str) -> str:
    """The name in a Host header, without its port; nothing if it is none.

    >>> host_of("localhost:8000"), host_of("[::1]:8000"), host_of("Evil.example"), host_of("[::1].evil.example")
    ('localhost', '::1', 'evil.example', '')
    """
    found = HOST.fullmatch(header.strip().lower())
    return "" if found is None else found["address"] or (found["name"] or "").rstrip(".")


def own_names(host: str) -> frozenset[str]:
    """The names under which a server bound to a host may be asked; addresses aside."""
    names = {*LOOPBACK, host.lower()}
    if not is_loopback(host):
        names |= {socket.gethostname().lower(), socket.getfqdn().lower()}
    return frozenset(names)


def is_expected(host: str, names: Iterable[str], addresses: bool) -> bool:
    """Whether a page may be asked for under this host. A strange name may be one that was made to point here.

    >>> is_expected("evil.example", ["localhost"], addresses=True), is_expected("10.0.0.7", [], addresses=True)
    (False, True)
    """
    if host in names:
        return True
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return addresses
