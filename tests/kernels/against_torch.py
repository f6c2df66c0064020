"""The native kernel held against torch, for whatever networks: what tests of kinds of networks share."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from shoal.layout import Layout
from shoal.net import Arithmetic, Net
from shoal.seeds import Key
from shoal.solvers import SGD
from shoal.types import Array

Problem = tuple[Layout, Array, Array, Array]  # layout, start, inputs, labels


def same_in_double(problem: Problem, solver: SGD) -> None:
    """In double precision both train alike, and at all if there is anything to do."""
    layout, start_P, x, y = problem
    nets = [Net(layout, Arithmetic(kernel=kernel)) for kernel in ("torch", "native")]
    assert nets[1].native is not None
    one, two = (solver(net, start_P, x, y, Key(4).at(3).of("ann")) for net in nets)
    np.testing.assert_allclose(two.update_P, one.update_P, rtol=0, atol=1e-12)
    assert two.loss == pytest.approx(one.loss, rel=1e-12)
    assert one.update_P.any() == (solver.passes(len(y)) > 0)


def errors_in_single(single: Problem, double: Problem, solver: SGD) -> Iterator[tuple[str, Array, Array]]:
    """Of each kernel in single precision: how far updates lie from those in double precision, and these."""
    layout, start_P, x, y = single
    exact, wide_P, _, _ = double
    wide_P[:] = start_P
    truth_P = solver(Net(exact), wide_P, x.astype(float), y, Key(4)).update_P
    for kernel in ("torch", "native"):
        update_P = solver(Net(layout, Arithmetic(kernel=kernel)), start_P, x, y, Key(4)).update_P
        yield kernel, np.abs(update_P - truth_P), truth_P
