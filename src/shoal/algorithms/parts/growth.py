"""How many groups FedGSP has in a round: how many it begins with, and the growth functions of sequential-to-parallel
training (eqs. 1 to 3)."""

from __future__ import annotations

import math
from typing import Literal, get_args

from shoal.errors import BadInput, unknown

Growth = Literal["linear", "log", "exp"]
Beginning = int | Literal["auto"]
PAPER = 368  # clients of the paper, to which its numbers of groups belong
NEAR = 1e-9  # a whole number that rounding left just below itself still counts
ENOUGH = 2.0**64  # where growth ends: every federation is far exceeded


def in_proportion(groups: int, clients: int) -> int:
    """As many groups for these clients as `groups` are for the 368 of the paper: chains stay as long (departure D82).

    Args:
        groups: Of the paper.
        clients: K.

    Returns:
        `groups K / 368`, rounded, at least 1.

    >>> [in_proportion(10, clients) for clients in (5, 20, 100, 368, 1000)]
    [1, 1, 3, 10, 27]
    """
    return max(1, round(groups * clients / PAPER))


def growth(kind: Growth, r: int, alpha: float, beta: int) -> int:
    """f(r) for r = 1, 2, ...: `beta floor(alpha (r - 1) + 1)`, `beta floor(alpha ln r + 1)` or
    `beta floor((1 + alpha)^(r - 1))`. Always a multiple of beta, and f(1) = beta; it ends at beta 2^64.

    Args:
        kind: `linear`, `log` or `exp`.
        r: The round, from 1 on.
        alpha: Rate of the growth.
        beta: Groups at the start, and step of the growth.

    Returns:
        The number of groups.

    >>> [growth("log", r, 2, 10) for r in (1, 2, 3, 5, 8, 13, 34, 100, 500)]
    [10, 20, 30, 40, 50, 60, 80, 100, 130]
    >>> growth("linear", 101, 0.29, 1)
    30
    """
    if kind not in get_args(Growth):
        raise unknown("growth function", kind, get_args(Growth))
    if r < 1 or not 0 <= alpha < math.inf or beta < 1:
        raise BadInput(
            f"growth needs a round and beta from 1 on and a number alpha from 0 on, not {r}, {beta}, {alpha}."
        )
    if kind == "linear":
        grown = alpha * (r - 1) + 1
    elif kind == "log":
        grown = alpha * math.log(r) + 1
    else:
        grown = (1 + alpha) ** (r - 1) if (r - 1) * math.log2(1 + alpha) < math.log2(ENOUGH) else ENOUGH
    return beta * math.floor(min(grown, ENOUGH) + NEAR)
