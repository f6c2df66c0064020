"""Sums over pairs of rows in C."""

from __future__ import annotations

import numpy as np

from shoal.kernels.calls import at, i64, pointer
from shoal.kernels.native import native
from shoal.types import Array


def sums_of_larger(rows_NN: Array) -> Array | None:
    """`sum_z max(a_iz, a_jz)` for all pairs of rows of a square matrix in float64; None where nothing was built.

    >>> got = sums_of_larger(np.array([[1.0, 5.0], [2.0, 3.0]]))
    >>> got is None or got.tolist() == [[6.0, 7.0], [7.0, 5.0]]
    True
    """
    found = native()
    if found is None:
        return None
    n = len(rows_NN)
    pad, sums = found[1].madc_pad, found[1].madc_sums
    pad.restype, pad.argtypes, sums.argtypes = i64, [i64], [pointer, i64, pointer]
    m = int(pad(n))
    padded = np.zeros((m, m))
    padded[:n, :n] = rows_NN
    out = np.empty((m, m))
    sums(at(padded), m, at(out))
    return out[:n, :n]
