"""Mean curves of cells: over seeds that keep the same rounds, and over seeds that do not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from shoal.recipes.figures.mean_curves import mean_curve
from shoal.recipes.store import Result


def result(*curves: Mapping[str, Any], complete: bool = True) -> Result:
    runs: dict[int, Any] = {seed: {"complete": complete, "curves": kept} for seed, kept in enumerate(curves)}
    return Result({}, runs)


def test_seeds_with_the_same_rounds_are_averaged_as_they_are() -> None:
    found = result({"round": [1, 7, 9], "loss": [0.25, 0.75, 0.5]}, {"round": [1, 7, 9], "loss": [0.5, 0.25, 1.0]})
    assert mean_curve(found, "loss") == [(1, 0.375), (7, 0.5), (9, 0.75)]


def test_seeds_with_other_rounds_do_not_thin_the_mean() -> None:
    """Lines of slopes 2 and 4 from zero: their mean has slope 3 at every round of the sparser one that both cover."""
    many, few = [0, 2, 4, 6, 8, 10], [1, 4, 7, 9, 12]
    found = result(
        {"round": many, "accuracy": [2.0 * t for t in many]}, {"round": few, "accuracy": [4.0 * t for t in few]}
    )
    curve = mean_curve(found, "accuracy")
    assert [t for t, _ in curve] == [1, 4, 7, 9]
    assert [v for _, v in curve] == pytest.approx([3.0, 12.0, 21.0, 27.0])


def test_a_round_without_a_value_is_no_zero() -> None:
    """The first seed was not tested in round 2, nor in round 4, where it ends; its line there is from 1 to 3."""
    found = result(
        {"round": [1, 2, 3, 4], "accuracy": [0.2, None, 0.6, None]},
        {"round": [1, 2, 3, 4], "accuracy": [0.4, 0.5, 0.6, 0.7]},
    )
    assert mean_curve(found, "accuracy") == [(1, pytest.approx(0.3)), (3, 0.6)]
    assert mean_curve(found, "loss") == []


def test_unfinished_seeds_are_averaged_as_far_as_both_are() -> None:
    short = {"round": [1, 2, 3], "loss": [3.0, 2.0, 1.0]}
    longer = {"round": [1, 3, 5, 7], "loss": [5.0, 3.0, 2.0, 1.0]}
    assert mean_curve(result(short, longer, complete=False), "loss") == [(1, 4.0), (2, 3.0), (3, 2.0)]
