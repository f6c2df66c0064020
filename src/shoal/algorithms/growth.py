"""How many groups FedGSP has in a round: the growth functions of sequential-to-parallel training (eqs. 1 to 3)."""

from __future__ import annotations

import math
from typing import Literal, get_args

from shoal.errors import BadInput, unknown

Growth = Literal["linear", "log", "exp"]
NEAR = 1e-9  # a whole number that rounding left just below itself still counts
DOUBLINGS = 64  # of exponential growth, after which every federation is far exceeded


def growth(kind: Growth, r: int, alpha: float, beta: int) -> int:
    """f(r) for r = 1, 2, ...: `beta floor(alpha (r - 1) + 1)`, `beta floor(alpha ln r + 1)` or
    `beta floor((1 + alpha)^(r - 1))`. Always a multiple of beta, and f(1) = beta.

    >>> [growth("log", r, 2, 10) for r in (1, 2, 3, 5, 8, 13, 34, 100, 500)]
    [10, 20, 30, 40, 50, 60, 80, 100, 130]
    >>> growth("linear", 101, 0.29, 1)
    30
    """
    if kind not in get_args(Growth):
        raise unknown("growth function", kind, get_args(Growth))
    if r < 1 or not alpha >= 0 or beta < 1:
        raise BadInput(f"growth needs a round and beta from 1 on and alpha from 0 on, not {r}, {beta}, {alpha}.")
    if kind == "linear":
        return beta * math.floor(alpha * (r - 1) + 1 + NEAR)
    if kind == "log":
        return beta * math.floor(alpha * math.log(r) + 1 + NEAR)
    doublings = min((r - 1) * math.log2(1 + alpha), DOUBLINGS)
    grown = (1 + alpha) ** (r - 1) if doublings < DOUBLINGS else 2.0**DOUBLINGS
    return beta * math.floor(grown + NEAR)
