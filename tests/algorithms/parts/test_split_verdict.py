"""CFL's verdict on a cluster, answer by answer, with numbers by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shoal.algorithms.parts.split_criteria import cluster_norms, thresholds
from shoal.algorithms.parts.split_verdict import SplitRule, judge
from shoal.errors import BadInput
from shoal.measures import cosine

# Three clients go right, three left, one step each: the mean is 0, the mean length 1.
SIX = np.kron([[1.0, 0.0], [-1.0, 0.0]], np.ones((3, 1)))


def verdict(rows: np.ndarray, first: float = 1.0, round: int = 0, final: bool = False, **rule: Any) -> Any:
    return judge(rows, np.ones(len(rows)), cosine(rows), SplitRule(**rule), first, round, final)


def test_norms_in_units_by_hand() -> None:
    # Sizes 1, 1, 2: the mean is (0, 6)/4, the lengths 5, 5 and 3 have the mean 16/4.
    rows, sizes = np.array([[3.0, 4.0], [-3.0, -4.0], [0.0, 3.0]]), np.array([1, 1, 2])
    assert cluster_norms(rows, sizes) == (1.5, 5.0, 4.0)
    seen = judge(rows, sizes, cosine(rows), SplitRule(), first=2.0).seen
    assert (seen["mean_relative"], seen["max_relative"]) == (0.375, 2.5)
    assert (seen["eps1"], seen["eps2"]) == (2.0, 0.5)  # half of 4, a quarter of 2
    assert thresholds("auto", 0.3, 4.0, 2.0) == (2.0, 0.3)
    with pytest.raises(BadInput, match=r"^eps2=often is not possible"):
        thresholds(0.1, "often", 1.0, 1.0)  # type: ignore[arg-type]


def test_groups_that_stand_apart_are_split() -> None:
    found = verdict(SIX)
    assert found.answer == "split"
    assert found.cut.labels_N.tolist() == [0, 0, 0, 1, 1, 1]
    assert {k: found.seen[k] for k in ("cross", "gamma", "subgroups", "silhouette", "order", "apart")} == {
        "cross": -1.0,
        "gamma": 0.0,
        "subgroups": 2,
        "silhouette": 1.0,
        "order": 1.0,
        "apart": True,
    }
    assert found.record["verdict"] == "split"


def test_a_cluster_that_moves_is_not() -> None:
    # Steps of 1 to the right and 0.2 to the left: the mean 0.4 is longer than half of the mean length 0.6.
    found = verdict(SIX * np.repeat([[1.0], [0.2]], 3, axis=0))
    assert found.answer == "moving"
    assert "0.4 long, and eps1 is 0.3" in found.reason


def test_one_whose_clients_are_content_is_final() -> None:
    assert verdict(0.24 * SIX).answer == "final"  # 0.24 is below a quarter of the first length
    assert verdict(0.25 * SIX).answer == "split"
    assert verdict(SIX, final=True).answer == "final"


def test_clients_that_form_no_groups_are_refused_by_the_guard_alone() -> None:
    ring = np.array([[np.cos(a), np.sin(a)] for a in np.arange(8) * np.pi / 4])  # no two groups are apart
    refused = verdict(ring)
    assert refused.answer == "refused"
    assert "do not stand apart" in refused.reason
    assert verdict(ring, guard="off").answer == "split"
    assert verdict(ring, eps1=0.5, eps2=0.5).answer == "split"  # thresholds that are given decide alone
    assert verdict(ring, eps1=0.5, eps2=0.5, guard="on").answer == "refused"
    assert verdict(ring, eps1=0.5).answer == "refused"
    assert "no two groups of 3" in verdict(SIX[1:]).reason


def test_who_is_alone_or_early() -> None:
    assert verdict(SIX[:1]).answer == "alone"
    given: dict[str, Any] = {"eps1": 0.5, "eps2": 0.5, "criteria": "notebook"}
    assert verdict(SIX, round=20, **given).answer == "early"
    assert verdict(SIX, round=21, **given).answer == "split"
    assert verdict(SIX[2:4], round=21, **given).answer == "early"
    assert verdict(0.5 * SIX, round=21, **given).answer == "congruent"  # not longer than eps2, and tested again
