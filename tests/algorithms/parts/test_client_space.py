"""Where clients and groups are points, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from torch import nn

from shoal.aggregators import Mean
from shoal.algorithms.parts.client_space import ClientSpace
from shoal.layout import Layout
from shoal.types import Answers

LAYOUT = Layout.of(lambda: nn.Linear(1, 2), np.zeros((1, 1)))  # two weights, then two biases
GOT = Answers(
    ("ann", "bob"), np.array([1, 0]), {"update": np.array([[3.0, 4, 0, 0], [0, 0, 0, 2]]), "count": np.array([1, 3])}
)
OMEGA_KP = np.array([[0.0, 0, 0, 0], [0, 0, 6, 8]])


def test_a_client_stands_where_it_arrived_or_for_what_it_learnt() -> None:
    # ann from (0, 0, 6, 8) by (3, 4, 0, 0), bob from 0 by (0, 0, 0, 2); samples 1 and 3.
    at = ClientSpace("all", "model", "euclidean").points(GOT, OMEGA_KP, Mean("samples"), LAYOUT)
    assert at.omega_NP.tolist() == at.seen_ND.tolist() == [[3, 4, 6, 8], [0, 0, 0, 2]]
    assert at.learnt_ND.tolist() == GOT["update"].tolist()
    assert at.lambda_N.tolist() == [0.25, 0.75]
    at = ClientSpace("all", "update", "cosine").points(GOT, OMEGA_KP, Mean("clients"), LAYOUT)
    np.testing.assert_allclose(at.seen_ND, [[0.6, 0.8, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    assert at.omega_NP.tolist() == [[3, 4, 6, 8], [0, 0, 0, 2]]
    assert at.lambda_N.tolist() == [0.5, 0.5]


def test_the_distance_may_see_a_part() -> None:
    at = ClientSpace("bias", "model", "cosine").points(GOT, OMEGA_KP, Mean("clients"), LAYOUT)
    np.testing.assert_allclose(at.seen_ND, [[0.6, 0.8], [0.0, 1.0]])
    assert at.learnt_ND.tolist() == [[0.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize(("represent", "what"), [("model", "local models"), ("update", "updates")])
def test_records_say_what_they_hold(represent: str, what: str) -> None:
    space = ClientSpace("bias", represent, "cosine")  # type: ignore[arg-type]
    at = space.points(GOT, OMEGA_KP, Mean("clients"), LAYOUT)
    shown = space.shown(at)
    assert (shown.what, shown.measure, shown.cohort) == (what, "cosine", ("ann", "bob"))
    assert shown.rows_ND is at.seen_ND
