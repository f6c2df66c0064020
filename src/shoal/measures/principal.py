"""Principal components from inner products alone: where clients lie in a plane, at the cost of an N x N matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.types import Array


class Plane(NamedTuple):
    """Coordinates of every client, and the share of the variance that each axis holds.

    Attributes:
        points_NM: Coordinates, a row per client.
        share_M: Share of the variance, per axis.

    >>> Plane(np.zeros((3, 2)), np.array([0.8, 0.2])).points_NM.shape
    (3, 2)
    """

    points_NM: Array
    share_M: Array


def principal(gram_NN: Array, m: int = 2) -> Plane:
    """The first m principal components of the rows behind a Gram matrix: top eigenpairs of `(I - 1/n) G (I - 1/n)`.

    In each axis the first of the (nearly) largest coordinates is positive. Axes that hold nothing are zero.

    Args:
        gram_NN: All inner products of the clients' vectors, as from `gram`.
        m: Axes.

    Returns:
        N x m coordinates around the mean, and the variance that each axis holds.

    >>> rows = np.array([[0.0, 0.0], [4.0, 0.0], [2.0, 1.0], [2.0, -1.0]])
    >>> plane = principal(rows @ rows.T)
    >>> (plane.points_NM.round(6) + 0.0).tolist(), plane.share_M.round(6).tolist()
    ([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]], [0.8, 0.2])
    """
    gram_NN = np.asarray(gram_NN, np.float64)
    n = len(gram_NN)
    centred_NN = gram_NN - gram_NN.mean(0) - gram_NN.mean(1)[:, None] + gram_NN.mean()
    points_NM, share_M = np.zeros((n, m)), np.zeros(m)
    total = float(np.trace(centred_NN))
    if total <= 0:
        return Plane(points_NM, share_M)
    value, vector = np.linalg.eigh((centred_NN + centred_NN.T) / 2)
    for axis, (length, v_N) in enumerate(zip(value[: -m - 1 : -1], vector.T[: -m - 1 : -1], strict=True)):
        if length > total * np.finfo(float).eps * n:
            size_N = np.abs(v_N)
            first = int((size_N >= size_N.max() * (1 - 1e-6)).argmax())
            points_NM[:, axis] = v_N * np.sqrt(length) * np.sign(v_N[first])
            share_M[axis] = length / total
    return Plane(points_NM, share_M)
