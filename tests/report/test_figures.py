"""Figures say what the records say, name their axes, and take names for text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.report.records import HOSTILE

import shoal
from shoal.loop.history import History, summarise
from shoal.loop.similarity import unpack
from shoal.report import headline
from shoal.report.figure import Figure, NoFigure
from shoal.report.figures import COMPARISON, RUN, compared, curves, of_run
from shoal.report.figures.diagnostics import silhouette
from shoal.report.figures.groups import flow, labels
from shoal.report.figures.similarity import neighbours, plane
from shoal.report.loaded_run import LoadedRun, read_run, read_runs
from shoal.report.story import run_story
from shoal.store.folder import Folder

NAMES = ("fedavg", "flexcfl", "cfl", "wecfl", "given")


def figures(path: Path) -> dict[str, Figure]:
    return {f.key: f for drawn in of_run(read_run(path)).values() for f in drawn if isinstance(f, Figure)}


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from strings(inner)
    elif isinstance(value, str):
        yield value


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_is_whole(runs: dict[str, Path], name: str) -> None:
    for figure in figures(runs[name]).values():
        assert figure.rows and figure.traces and figure.caption and figure.title
        assert all(len(row) == len(figure.columns) for row in figure.rows)
        json.dumps(figure.spec, allow_nan=False)
        if figure.key != "flow":  # the only one without axes
            for axis in ("xaxis", "yaxis"):
                assert figure.layout[axis]["title"]["text"]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_missing_says_why(runs: dict[str, Path], name: str) -> None:
    drawn = [d for part in of_run(read_run(runs[name])).values() for d in part]
    assert len(drawn) == sum(len(part) for part in RUN.values())
    assert all(d.reason or d.key == "metrics" for d in drawn if isinstance(d, NoFigure))  # nobody asked for others


@pytest.mark.parametrize("name", NAMES)
def test_no_name_is_taken_for_a_tag(runs: dict[str, Path], name: str) -> None:
    ours = ("<br>", "<extra></extra>")
    seen = set()
    for figure in figures(runs[name]).values():
        for text in strings(figure.spec):
            for mark in ours:
                text = text.replace(mark, "")
            assert "<" not in text
            seen.add(text)
        assert any(HOSTILE[0] in str(cell) for row in figures(runs[name])["clients"].rows for cell in row)
    assert any("&lt;script&gt;alert(1)" in text for text in seen)


def test_curves_are_the_records(runs: dict[str, Path]) -> None:
    history = Folder(runs["wecfl"]).history()
    drawn = figures(runs["wecfl"])
    curve = next(t for t in drawn["accuracy"].traces if t["name"] == "all clients")
    assert curve["x"] == [r["round"] for r in history[1:]]
    assert curve["y"] == [round(100 * r["accuracy"], 2) for r in history[1:]]
    first = next(t for t in drawn["accuracy"].traces if t["name"] == "group 0")
    assert first["y"] == [round(100 * r["group_accuracy"][0], 2) for r in history[1:]]
    size = drawn["sizes"].traces[1]
    assert size["y"] == [r["group_size"][1] if r["group_size"][1:] else 0 for r in history]
    sent = drawn["traffic"].traces[-1]["x"][-1]
    assert sent == round(history.bytes() / 1e6, 4)


def test_the_baseline_next_door_is_beside_it(runs: dict[str, Path]) -> None:
    told = read_run(runs["wecfl"])
    assert [b.algorithm for b in told.beside] == ["fedavg"]
    assert any(t["name"] == "fedavg" for t in figures(runs["wecfl"])["accuracy"].traces)
    assert not read_run(runs["flexcfl"]).beside  # its data drift


def test_the_tree_has_every_split(runs: dict[str, Path]) -> None:
    tree = figures(runs["cfl"])["splits"]
    told = read_run(runs["cfl"])
    splits = [e for e in told.events if e["kind"] == "split"]
    assert [row[0] for row in tree.rows] == [e["round"] for e in splits] == [1, 2, 3]
    dots = next(t for t in tree.traces if t["name"] == "split")
    assert sorted(dots["x"]) == [1, 2, 3]
    assert len(tree.layout["yaxis"]["ticktext"]) == 4
    sizes = told.history[-1]["group_size"]
    assert {f"group {k} ({n})" for k, n in enumerate(sizes)} == set(tree.layout["yaxis"]["ticktext"])


def test_every_verdict_is_told_and_norms_are_in_the_units_of_the_thresholds(tmp_path: Path) -> None:
    shoal.run("cfl", "digits", rounds=3, lr=0.1, engine="serial", eval_every=3, out=tmp_path / "auto")
    shoal.run(
        "cfl", "digits", rounds=3, lr=0.1, eps1=0.1, eps2=0.3, engine="serial", eval_every=3, out=tmp_path / "given"
    )
    drawn, given = figures(tmp_path / "auto"), figures(tmp_path / "given")
    told = [
        (t, c)
        for t, r in enumerate(read_run(tmp_path / "auto").history)
        if t
        for c in r["measures"]["clusters"].values()
    ]
    assert [(row[0], row[-2], row[-1]) for row in drawn["verdicts"].rows] == [
        (t, c["verdict"], c["reason"]) for t, c in told
    ]
    assert next(row[3] for row in drawn["norms"].rows if row[1] == "mean") == round(told[0][1]["mean_relative"], 4)
    limits = {t["name"]: t["y"][0] for t in drawn["norms"].traces if t["name"].startswith("eps")}
    assert limits == {"eps1 = 0.5": 0.5, "eps2 = 0.25": 0.25}
    assert {t["name"] for t in given["norms"].traces} >= {"eps1 = 0.1", "eps2 = 0.3"}


def test_the_flow_loses_nobody(runs: dict[str, Path]) -> None:
    told = read_run(runs["cfl"])
    drawn = flow(told)
    assert isinstance(drawn, Figure)
    by_stage: dict[Any, int] = {}
    for begin, _, _, _, n in drawn.rows:
        by_stage[begin] = by_stage.get(begin, 0) + int(n or 0)
    assert set(by_stage.values()) == {12}
    assert [0, 1, "group 0", "group 1"] in [list(row[:4]) for row in drawn.rows]


def test_the_heat_map_is_the_recorded_similarity(runs: dict[str, Path]) -> None:
    told = read_run(runs["cfl"])
    t, picture = told.pictures[0]
    assert (t, picture["measure"]) == (1, "cosine")
    matrix = unpack(picture["pairs"], 12, 1.0)
    drawn = figures(runs["cfl"])["similarity"]
    order = [row[0] for row in drawn.rows]
    place = [picture["ids"].index(name) for name in order]
    group = [picture["group"][i] for i in place]
    assert group == sorted(group)
    assert drawn.rows[2][5] == pytest.approx(matrix[place[2], place[4]])


def test_neighbours_stay_together(runs: dict[str, Path]) -> None:
    told = read_run(runs["flexcfl"])
    drawn = plane(told, neighbours)
    assert isinstance(drawn, Figure)
    assert drawn.layout["xaxis"]["title"]["text"].startswith("t-SNE")
    again = plane(told, neighbours)
    assert isinstance(again, Figure)
    assert drawn.rows == again.rows  # a fixed start


def test_groups_are_called_by_their_tags(runs: dict[str, Path]) -> None:
    drawn = figures(runs["given"])["sizes"]
    assert {row[0] for row in drawn.rows} == {HOSTILE[0], HOSTILE[1]}


def test_bands_hold_mean_and_spread(runs: dict[str, Path]) -> None:
    told = read_runs([runs["wecfl"], runs["fedavg"]])
    both = compared.score([compared.Setting("both", told)])
    assert isinstance(both, Figure)
    last = [100 * t.history[-1]["accuracy"] for t in told]
    assert both.rows[-1][2] == pytest.approx(sum(last) / 2, abs=0.01)
    assert both.rows[-1][3] == pytest.approx(abs(last[0] - last[1]) / 2**0.5, abs=0.01)
    settings = [compared.Setting(t.algorithm, [t]) for t in told]
    drawn = [draw(settings) for draw in COMPARISON]
    assert [d.key for d in drawn if not isinstance(d, Figure)] == ["metrics"]  # nobody asked for others


ODD: tuple[Any, ...] = (
    3,
    "text",
    None,
    [],
    {},
    [None, "x"],
    {"a": 1},
    {"0": 1},
    {"0": {"mean_norm": "much"}},
    [[1]],
    True,
)
READ = (
    "clusters",
    "silhouette",
    "group_silhouette",
    "spread",
    "values",
    "F",
    "F_before",
    "B_max",
    "B_mean",
    "gradient_square",
    "eps_floor",
    "delta",
    "delta_max",
    "loss_bound",
)


@pytest.mark.parametrize("value", ODD, ids=str)
def test_measures_and_events_of_own_methods_may_be_anything(runs: dict[str, Path], value: Any) -> None:
    """Whatever stands there: a figure that needs another shape is left out, and the page is made."""
    for name in ("cfl", "wecfl", "given"):
        run = read_run(runs[name])
        history = History([{**row, "measures": dict.fromkeys(READ, value)} for row in run.history])
        split = {"round": 1, "kind": "split", "group": value, "into": value, "clients": value, "mean_norm": value}
        odd = replace(run, history=history, events=[split])
        for part in of_run(odd).values():
            for drawn in part:
                if isinstance(drawn, Figure):
                    json.dumps(drawn.spec, allow_nan=False)
        assert {d.key for d in of_run(odd)["Groups"] if isinstance(d, NoFigure)} >= {"splits", "norms"}


@pytest.mark.parametrize(("given", "words"), [("auto", "the highest was taken"), (4, "groups=4 was given, and taken")])
def test_the_number_of_groups_is_not_said_to_be_chosen_where_it_was_given(
    runs: dict[str, Path], given: object, words: str
) -> None:
    run = read_run(runs["wecfl"])
    rest = [{**r, "measures": {}} for r in run.history[1:]]
    history = History([{**run.history[0], "measures": {"silhouette": {"2": 0.5, "3": 0.75}}}, *rest])
    drawn = silhouette(replace(run, history=history, config={**run.config, "wecfl": {"groups": given}}))
    assert isinstance(drawn, Figure)
    assert words in drawn.caption
    assert drawn.rows == [[2, 0.5], [3, 0.75]]


@pytest.mark.parametrize(("clear", "words"), [(0.25, "whose clarity reaches 0.2 was taken"), (0.1, "one group")])
def test_groups_that_do_not_stand_out_are_said_to_be_none(runs: dict[str, Path], clear: float, words: str) -> None:
    run, seen = read_run(runs["wecfl"]), {"silhouette": {"2": 0.5, "3": 0.75}, "clarity": {"2": clear, "3": 0.0}}
    history = History([{**run.history[0], "measures": seen}, *run.history[1:]])
    drawn = silhouette(replace(run, history=history, config={**run.config, "wecfl": {"groups": "auto"}}))
    assert isinstance(drawn, Figure)
    assert words in drawn.caption
    assert drawn.rows == [[2, 0.5, clear], [3, 0.75, 0.0]]


def partly(run: LoadedRun, rounds: int) -> LoadedRun:
    """The run, as if four of its twelve clients had had no model in the first rounds."""
    some = {"partial": True, "tested": 8, "tested_of": 12}
    rows = [{**r, **some} if 1 <= r["round"] <= rounds else dict(r) for r in run.history]
    return replace(run, history=History(rows), summary=summarise(History(rows)))


def test_partial_rounds_are_pale_and_say_whom_they_are_about(runs: dict[str, Path]) -> None:
    """Rounds 1 and 2 of 4 are partial: the pale part reaches to round 3, where the whole curve begins."""
    drawn = curves.score(partly(read_run(runs["wecfl"]), 2))
    assert isinstance(drawn, Figure)
    whole, some = (t for t in drawn.traces if t["name"] == "all clients")
    shares = [round(100 * r["accuracy"], 2) for r in read_run(runs["wecfl"]).history[1:]]
    assert whole["y"] == [None, None, *shares[2:]]
    assert some["y"] == [*shares[:3], None]
    assert whole["line"] == some["line"] and "opacity" not in whole
    assert (some["opacity"], some["showlegend"]) == (0.4, False)
    assert some["text"] == ["8 of 12 clients", "8 of 12 clients", "all clients", "all clients"]
    assert "Pale" in drawn.caption
    told = {row[1]: row[3] for row in drawn.rows if row[0] == "all clients"}
    assert told == {1: "8 of 12 clients", 2: "8 of 12 clients", 3: None, 4: None}


def test_a_run_without_a_whole_round_shows_its_best_with_its_coverage(runs: dict[str, Path]) -> None:
    run = partly(read_run(runs["wecfl"]), 4)
    best = max(r["accuracy"] for r in run.history[1:])
    assert f"{100 * best:.1f} % of 8 of 12 clients, in round " in run_story(run)
    assert [c.note[:18] for c in headline.cards(run)[:2]] == ["of 8 of 12 clients"] * 2
    drawn = curves.score(run)
    assert isinstance(drawn, Figure)
    [curve] = (t for t in drawn.traces if t["name"] == "clients with a model")
    assert curve["opacity"] == 0.4 and "showlegend" not in curve
    both = [compared.Setting("some", [run]), compared.Setting("all", [read_run(runs["fedavg"])])]
    for draw in COMPARISON:
        found = draw(both)
        if not isinstance(found, Figure):
            assert found.key == "metrics"
        elif found.key in ("accuracy", "seeds", "traffic"):
            assert {row[-1] for row in found.rows if row[0] == "some"} == {"8 of 12 clients"}
            assert {row[-1] for row in found.rows if row[0] == "all"} == {None}


def test_classes_are_called_by_their_names(tmp_path: Path) -> None:
    """Where the data have names; a run of an earlier version, or with other names than classes, has numbers."""
    rows = {"client": list("aabb") * 10, "x": np.arange(40) % 7, "label": ["<i>cat</i>", "dog"] * 20}
    fed = shoal.Federation.from_table(rows, test=0.5)
    shoal.run("ifca", fed, groups=2, rounds=1, engine="serial", out=tmp_path / "r")
    found = labels(read_run(tmp_path / "r"))
    assert isinstance(found, Figure)
    assert {row[1] for row in found.rows} == {"<i>cat</i>", "dog"}
    assert found.layout["xaxis"]["ticktext"] == ["&lt;i&gt;cat&lt;/i&gt;", "dog"]
    (tmp_path / "r" / "data.json").unlink()
    bare = labels(read_run(tmp_path / "r"))
    assert isinstance(bare, Figure) and {row[1] for row in bare.rows} == {0, 1}
