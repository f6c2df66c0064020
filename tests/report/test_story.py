"""The headline sentences: each worked out from small figures or records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.report.records import regression, synthetic

from shoal.analysis.compare import Line, spread
from shoal.analysis.quantities import quantities
from shoal.loop.history import History
from shoal.report.loaded_run import read_run
from shoal.report.story import comparison_story, run_story
from shoal.scores import ACCURACY, Score

RMSE = Score("rmse", "lower", percent=False)


def line(name: str, *best: float, score: Score = ACCURACY, ari: float | None = None) -> Line:
    values: dict[str, tuple[float | None, ...]] = {key: (None,) * len(best) for key in quantities(score)}
    values |= {score.key("best"): best, "ari": (ari,) * len(best)}
    figures = {key: spread(found) for key, found in values.items()}
    seeds = tuple(range(len(best)))
    return Line(name, tuple(f"run{i}" for i in seeds), True, figures, 0, seeds, values, score)


def story(*lines: Line) -> str:
    return comparison_story(lines, {found.name: found.name.split()[0] for found in lines})


def test_what_one_model_has_what_groups_bring_and_what_three_seeds_cannot_show() -> None:
    """fedavg 35 ± 1, ifca 90 ± 1: differences 55 each, so the interval is one point; 2 / 2^3 is the least p."""
    found = story(
        line("fedavg", 0.34, 0.35, 0.36), line("local", 0.79, 0.8, 0.82), line("ifca", 0.89, 0.9, 0.91, ari=1)
    )
    assert found == (
        "ifca has the highest best accuracy: 90.0 ± 1.0 %. One model for all (fedavg) has 35.0 %; groups bring 55.0 "
        "points (ifca). Every client alone (local) has 80.3 %. Three seeds cannot show it as significant: with so few, "
        "no p is below 0.25, however clear the case. ifca found the true groups."
    )


def test_a_tie_is_called_a_tie() -> None:
    """Differences of wecfl from ifca: -2, 1, -1 points, mean -0.67, interval -4.5 to 3.1: it holds 0."""
    found = story(line("ifca", 0.90, 0.89, 0.91), line("wecfl", 0.88, 0.90, 0.90), line("fedavg", 0.3, 0.31, 0.32))
    assert found.startswith(
        "ifca and wecfl tie for the highest best accuracy: 90.0 ± 1.0 % and 89.3 ± 1.2 %, and seeds alone differ by as "
        "much. One model for all (fedavg) has 31.0 %; groups bring 59.0 points (ifca)."
    )


def test_who_is_better_than_one_that_ties_is_named_with_it() -> None:
    """wecfl is 1 point behind in every seed, fesem 1.2 on average, sometimes ahead: both or neither."""
    lines = [line("ifca", 0.90, 0.85, 0.95), line("wecfl", 0.89, 0.84, 0.941), line("fesem", 0.91, 0.82, 0.934)]
    assert story(*lines).startswith("ifca, wecfl and fesem tie for the highest best accuracy")


def test_groups_that_bring_nothing_are_said_to() -> None:
    found = story(line("fedavg", 0.90, 0.89, 0.91), line("ifca", 0.88, 0.90, 0.90, ari=0.1))
    assert "One model for all (fedavg) has 90.0 % and groups have 89.3 % (ifca): groups bring nothing" in found
    assert "cannot show" not in found  # there is no difference to be shown
    assert found.endswith("ifca comes nearest to the true groups (ARI 0.10).")


def test_groups_that_do_harm_are_said_to() -> None:
    found = story(line("fedavg", 0.90, 0.91, 0.92), line("ifca", 0.60, 0.61, 0.62))
    assert "One model for all (fedavg) has 91.0 %, 30.0 points more than groups have (ifca)." in found


@pytest.mark.parametrize(
    ("seeds", "told"),
    [
        (1, "One seed each cannot show it as significant: what other seeds would give is not known."),
        (5, "Five seeds cannot show it as significant: with so few, no p is below 0.062, however clear the case."),
        (6, "The lead of ifca over fedavg is more than chance makes (p at most 0.031, by Holm)."),
    ],
)
def test_significance_in_words(seeds: int, told: str) -> None:
    """Six pairs that all point one way: p = 2 / 2^6 = 0.03125; five cannot go below 2 / 32 = 0.0625."""
    spread_out = [0.001 * i for i in range(seeds)]
    found = story(line("fedavg", *spread_out), line("ifca", *(0.5 + 1.1 * x for x in spread_out)))
    assert told in found


def test_where_less_is_better_the_lowest_wins_and_groups_take_off() -> None:
    one, groups = line("fedavg", 0.6, 0.62, 0.64, score=RMSE), line("ifca", 0.3, 0.31, 0.32, score=RMSE)
    found = story(one, groups)
    assert found.startswith("ifca has the lowest best RMSE: 0.3100 ± 0.01. One model for all (fedavg) has 0.62; groups")
    assert "groups take off 0.31 (ifca)." in found


def test_a_run_is_told_with_its_baselines_and_its_groups(tmp_path: Path) -> None:
    run = read_run(regression(tmp_path / "ifca", [0.9, 0.3, 0.5]))
    assert run_story(run) == (
        "Best RMSE 0.3 (lower is better) in round 2. In the end there are two groups of 2 and 2 clients. "
        "Nobody changed groups once they were formed."
    )
    better = read_run(regression(tmp_path / "fedavg", [0.7, 0.55], "fedavg"))
    level = read_run(regression(tmp_path / "local", [0.301], "local"))
    beside = replace(run, beside=[better, level])
    assert run_story(beside).startswith(
        "Best RMSE 0.3 (lower is better) in round 2: 0.25 below one model for all (FedAvg) and level with every client "
        "alone (0.301)."
    )


def test_without_a_run_of_one_model_the_mean_of_the_groups_stands_for_it(tmp_path: Path) -> None:
    run = read_run(regression(tmp_path / "ifca", [0.9, 0.3]))
    known = replace(run, history=History([{**r, "rmse_mean": 0.8} for r in run.history], run.score))
    told = "The mean of its groups, as one model for all, has 0.8."
    assert told in run_story(known)
    fedavg = read_run(regression(tmp_path / "fedavg", [0.7], "fedavg"))
    assert told not in run_story(replace(known, beside=[fedavg]))


def test_drift_and_moves_are_counted(tmp_path: Path) -> None:
    """A hundred clients of five groups; one moves in each of three rounds, and two swaps of two clients each."""
    run = read_run(synthetic(tmp_path / "run", clients=100, rounds=3, drift=1))
    swaps: Sequence[dict[str, Any]] = [{"round": t, "kind": "swapped", "clients": ["a", "b"]} for t in (1, 2)]
    told = run_story(replace(run, events=[*run.events, *swaps]))
    assert told.endswith("Data of clients changed four times, and clients changed groups three times.")
    *first, last = sorted(run.history[-1]["group_size"], reverse=True)
    sizes = f"{', '.join(map(str, first))} and {last}"
    assert f"Its five groups of {sizes} clients agree with the true ones to 0.90" in told
    exact = replace(run, summary={**run.summary, "ari": 1.0}, events=[])
    assert "It found the five groups that are true (ARI 1.00). Clients changed groups three times." in run_story(exact)


def test_a_collapse_is_told(tmp_path: Path) -> None:
    run = read_run(synthetic(tmp_path / "run", clients=100, rounds=3, drift=1))
    fallen = replace(run, events=[{"round": 2, "kind": "collapsed"}])
    assert "The groups collapsed into one in one round." in run_story(fallen)


def test_nothing_tested_is_said() -> None:
    assert story(line("fedavg"), line("ifca")) == "No run was tested yet."
