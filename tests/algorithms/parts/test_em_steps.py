"""The first groups of FeSEM and WeCFL, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.algorithms.parts.em_steps import Start, first_groups
from shoal.seeds import Key


@pytest.mark.parametrize(("start", "groups"), [("directions", [0, 1, 0, 1]), ("kmeans", [0, 0, 1, 0])])
def test_a_client_that_went_far_captures_no_group_of_its_own(start: Start, groups: list[int]) -> None:
    """Two directions, and one client that went ten times as far as its like: by length it would be a group alone."""
    learnt_ND = np.array([[1.0, 0.1], [0.1, 1.0], [10.0, 1.0], [0.0, 1.0]])
    found, _ = first_groups(learnt_ND, learnt_ND, np.ones(4), start, 2, "cosine", Key(0))
    assert found.labels_N.tolist() == groups
    means = [learnt_ND[found.labels_N == k].mean(0) for k in (0, 1)]
    np.testing.assert_allclose(found.centres_KD, means)
