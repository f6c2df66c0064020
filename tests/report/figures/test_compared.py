"""Settings side by side: how they are told apart, bands inside what is possible, scores of which less is better."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.report.records import regression, synthetic

from shoal.loop.history import History
from shoal.report.figure import Figure, NoFigure
from shoal.report.figures import COMPARISON, compared, of_run
from shoal.report.figures.compared import Setting, looks
from shoal.report.loaded_run import LoadedRun, read_run


def run(algorithm: str, **row: Any) -> LoadedRun:
    rows = [{"round": t, **row} for t in (1, 2)]
    return LoadedRun(algorithm, f"runs/{algorithm}", {"algorithm": algorithm, "seed": 0}, History(rows), {})


def test_a_method_has_one_colour_and_its_variants_a_dash_each() -> None:
    names = ("fedavg", "ifca", "ifca", "wecfl", "wecfl")
    found = looks([Setting(f"{name} {i}", [run(name)]) for i, name in enumerate(names)])
    assert [look.color for look in found] == ["@g0", "@g1", "@g1", "@g2", "@g2"]
    assert [look.dash for look in found] == ["solid", "solid", "dash", "solid", "dash"]


def test_settings_of_one_method_or_one_of_each_differ_in_everything() -> None:
    for names in (("ifca", "ifca", "ifca"), ("fedavg", "ifca", "wecfl")):
        found = looks([Setting(f"{name} {i}", [run(name)]) for i, name in enumerate(names)])
        assert [len(set(part)) for part in zip(*found, strict=True)] == [3, 3, 3]


def test_a_setting_looks_the_same_in_every_figure(tmp_path: Path) -> None:
    settings = [
        Setting(name, [read_run(regression(tmp_path / f"{name}{seed}", values, name, seed)) for seed, values in seeds])
        for name, seeds in (("fedavg", [(0, [0.9, 0.6]), (1, [0.8, 0.5])]), ("ifca", [(0, [0.4, 0.3])]))
    ]
    drawn = {d.key: d for draw in COMPARISON if isinstance(d := draw(settings), Figure)}
    assert {"rmse", "seeds", "traffic", "loss", "metrics"} == drawn.keys()
    for key in ("rmse", "traffic", "loss", "metrics"):
        lines = [t for t in drawn[key].traces if t["name"] == "ifca" and t.get("fill") is None]
        assert {(t["line"]["color"], t["line"]["dash"]) for t in lines} == {("@g1", "dash")}
    [dots] = [t for t in drawn["seeds"].traces if t.get("name") == "ifca"]
    assert dots["marker"]["color"] == "@g1"


def test_bands_of_shares_and_of_agreement_stay_inside_what_is_possible() -> None:
    """Two seeds, 1.0 and 0.6: mean 0.8, standard deviation 0.28, so the band would end at 1.08."""
    both = Setting("ifca", [run("ifca", ari=1.0, accuracy=1.0), run("ifca", ari=0.6, accuracy=0.6)])
    for draw, most in ((compared.agreement, 1.0), (compared.score, 100.0)):
        found = draw([both])
        assert isinstance(found, Figure)
        [band] = [t for t in found.traces if t.get("fill") == "toself"]
        assert max(band["y"]) == most
        assert min(band["y"]) > 0
    low = compared.agreement([Setting("ifca", [run("ifca", ari=-0.1), run("ifca", ari=0.02)])])
    assert isinstance(low, Figure)
    [band] = [t for t in low.traces if t.get("fill") == "toself"]
    assert min(band["y"]) == -0.04  # the mean itself, where that is below chance


def test_a_run_of_another_score_is_drawn_by_its_name_and_unit(tmp_path: Path) -> None:
    loaded = read_run(regression(tmp_path / "run", [0.9, 0.3, 0.5]))
    drawn = {f.key: f for part in of_run(loaded).values() for f in part}
    curve, clients, metrics, traffic = (drawn[key] for key in ("rmse", "clients", "metrics", "traffic"))
    assert isinstance(curve, Figure) and isinstance(clients, Figure)
    assert isinstance(metrics, Figure) and isinstance(traffic, Figure)
    assert curve.title == "RMSE" and curve.columns[2] == "RMSE"
    assert [row[2] for row in curve.rows if row[0] == "all clients"] == [0.9, 0.3, 0.5]
    assert [row[2] for row in curve.rows if row[0] == "group 0"] == [0.81, 0.27, 0.45]
    assert "Lower is better." in curve.caption
    assert [row[2] for row in clients.rows] == [0.55, 0.55, 0.45, 0.45]  # the worst first: the largest
    assert "c2 (0.55)" in clients.caption
    told = [(row[0], row[3]) for row in metrics.rows if row[1] == "all clients"]
    assert told == [("MAE", 0.45), ("MAE", 0.15), ("MAE", 0.25), ("odd", 2.7), ("odd", 0.9), ("odd", 1.5)]
    choice = metrics.layout["meta"]
    assert [option["label"] for option in choice["options"]] == ["MAE", "odd"]
    assert [t["visible"] for t in metrics.traces] == [True] * 3 + [False]  # of MAE two groups, too
    assert traffic.columns[3] == "RMSE" and "lower down and further left" in traffic.caption
    for key in ("f1", "labels"):
        missing = drawn[key]
        assert isinstance(missing, NoFigure) and missing.reason == "what is learnt are no classes"


def test_the_flow_between_groups_comes_first_of_the_groups(tmp_path: Path) -> None:
    loaded = read_run(synthetic(tmp_path / "run", clients=100, rounds=3))
    assert [f.key for f in of_run(loaded)["Groups"]][:2] == ["flow", "sizes"]
