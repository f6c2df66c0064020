from __future__ import annotations

import numpy as np

from shoal.measures import gram, principal


def test_as_singular_vectors_of_centred_rows() -> None:
    rows_NP = np.random.default_rng(0).normal(size=(7, 20))
    centred_NP = rows_NP - rows_NP.mean(0)
    U, value, _ = np.linalg.svd(centred_NP, full_matrices=False)
    plane = principal(gram(rows_NP))
    for axis in (0, 1):
        want = U[:, axis] * value[axis]
        np.testing.assert_allclose(np.abs(plane.points_NM[:, axis]), np.abs(want), atol=1e-9)
        assert plane.points_NM[np.abs(want).argmax(), axis] > 0
    np.testing.assert_allclose(plane.share_M, (value**2 / (value**2).sum())[:2])


def test_equal_rows_lie_at_the_origin_and_a_line_has_one_axis() -> None:
    assert not principal(gram(np.ones((4, 3)))).points_NM.any()
    line = principal(gram(np.outer([0.0, 1.0, 5.0], [3.0, 4.0])))  # lengths 0, 5, 25: mean 10
    np.testing.assert_allclose(line.points_NM, [[-10.0, 0.0], [-5.0, 0.0], [15.0, 0.0]], atol=1e-6)
    np.testing.assert_allclose(line.share_M, [1.0, 0.0], atol=1e-9)
    assert principal(np.array([[4.0]])).points_NM.tolist() == [[0.0, 0.0]]


def test_an_axis_that_holds_only_rounding_is_zero() -> None:
    rng = np.random.default_rng(0)
    line = principal(gram(np.outer(rng.normal(size=60), rng.normal(size=5))))
    assert line.points_NM[:, 1].tolist() == [0.0] * 60
    assert line.share_M[1] == 0.0


def test_small_vectors_have_the_axes_of_large_ones() -> None:
    # The rows of the example, a thousandth as long: coordinates shrink with them, shares stay.
    rows_NP = 1e-3 * np.array([[0.0, 0.0], [4.0, 0.0], [2.0, 1.0], [2.0, -1.0]])
    plane = principal(gram(rows_NP))
    want = [[2e-3, 0.0], [-2e-3, 0.0], [0.0, 1e-3], [0.0, -1e-3]]
    np.testing.assert_allclose(plane.points_NM, want, atol=1e-12)
    np.testing.assert_allclose(plane.share_M, [0.8, 0.2])
