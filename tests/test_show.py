"""How federations, histories and runs show themselves, in a line and in a notebook."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

import shoal
from shoal.loop.history import History
from shoal.scores import Score
from shoal.show import html_table


def cells(html: str) -> list[str]:
    return re.findall(r"<t[dh] [^>]*>(.*?)</t[dh]>", html)


def test_a_federation_shows_what_it_is_in_a_line() -> None:
    data = {name: (np.zeros((4, 2, 3)), [0, 1, 2, 1]) for name in ("ann", "bob")}
    fed = shoal.Federation.from_arrays(data, test=0.25, name="a <b>")
    assert repr(fed) == "<Federation a <b>: 2 clients, 6 training samples, 2 test samples, shape 2 x 3, 3 classes>"
    html = fed._repr_html_()
    assert "<strong>Federation a &lt;b&gt;</strong>" in html
    assert cells(html) == [
        *("clients", "2", "training samples", "6", "test samples", "2", "shape", "2 x 3", "classes", "3"),
    ]


def test_validation_and_planted_groups_are_named() -> None:
    plan = shoal.run("fedavg", "digits", val=0.2, rounds=0, engine="serial").plan
    assert re.search(
        r", \d+ validation samples, shape 1 x 8 x 8, 10 classes, 4 planted groups>$", repr(plan.federation)
    )


def test_a_history_shows_its_best_round_and_its_last() -> None:
    rows = [{"round": t, "rmse": v, "groups": 2} for t, v in enumerate([0.9, 0.2, 0.5, 0.4, 0.6, 0.7, 0.8])]
    history = History(rows, Score("rmse", "lower", percent=False))
    assert repr(history) == "<History: 7 records, best RMSE 0.2 in round 1>"
    assert cells(history._repr_html_())[:9] == ["round", "RMSE", "groups", "", "1", "0.2", "2", "best", "2"]
    assert cells(history._repr_html_())[4::4] == ["1", "2", "3", "4", "5", "6"]
    assert repr(History([{"round": 0}])) == "<History: 1 record, no round counts yet>"
    assert cells(History([{"round": 0}])._repr_html_())[4:] == ["0", "-", "-", ""]


def test_a_run_shows_what_came_of_it(tmp_path: Path) -> None:
    run = shoal.run("ifca", groups=2, rounds=9, stop="target:0.01", engine="serial", out=tmp_path / "a&b")
    best = f"{100 * run.summary['best_accuracy']:.1f} % in round 1"
    models = run.summary["groups"]
    assert repr(run) == f"<Run of ifca on digits: 20 clients, {models} models, 1 of 9 rounds, best accuracy {best}>"
    html = run._repr_html_()
    assert cells(html)[-4:-2] == ["stopped", run.summary["stopped"]]
    assert cells(html)[-1].endswith("a&amp;b")
    own = shoal.run(shoal.FedAvg(solver=shoal.SGD(lr=0.1)), rounds=0, engine="serial")
    assert repr(own) == "<Run of fedavg on digits: 20 clients, 1 model, 0 rounds, best accuracy ->"


def test_everything_in_a_table_is_escaped() -> None:
    html = html_table("<script>", [("<i>", "a & b")], ("<u>",))
    assert not re.search(r"<(script|i|u)>", html)
    assert "a &amp; b" in html


def test_federations_of_several_inputs_show_the_shape_of_each() -> None:
    x = {"scan": np.zeros((4, 8, 8)), "age": np.zeros(4)}
    assert "shape scan: 8x8, age: a single number" in repr(shoal.Federation.from_arrays({"ann": (x, [0, 1, 0, 1])}))
