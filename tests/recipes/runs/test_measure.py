"""What is kept of runs: figures against the records, and what CFL's and WeCFL's cells keep beyond."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shoal
from shoal.loop.history import History
from shoal.recipes.figures.drawn import drawings
from shoal.recipes.figures.mean_curves import mean_curve
from shoal.recipes.figures.points import spots
from shoal.recipes.judging.relations import Known
from shoal.recipes.pages.extras import extra_parts
from shoal.recipes.pages.html import page_of
from shoal.recipes.pages.paper_pages import paper_page
from shoal.recipes.records import Cell, Panel, Paper, Table
from shoal.recipes.runs.keeps import around_middle
from shoal.recipes.runs.measure import curves, figures, measure
from shoal.recipes.store import Result
from shoal.store.folder import Folder


def kept(tmp_path: Path, algorithm: str, keeps: tuple[str, ...], curves: tuple[str, ...] = (), **keys: Any) -> Any:
    run = shoal.run(algorithm, "digits", engine="serial", out=tmp_path / "run", **keys)
    cell = Cell("p/t", "digits", algorithm, algorithm, {"rounds": keys["rounds"]}, keeps=keeps, curves=curves)
    return run, cell, measure(Folder(tmp_path / "run"), cell)


def test_a_run_of_cfl(tmp_path: Path) -> None:
    """Two splits of the planted four groups of five: 10 + 10 or 5 + 15 first; clients alike have higher cosines."""
    keys: dict[str, Any] = {"rounds": 6, "lr": 0.1, "split_rounds": "2+4"}
    run, cell, found = kept(tmp_path, "cfl", ("splits", "similarities"), **keys)
    assert found["complete"] and found["rounds"] == 6
    assert found["figures"]["best_accuracy"] == pytest.approx(run.summary["best_accuracy"], abs=1e-5)
    assert [split["round"] for split in found["splits"]] == [2, 4]
    assert sum(found["splits"][0]["clients"]) == 20
    first = found["similarities"][0]
    assert first["same"][1] > first["other"][1]  # means
    table = Table("p/t", "A table", (cell,), panels=(Panel("accuracy", "accuracy", (cell.name,)),))
    known = {cell.name: (cell, Result(cell.settings, {0: found}))}
    parts = extra_parts(table, known)
    assert "Splits:" in parts and "Cosines of updates, least / mean / largest:" in parts
    paper = Paper("p", "A paper", "Nobody 2000", (table,))
    assert "| `digits` | - / " in paper_page(paper, (), known)
    [figure] = page_of(paper, known).figures
    assert figure.rows[-1][:2] == ["cfl", 6]
    assert figure.rows[-1][2] == pytest.approx(100 * run.history[-1]["accuracy"], abs=0.01)


def test_a_run_of_wecfl(tmp_path: Path) -> None:
    """The four planted groups are found in round 1 and lie in one group each from then on."""
    keys: dict[str, Any] = {"rounds": 3, "lr": 0.1, "groups": 4, "epochs": 5}
    run, cell, found = kept(tmp_path, "wecfl", ("together", "centroids", "apart", "cosines", "maps"), ("ari",), **keys)
    assert found["curves"]["ari"][-1] == pytest.approx(run.summary["ari"], abs=1e-4)
    whole = {round_: (inside, of) for round_, inside, of in found["together"]}
    assert set(whole) == {1, 2, 3} and all(of == 4 for _, of in whole.values())
    if run.summary["ari"] == 1:
        assert whole[3] == (4, 4)
    rows = np.array([np.concatenate([p.detach().numpy().ravel() for p in model.parameters()]) for model in run.models])
    cosines = rows @ rows.T / np.outer(np.linalg.norm(rows, axis=1), np.linalg.norm(rows, axis=1))
    assert found["centroids"][0] == pytest.approx(cosines[np.triu_indices(4, 1)].min(), abs=1e-3)
    assert found["apart"] == pytest.approx(np.linalg.norm(rows - rows.mean(0), axis=1).mean(), abs=1e-4)
    assert [one["round"] for one in found["cosines"]] == [1, 2, 3]
    assert found["cosines"][0]["within"][0] > found["cosines"][0]["between"][2]  # the planted groups are apart
    assert [one["round"] for one in found["maps"]] == [1, 2, 3]
    one = found["maps"][0]
    assert one["group"] == "".join(str(k) for k in run.history[1]["likeness"]["group"])
    assert len(one["x"]) == len(one["y"]) == 20 and max(map(abs, (*one["x"], *one["y"]))) == 100
    panel = Panel("Map", "maps", (cell.name,))
    table, known = (
        Table("p/t", "A table", (cell,), panels=(panel,)),
        {cell.name: (cell, Result(cell.settings, {0: found}))},
    )
    assert any("clients with the mean of their group" in part for part in extra_parts(table, known))
    [(name, picture)] = drawings(table, known).items()
    assert name == "p-t-0.svg" and picture.count("h0") == 3 * 20 and "round 3" in picture
    drawn = page_of(Paper("p", "A paper", "Nobody 2000", (table,)), known).figures
    assert [len(figure.rows) for figure in drawn] == [20, 20, 20]
    assert drawings(replace(table, panels=(replace(panel, cells=("p/t/r/none",)),)), {"p/t/r/none": (cell, None)}) == {}


def test_clients_of_small_groups_do_not_fall_together() -> None:
    """Ten groups of twenty clients on a wide circle, each half a hundredth of it wide: all stay apart, files small."""
    turns = np.linspace(0, 2 * np.pi, 10, endpoint=False).repeat(20)
    inner = np.tile(np.linspace(0, 2 * np.pi, 20, endpoint=False), 10)
    places_2N = np.array([f(turns) + 0.0025 * f(inner) for f in (np.cos, np.sin)])
    x, y = around_middle(40 * places_2N)
    assert len(set(zip(x, y, strict=True))) == 200
    assert 5 * len(json.dumps([x, y], separators=(",", ":"))) < 14_000
    known, table = mapped([{"round": 1, "group": "0" * 200, "x": x, "y": y}])
    [picture] = drawings(table, known).values()
    assert len(set(re.findall(r"M[\d.]+ [\d.]+h0", picture))) > 100  # tenths of a pixel


def mapped(maps: list[dict[str, Any]]) -> tuple[Known, Table]:
    """A cell with maps, and a figure that shows them."""
    cell = Cell("p/t", "r", "a", "wecfl", {"rounds": 9})
    known = {cell.name: (cell, Result(cell.settings, {0: {"complete": True, "maps": maps}}))}
    return known, Table("p/t", "A table", (cell,), panels=(Panel("M", "maps", (cell.name,)),))


@pytest.mark.parametrize("rounds", [(1, 2, 4, 8), (1, 2, 3, 4, 5)])
def test_maps_of_this_and_of_earlier_versions_fit_into_a_picture(rounds: tuple[int, ...]) -> None:
    known, table = mapped([{"round": t, "group": "01-", "x": [-100, 0, 100], "y": [100, 0, -100]} for t in rounds])
    [picture] = drawings(table, known).values()
    assert re.findall(r"round (\d)", picture) == [str(t) for t in rounds] and picture.count("h0") == 3 * len(rounds)
    places = [(float(x), float(y)) for x, y in re.findall(r"M([\d.]+) ([\d.]+)h0", picture)]
    assert len(set(places)) == 3 * len(rounds) and all(0 < x < 520 and 40 < y < 400 for x, y in places)


def test_maps_are_kept_of_one_seed(tmp_path: Path) -> None:
    assert kept(tmp_path, "wecfl", ("maps",), rounds=1, groups=4, seed=1)[2]["maps"] == []


def test_traffic_against_accuracy() -> None:
    """Two cells, one of them run: its point is the mean of two seeds."""
    cells = [Cell("p/t", "r", column, "fedavg", {"rounds": 1}) for column in "ab"]
    figures = [{"vectors": 100, "best_accuracy": 0.8}, {"vectors": 200, "best_accuracy": 0.9}]
    result = Result(cells[0].settings, {s: {"complete": True, "figures": f} for s, f in enumerate(figures)})
    known = {"p/t/r/a": (cells[0], result), "p/t/r/b": (cells[1], None)}
    panel = Panel("Traffic", "traffic", tuple(known))
    [spot] = spots(panel, known)
    assert (spot.number, spot.name, spot.x) == (0, "a", 150.0) and spot.y == pytest.approx(85.0)
    table = Table("p/t", "A table", tuple(cells), panels=(panel,))
    assert drawings(table, known)["p-t-0.svg"].count("<circle") == 1
    [figure] = page_of(Paper("p", "A paper", "Nobody 2000", (table,)), known).figures
    assert figure.rows == [["a", 150, 85.0]]


def test_a_federation_is_counted(tmp_path: Path) -> None:
    """1,797 digits dealt evenly to ten clients: 179.7 each."""
    shoal.run("fedavg", "digits", partition="iid:clients=10", rounds=1, engine="serial", out=tmp_path / "run")
    cell = Cell("p/t", "digits", "federation", "fedavg", {"rounds": 1}, counts=True)
    found = measure(Folder(tmp_path / "run"), cell)["figures"]
    assert (found["clients"], found["samples"], found["size_mean"]) == (10, 1797, 179.7)


def test_costs_until_a_target() -> None:
    """80 % is reached in round 2: 1 + 2 seconds of T_comm, counted from round 1."""
    rows = [{"round": t, "accuracy": a, "tested": 1, "t_comm": float(t)} for t, a in enumerate((0.1, 0.5, 0.8, 0.9))]
    found = figures(History(rows), {})
    assert (found["rounds_to_80"], found["t_comm_to_80"]) == (2, 3.0)
    assert (found["rounds_to_85"], found["t_comm_to_85"]) == (3, 6.0)
    assert "t_comp_to_80" not in found


def test_validation_and_the_first_discrepancy() -> None:
    rows = [
        {"round": 1, "accuracy": 0.5, "val_accuracy": 0.4, "discrepancy": 0.9},
        {"round": 2, "accuracy": 0.6, "val_accuracy": 0.7, "discrepancy": 0.3},
    ]
    found = figures(History(rows), {})
    assert (found["best_val_accuracy"], found["first_discrepancy"]) == (0.7, 0.9)


def test_thinned_curves_keep_the_accuracy_of_rounds_that_were_tested() -> None:
    """200 rounds with a loss each, every fifth tested: 40 points are the 40 tests, 5, 10, ..., 200."""
    rows = [{"round": t, "loss": 1 / t} | ({"accuracy": t / 200} if t % 5 == 0 else {}) for t in range(1, 201)]
    found = curves(History(rows), 40)
    assert found["round"] == [*range(5, 201, 5)]
    assert found["accuracy"] == [t / 200 for t in range(5, 201, 5)] and None not in found["loss"]
    assert curves(History([{"round": 1, "loss": 2.0}]), 40) == {"round": [1], "loss": [2.0]}


def test_an_unfinished_run_does_not_shorten_a_mean_curve() -> None:
    whole = {"complete": True, "curves": {"round": [1, 2, 3], "accuracy": [0.1, 0.2, 0.3]}}
    begun = {"complete": False, "curves": {"round": [1], "accuracy": [0.5]}}
    assert mean_curve(Result({}, {0: whole, 1: begun}), "accuracy") == [(1, 0.1), (2, 0.2), (3, 0.3)]
    assert mean_curve(Result({}, {1: begun}), "accuracy") == [(1, 0.5)]
