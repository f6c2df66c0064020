"""The figures of a comparison, worked out by hand from small records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.report.records import regression

import shoal
from shoal.analysis.compare import compare, compare_runs, differs, figures_of, spread
from shoal.analysis.significance import differences
from shoal.analysis.table import tabulate
from shoal.errors import BadInput
from shoal.loop.history import History, summarise


def row(round: int, accuracy: float | None, sent: int = 0, **more: Any) -> dict[str, Any]:
    count = {"bytes_down": sent, "bytes_up": sent, "forward": 10, "backward": 10}
    tested = {} if accuracy is None else {"accuracy": accuracy, "f1": accuracy / 2, "worst": 0.1}
    tested |= {} if accuracy is None else {"test_loss": 2 - accuracy}
    traffic = {"train": count, "evaluate": {**count, "bytes_down": 9 * sent}}
    return {"round": round, "time": {"round": 0.5}, "traffic": traffic, **tested, **more}


HISTORY = History(
    [
        row(0, None),
        row(1, 0.95, 1_000_000, partial=True),  # some client had no model: it does not count
        row(2, 0.50, 1_000_000),
        row(3, None, 1_000_000),
        row(4, 0.80, 1_000_000),
        row(5, 0.90, 1_000_000),
        row(6, 0.70, 1_000_000),
    ]
)


def test_mean_and_standard_deviation() -> None:
    """1 2 4: mean 7/3, squares of deviations 16/9 1/9 25/9, over n - 1 = 2: 7/3."""
    found = spread([1, 2, None, float("nan"), 4])
    assert found is not None
    assert (found.mean, found.std, found.n) == pytest.approx((7 / 3, (7 / 3) ** 0.5, 3))
    assert spread([None]) is None
    one = spread([5])
    assert one is not None and one.std is None


def test_best_median_and_last_three_count_whole_rounds_only() -> None:
    found = summarise(HISTORY)
    assert (found["best_accuracy"], found["best_round"]) == (0.9, 5)
    assert found["last_three_accuracy"] == pytest.approx((0.8 + 0.9 + 0.7) / 3)
    assert found["median_accuracy"] == pytest.approx((0.7 + 0.8) / 2)
    assert (found["last_accuracy"], found["last_f1"], found["seconds"]) == (0.7, 0.35, 3.5)
    assert found["last_three_f1"] == pytest.approx((0.4 + 0.45 + 0.35) / 3)


def test_test_loss_best_last_and_at_the_target() -> None:
    """2 - accuracy: 1.5 1.2 1.1 1.3 in the rounds that count; the partial round of 1.05 does not."""
    found = figures_of(HISTORY, None, 0.8)
    assert [found[f"{which}_test_loss"] for which in ("best", "last")] == pytest.approx([1.1, 1.3])
    assert found["test_loss_at_target"] == pytest.approx(1.2)
    assert figures_of(HISTORY, None, None)["test_loss_at_target"] is None


def test_records_without_a_test_loss_have_none() -> None:
    old = History([{k: v for k, v in r.items() if k != "test_loss"} for r in HISTORY])
    found = figures_of(old, None, 0.8)
    keys = ("best_test_loss", "last_test_loss", "test_loss_at_target")
    assert [found[key] for key in keys] == [None, None, None]


def test_estimated_costs_to_a_target() -> None:
    """0.8 is reached in round 4: 1 + 2 + 3 + 4 of `t_comp`; of `t_comm` round 2 says nothing, so nothing is told."""
    rows = [{**r, "t_comp": float(r["round"])} | ({} if r["round"] in (0, 2) else {"t_comm": 1.0}) for r in HISTORY]
    found = figures_of(History(rows), None, 0.8)
    assert (found["t_comp_to_target"], found["t_comm_to_target"], found["d_comm_to_target"]) == (10.0, None, None)
    assert figures_of(History(rows), None, 0.93)["t_comp_to_target"] is None


def test_rounds_and_bytes_to_a_target() -> None:
    """0.8 is reached in round 4; four rounds sent 1 MB down and 1 MB up for training."""
    found = figures_of(HISTORY, None, 0.8)
    assert (found["rounds_to_target"], found["megabytes_to_target"]) == (4, 8.0)
    assert found["megabytes"] == 12.0
    assert found["passes"] == 7 * 2 * 20 / 1e3


def test_a_target_that_is_never_reached() -> None:
    found = figures_of(HISTORY, None, 0.93)
    assert (found["rounds_to_target"], found["megabytes_to_target"]) == (None, None)


def test_what_an_algorithm_settles_by_itself_tells_it_only_from_its_like() -> None:
    avg, mmd = {"algorithm": "fedavg", "kernel": "native"}, {"algorithm": "fedmmd", "kernel": "torch"}
    other = {**avg, "kernel": "torch"}
    assert not differs("kernel", avg, [avg, mmd], [avg])
    assert differs("kernel", avg, [avg, mmd, other], [avg, other])


@pytest.mark.parametrize("kind", [str, Path, lambda path: [path], lambda path: (str(path) for _ in range(1))])
def test_one_path_is_enough(tmp_path: Path, kind: Any) -> None:
    run = shoal.run("fedavg", rounds=1, engine="serial", out=tmp_path / "x")
    [found] = shoal.compare(kind(run.folder))
    assert found.runs == (str(run.folder),)


def test_a_folder_that_is_not_there_is_said_to_be_not_there(tmp_path: Path) -> None:
    with pytest.raises(shoal.ShoalError, match=f"there is no folder {tmp_path / 'nowhere'}"):
        shoal.compare(tmp_path / "nowhere")
    with pytest.raises(shoal.ShoalError, match=r"is not a run folder: it has no config\.toml"):
        shoal.compare(tmp_path)


@pytest.fixture
def two(tmp_path: Path) -> list[Path]:
    """Two runs of RMSE: the second is better at its best (0.3 against 0.4), the first in the end (0.4 against 0.5)."""
    return [
        regression(tmp_path / "a", [0.9, 0.6, 0.4], "fedavg"),
        regression(tmp_path / "b", [0.8, 0.3, 0.5], "ifca"),
    ]


def test_less_is_better_where_the_score_says_so(two: list[Path]) -> None:
    lines = compare_runs(two, target=0.45)
    found = tabulate(lines)
    heads = [q.head for q in found.columns]
    assert heads[:4] == ["best RMSE", "at val RMSE", "last 3 RMSE", "worst RMSE"]
    assert [row[0].shown() for row in found.rows] == ["0.4000", "0.3000"]
    assert [row[0].best for row in found.rows] == [False, True]
    assert [line.figures["rounds_to_target"].mean for line in lines] == [3, 2]  # type: ignore[union-attr]
    aim = dict(found.meanings(0.45))
    assert [m for head, m in aim.items() if head.short == "rounds to"] == ["first round that reaches the target (0.45)"]
    [apart] = differences(lines)
    assert (apart.setting, apart.against) == ("fedavg", "ifca")
    assert apart.mean == pytest.approx(0.1)


def test_further_metrics_are_columns_and_nothing_is_best_in_one_of_elsewhere(two: list[Path]) -> None:
    """MAE is half of 0.4 and 0.5, and less of it is better; of an own metric nobody here knows the direction."""
    found = tabulate(compare_runs(two))
    mae, odd = ([q.key for q in found.columns].index(key) for key in ("last_mae", "last_odd"))
    assert [(row[mae].shown(), row[mae].best) for row in found.rows] == [("0.2000", True), ("0.2500", False)]
    assert [(row[odd].shown(), row[odd].best) for row in found.rows] == [("1.200", False), ("1.500", False)]


def test_what_is_measured_besides_does_not_make_a_setting_another(tmp_path: Path) -> None:
    paths = [regression(tmp_path / "a", [0.5]), regression(tmp_path / "b", [0.6], seed=1, metrics="mae")]
    [line] = compare_runs(paths)
    assert line.name == "ifca"
    assert line.values["last_mae"] == (0.25, 0.3)


def test_runs_of_different_scores_are_one_sentence(two: list[Path], tmp_path: Path) -> None:
    shoal.run("fedavg", rounds=1, engine="serial", out=tmp_path / "digits")
    told = r"different scores, RMSE \(fedavg, ifca\) and accuracy \(fedavg\), and cannot be ranked together"
    with pytest.raises(BadInput, match=told):
        compare([*two, tmp_path / "digits"])


def test_a_target_is_a_value_of_the_score(two: list[Path], tmp_path: Path) -> None:
    assert compare_runs(two, target=12.5)[0].reached == 1  # an RMSE may be above 1, and less is better
    with pytest.raises(BadInput, match="a target is a value of RMSE, not nan"):
        compare_runs(two, target=float("nan"))
    shoal.run("fedavg", rounds=1, engine="serial", out=tmp_path / "digits")
    with pytest.raises(BadInput, match=r"a target is an accuracy between 0 and 1, not 80"):
        compare(tmp_path / "digits", target=80)
