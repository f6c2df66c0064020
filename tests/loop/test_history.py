"""What the records say of a run: rounds in which some client had no model, and what travelled."""

from __future__ import annotations

from typing import Any

import pytest

import shoal
from shoal.loop.history import History, partial_summary, summarise
from shoal.scores import Score


def row(round: int, accuracy: float, **more: Any) -> dict[str, Any]:
    return {"round": round, "accuracy": accuracy, "f1": 0.5, "worst": 0.1, "time": {"round": 1.0}, **more}


def test_where_no_round_counts_the_best_partial_one_is_told_with_its_coverage() -> None:
    """0.9 of 3 of 10 clients in round 1 is the best, 0.7 of 8 of 10 in round 3 the last."""
    covered = [(1, 0.9, 3), (2, 0.6, 5), (3, 0.7, 8)]
    rows = [row(t, accuracy, partial=True, tested=n, tested_of=10) for t, accuracy, n in covered]
    found = summarise(History(rows))
    assert found["best_accuracy"] is None
    best = [found[f"best_partial_{key}"] for key in ("accuracy", "round", "clients", "of")]
    last = [found[f"last_partial_{key}"] for key in ("accuracy", "round", "clients", "of")]
    assert (best, last) == ([0.9, 1, 3, 10], [0.7, 3, 8, 10])


def test_one_round_that_counts_is_worth_more_than_any_partial_one() -> None:
    found = summarise(History([row(1, 0.9, partial=True, tested=3, tested_of=10), row(2, 0.4)]))
    assert found["best_accuracy"] == 0.4
    assert not [key for key in found if key.startswith(("best_partial", "last_partial"))]


def test_a_run_records_whom_it_tested() -> None:
    """Two of 20 clients come in each round, so that after two rounds at least 16 have no model yet."""
    run = shoal.run("local", "digits", rounds=2, clients_per_round=2, selection="random", engine="serial")
    for record in run.history.partial():
        assert (record["tested"], record["tested_of"]) == (len(record["clients"]["ids"]), 20)
        assert record["tested"] <= 4
    assert run.summary["best_partial_of"] == 20
    assert len(run.history.partial()) == run.summary["partial_rounds"] == 2


def test_traffic_of_diagnostics_is_none_of_the_methods() -> None:
    """Train: 3 down, 2 up. Losses: 5 down, which count unless the record, or an old record by its silence, says no."""
    traffic = {"train": {"down": 3, "up": 2}, "losses": {"down": 5, "up": 0}, "evaluate": {"down": 7, "up": 0}}
    says: tuple[dict[str, Any], ...] = (
        {"diagnostic": ["evaluate"]},
        {"diagnostic": ["evaluate", "losses"]},
        {"diagnostic": []},
        {},
    )
    counted = [History([{"round": 1, "traffic": traffic, **what}]).vectors() for what in says]
    assert counted == [10, 5, 17, 5]


def test_tries_of_models_count_where_they_are_the_method_and_not_where_they_look() -> None:
    """IFCA's clients are sent K = 2 models and send one back; the look at its start is listed alone."""
    run = shoal.run("ifca", "digits", rounds=1, groups=2, init_min_share=0.01, engine="serial")
    start, first = run.history
    assert start["traffic"]["losses"]["down"] >= 40
    assert (start["diagnostic"], first["diagnostic"]) == (["losses"], ["evaluate"])
    assert run.summary["vectors"] == 3 * first["trained"]


RMSE = Score("rmse", "lower", percent=False)


def test_a_score_whose_smaller_values_are_better_decides_about_best_first_and_validation() -> None:
    rows = [
        {"round": 1, "rmse": 0.9, "val_rmse": 0.5, "partial": False, "worst": 1.8, "time": {"round": 1.0}},
        {"round": 2, "rmse": 0.4, "val_rmse": 0.7, "partial": False, "worst": 0.8, "time": {"round": 1.0}},
        {"round": 3, "rmse": 0.1, "val_rmse": 0.1, "partial": True, "time": {"round": 1.0}},
        {"round": 4, "rmse": 0.5, "val_rmse": 0.6, "partial": False, "worst": 1.0, "time": {"round": 1.0}},
    ]
    history = History(rows, RMSE)
    assert history.first(0.6) is rows[1]  # the first at or below, partial ones not counted
    assert history.first(0.3) is None
    found = summarise(history)
    assert (found["best_rmse"], found["best_round"], found["last_rmse"]) == (0.4, 2, 0.5)
    assert found["median_rmse"] == 0.5  # of 0.9, 0.4, 0.5
    assert found["last_three_rmse"] == pytest.approx(0.6)  # (0.9 + 0.4 + 0.5) / 3
    assert (found["best_val_round"], found["rmse_at_best_val"]) == (1, 0.9)  # least on validation: 0.5
    assert "best_accuracy" not in found


def test_where_no_round_had_all_clients_the_best_is_by_the_score() -> None:
    rows = [{"round": t, "rmse": v, "partial": True, "tested": 2, "tested_of": 5} for t, v in ((1, 0.7), (2, 0.3))]
    found = partial_summary(rows, RMSE)
    assert (found["best_partial_rmse"], found["best_partial_round"], found["last_partial_rmse"]) == (0.3, 2, 0.3)
