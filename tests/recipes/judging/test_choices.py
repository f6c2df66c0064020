"""Settings that papers leave open are those that our runs choose, by rules that were fixed before them."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.recipes import PAPERS
from shoal.recipes.judging.choices import distances, nearest, rate, remarks, tuned
from shoal.recipes.judging.relations import Known, known_cells
from shoal.recipes.papers.cfl import RATE, RATES
from shoal.recipes.papers.fedgsp import CANDIDATES, TUNED
from shoal.recipes.papers.wecfl import READING_NAME, READINGS
from shoal.recipes.records import Cell, Table
from shoal.recipes.store import Result, Store

CELLS = {cell.name: cell for paper in PAPERS.values() for table in paper.tables for cell in table.cells}
TABLES = {table.name: table for paper in PAPERS.values() for table in paper.tables}
COMMITTED = known_cells([*CELLS.values()], Store(Path(__file__).parents[3] / "results"))


def with_values(values: dict[str, dict[str, float]]) -> Known:
    """All cells, some of them with figures of seed 0."""
    known: dict[str, tuple[Cell, Result | None]] = {name: (cell, None) for name, cell in CELLS.items()}
    for name, figures in values.items():
        run = {"complete": True, "rounds": CELLS[name].rounds, "figures": figures}
        known[name] = (CELLS[name], Result(CELLS[name].settings, {0: run}))
    return known


def test_what_was_tuned_is_what_validation_says() -> None:
    found = tuned(COMMITTED)
    assert {method: TUNED[method] for method in found} == found, "let TUNED of shoal.recipes.papers.fedgsp be this"


def test_the_rate_of_cfls_figure_is_what_validation_says() -> None:
    assert rate(COMMITTED) in (None, RATE), "let RATE of shoal.recipes.papers.cfl be this"
    names = [f"cfl/tuning/one-group/lr-{value:g}" for value in RATES]
    scores = dict(zip(names, (0.5, 0.6, 0.6), strict=True))
    known = with_values({name: {"best_val_accuracy": score} for name, score in scores.items()})
    assert rate(known) == RATES[1] and rate(with_values({})) is None
    [told], [waiting] = (remarks(TABLES["cfl/fig3"], one) for one in (known, with_values({})))
    assert told.endswith("the best validation accuracy of `cfl/tuning`.") and waiting.endswith("not tuned yet.")


def test_what_is_not_tuned_yet_is_told() -> None:
    [told] = remarks(TABLES["fedgsp/table1"], COMMITTED)
    waiting = [line.split("`")[1] for line in told.splitlines() if "not tuned on validation yet" in line]
    assert waiting == [method for method in CANDIDATES if method not in tuned(COMMITTED)]


def test_the_best_validation_accuracy_decides_and_of_equals_the_smallest_value() -> None:
    names = {value: f"fedgsp/tuning/fedprox/mu-{value}" for value in CANDIDATES["fedprox"][1]}
    scores = dict(zip(names, (0.5, 0.7, 0.7, 0.6), strict=True))
    values = {names[mu]: {"best_val_accuracy": score} for mu, score in scores.items()}
    assert tuned(with_values(values)) == {"fedprox": 0.01}
    assert tuned(with_values(dict([*values.items()][1:]))) == {}  # one was not run
    [told] = remarks(TABLES["fedgsp/table1"], with_values(values))
    chosen = f"`fedprox` with mu = {TUNED['fedprox']:g}: the best validation accuracy"
    assert chosen in told and told.count("not tuned") == 4


def readings(**accuracies: tuple[float, float]) -> Known:
    """All readings with accuracies of FedAvg and WeCFL in per cent; those not given are far away."""
    values = {}
    for reading in READINGS:
        pair = accuracies.get(reading.replace("-", "_"), (90.0, 90.0))
        for method, value in zip(("fedavg", "wecfl"), pair, strict=True):
            values[f"wecfl/d28/{reading}/{method}"] = {"last_three_accuracy": value / 100}
    return with_values(values)


def test_the_reading_of_the_tables_is_the_nearest() -> None:
    found = nearest(COMMITTED)
    assert found in (None, READING_NAME), "let READING_NAME of shoal.recipes.papers.wecfl be this"


def test_distances_are_added() -> None:
    """The paper has 21.33 and 72.13: 20.33 and 75.13 lie 1 + 3 points away, on whichever side."""
    known = readings(steps_kept=(20.33, 75.13), steps_reset=(26.33, 72.13))
    found = {d.reading: d for d in distances(known)}
    assert found["steps-kept"].points == pytest.approx(4.0) and not found["steps-kept"].at_least
    assert found["steps-reset"].points == pytest.approx(5.0)
    assert nearest(known) == "steps-kept"


def test_ten_rounds_count_with_what_is_above_the_paper() -> None:
    """FedAvg 10 below says nothing after ten rounds, WeCFL 2 above is a distance of 2 at least: maybe the nearest."""
    known = readings(steps_kept=(20.33, 75.13), epochs_kept=(11.33, 74.13))
    found = {d.reading: d for d in distances(known)}
    assert found["epochs-kept"].points == pytest.approx(2.0) and found["epochs-kept"].at_least
    assert nearest(known) is None
    told = remarks(TABLES["wecfl/table2-cifar-classes"], known)
    assert "until `epochs-kept` was run with both methods for all 100 rounds" in told[0]
    assert nearest(readings(steps_kept=(20.33, 75.13), epochs_kept=(11.33, 79.13))) == "steps-kept"


def test_a_run_that_goes_on_counts_with_what_is_above_the_paper() -> None:
    """FedAvg 6 points above after 30 of 100 rounds lies at least 6 away; 6 points below says nothing."""
    for fedavg, points in ((27.33, 6.0), (15.33, 0.0)):
        known = dict(readings(steps_kept=(20.33, 75.13), epochs_reset=(fedavg, 72.13)))
        name = "wecfl/d28/epochs-reset/fedavg"
        cell, result = known[name]
        assert result is not None
        known[name] = (cell, Result(cell.settings, {0: {**result.runs[0], "complete": False, "rounds": 30}}))
        [found] = [d for d in distances(known) if d.reading == "epochs-reset"]
        assert found.points == pytest.approx(points) and found.at_least


def test_one_method_alone_may_tell_that_a_reading_is_not_the_nearest() -> None:
    """FedAvg 6 points off is farther than 4 points in all, whatever WeCFL has; 3 points off may be nearer."""
    for fedavg, settled in ((27.33, "steps-kept"), (24.33, None)):
        known = dict(readings(steps_kept=(20.33, 75.13), steps_reset_unit=(fedavg, 0.0)))
        name = "wecfl/d28/steps-reset-unit/wecfl"
        known[name] = (CELLS[name], None)
        [found] = [d for d in distances(known) if d.reading == "steps-reset-unit"]
        assert found.points == pytest.approx(fedavg - 21.33) and found.at_least
        assert nearest(known) == settled


def test_it_is_settled_when_all_readings_were_run() -> None:
    known = dict(readings(steps_kept=(21.33, 72.13)))
    table, tuning = TABLES["wecfl/d28"], TABLES["wecfl/table2-fmnist-classes"]
    assert "is read as" in remarks(tuning, known)[0]
    assert "| `epochs-kept` | at least" in remarks(table, known)[1]
    for method in ("fedavg", "wecfl"):
        name = f"wecfl/d28/epochs-kept-unit/{method}"
        known[name] = (CELLS[name], None)
    assert nearest(known) is None and "is a first guess (D28), until the readings" in remarks(tuning, known)[0]


@pytest.mark.parametrize("name", ["wecfl/fig3", "wecfl/table5-fmnist-classes", "wecfl/d28"])
def test_every_table_with_that_reading_says_how_sure_it_is(name: str) -> None:
    assert any("ocal steps 10" in part for part in remarks(TABLES[name], COMMITTED))
    assert remarks(TABLES["flexcfl/table3"], COMMITTED) == []
    assert remarks(Table("p/t", "None"), COMMITTED) == []
