"""What Prometheus is told: text that a strict reader takes, with the numbers of the records."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.ui.conftest import HOSTILE_RUN, Client

from shoal.store.folder import Folder
from shoal.store.sites_file import SiteSeen, SitesSeen, write_sites
from shoal.ui import runs as module
from shoal.ui.metrics import METRICS, Sample, exposition, samples_of
from shoal.ui.runs import Runs

DOCS = Path(__file__).parents[2] / "docs" / "monitoring"
NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
NUMBER = r"[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?"

Labels = tuple[tuple[str, str], ...]


@pytest.fixture(autouse=True)
def breathless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BREATH", 0.0)


def labels_of(text: str) -> Labels:
    """The labels between braces, letter by letter; an error for whatever the format does not allow."""
    found, at = [], 0
    while at < len(text):
        name = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="').match(text, at)
        assert name, text[at:]
        at, value = name.end(), ""
        while text[at] != '"':
            if text[at] == "\\":
                value += {"\\": "\\", '"': '"', "n": "\n"}[text[at + 1]]
                at += 2
            else:
                assert text[at] != "\n"
                value += text[at]
                at += 1
        found.append((name[1], value))
        at += 1
        assert at == len(text) or text[at] == ","
        at += at < len(text)
    assert len({name for name, _ in found}) == len(found)
    return tuple(found)


def read(text: str) -> dict[str, dict[Labels, float]]:
    """Metrics by name and labels, by the rules of the text format 0.0.4 alone: HELP, TYPE, then all samples."""
    assert text == "" or text.endswith("\n")
    found: dict[str, dict[Labels, float]] = {}
    kinds: dict[str, str] = {}
    helped, current = set(), ""
    for line in text.split("\n")[:-1]:
        if line.startswith("# HELP "):
            said = re.fullmatch(rf"# HELP ({NAME}) ([^\n]+)", line)
            assert said and said[1] not in helped
            assert re.sub(r"\\[\\n]", "", said[2]).count("\\") == 0
            helped.add(said[1])
            current = said[1]
        elif line.startswith("# TYPE "):
            said = re.fullmatch(rf"# TYPE ({NAME}) (gauge|counter)", line)
            assert said and said[1] == current and said[1] not in kinds
            kinds[said[1]] = said[2]
            found[said[1]] = {}
        else:
            said = re.fullmatch(rf"({NAME})\{{(.*)\}} ({NUMBER})", line)
            assert said, line
            assert said[1] == current and said[1] in kinds  # all of a name stand together, after its kind
            labels = labels_of(said[2])
            assert labels not in found[said[1]]
            found[said[1]][labels] = float(said[3])
    assert set(found) == helped
    assert all(name.endswith("_total") == (kind == "counter") for name, kind in kinds.items())
    assert all(value >= 0 for name, kind in kinds.items() if kind == "counter" for value in found[name].values())
    return found


def of(found: Mapping[str, Mapping[Labels, float]], metric: str, **labels: str) -> float:
    (value,) = [v for known, v in found[metric].items() if set(labels.items()) <= set(known)]
    return value


def test_the_reader_of_this_test_is_strict() -> None:
    good = '# HELP a b\n# TYPE a gauge\na{x="y"} 1\n'
    assert read(good) == {"a": {(("x", "y"),): 1.0}}
    for bad in (
        'a{x="y"} 1\n',
        good[:-1],
        good.replace('y"', 'y"z"'),
        good + 'a{x="y"} 2\n',
        good.replace("1", "None"),
    ):
        with pytest.raises((AssertionError, KeyError)):
            read(bad)


def test_every_run_of_a_folder_is_told_with_the_numbers_of_its_records(folder: Path) -> None:
    pytest.importorskip("starlette", reason="needs starlette: pip install 'shoal[ui]'")
    from shoal.ui.app import make_app

    answer = Client(make_app(folder, "127.0.0.1", None)).get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    found = read(answer.text)
    paths = [HOSTILE_RUN, *(f"sweep/{a}-seed={s}" for a in ("fedavg", "ifca") for s in (0, 1))]
    assert sorted(dict(labels)["run"] for labels in found["shoal_run_info"]) == sorted(paths)
    for path in paths:
        summary, history = Folder(folder / path).summary(), Folder(folder / path).history()
        assert summary is not None
        assert (
            of(found, "shoal_rounds_total", run=path) == of(found, "shoal_rounds_planned", run=path) == len(history) - 1
        )
        assert of(found, "shoal_accuracy", run=path) == history[-1]["accuracy"]
        assert of(found, "shoal_worst_tenth_accuracy", run=path) == history[-1]["worst"]
        assert of(found, "shoal_answers_total", run=path) == sum(row.get("trained", 0) for row in history)
        assert of(found, "shoal_rounds_seconds_total", run=path) == pytest.approx(summary["seconds"])
        assert of(found, "shoal_groups", run=path) == history[-1]["groups"]
        assert of(found, "shoal_run_state", run=path, state="complete") == 1
        assert of(found, "shoal_run_state", run=path, state="running") == 0
        sent = [v for labels, v in found["shoal_bytes_total"].items() if dict(labels)["run"] == path]
        told = [c[f"bytes_{way}"] for row in history for c in row["traffic"].values() for way in ("down", "up")]
        assert sum(sent) == sum(told)
        sizes = [v for labels, v in found.get("shoal_group_clients", {}).items() if dict(labels)["run"] == path]
        assert sizes == history[-1].get("group_size", [])
    assert "shoal_sites" not in found  # nobody of them is a federation


def test_sums_by_hand() -> None:
    """Two rounds: 3 + 4 trainings, 1 left out, 2.5 + 1.5 seconds, 10 + 20 bytes down and 5 up; tested in the first."""
    rows: list[dict[str, Any]] = [
        {"round": 1, "trained": 3, "left_out": 1, "accuracy": 0.5, "time": {"round": 2.5}, "group_size": [2, 1]},
        {"round": 2, "trained": 4, "left_out": 0, "time": {"round": 1.5}, "group_size": [1, 2]},
    ]
    rows[0]["traffic"] = {"train": {"bytes_down": 10, "bytes_up": 5}}
    rows[1]["traffic"] = {"train": {"bytes_down": 20, "bytes_up": 0}}
    found = read(exposition(samples_of("first", {"rounds": 9, "engine": "flower"}, "running", rows, None)))
    plain = {name: value for name, values in found.items() for labels, value in values.items() if len(labels) == 1}
    assert plain == {
        "shoal_rounds_planned": 9,
        "shoal_rounds_total": 2,
        "shoal_round_seconds": 1.5,
        "shoal_rounds_seconds_total": 4,
        "shoal_answers_total": 7,
        "shoal_left_out_total": 1,
        "shoal_accuracy": 0.5,
    }
    assert of(found, "shoal_bytes_total", task="train", direction="down") == 30
    assert of(found, "shoal_bytes_total", task="train", direction="up") == 5
    assert of(found, "shoal_group_clients", group="1") == 2
    assert of(found, "shoal_run_info", engine="flower") == 1


NASTY = 'a "b" \\ c\nd {e="f"} # HELP \r\ud800'


def test_names_are_escaped(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder / "sweep" / "ifca-seed=0", tmp_path / "one run")
    sites = (
        SiteSeen("7", NASTY, 2, ("ann", "bob"), "online", 1.0, 90.5, answered=3),
        SiteSeen("8", "", 1, ("eve",), "offline", 1.0, 60.0, answered=1, late=2, left_out=2, reason="late"),
        SiteSeen("9", state="not admitted", reason="why"),
    )
    write_sites(copy, SitesSeen(100.0, 3, sites))
    found = read(exposition(Runs(copy).samples()))
    assert of(found, "shoal_sites", run="one run", state="online") == 1
    assert of(found, "shoal_sites", run="one run", state="not admitted") == 1
    nasty = NASTY.replace("\ud800", "?")
    assert of(found, "shoal_site_online", site=nasty, node="7") == 1
    assert of(found, "shoal_site_last_seen_timestamp_seconds", site=nasty) == 90.5
    assert of(found, "shoal_site_online", site="8") == 0
    assert {dict(labels)["node"] for labels in found["shoal_site_online"]} == {"7", "8"}  # nobody waits for a stranger
    assert of(found, "shoal_site_rounds_late_total", site="8") == 2
    assert of(found, "shoal_site_rounds_answered_total", node="8") == 1
    assert of(found, "shoal_sites_seen_timestamp_seconds", run="one run") == 100


def test_a_run_that_makes_no_sense_is_left_out_and_others_are_told(folder: Path, tmp_path: Path) -> None:
    root = shutil.copytree(folder / "sweep", tmp_path / "runs")
    (root / "ifca-seed=0" / "records.jsonl").write_text('{"round": 1, "traffic": 3}\n')
    (root / "ifca-seed=1" / "config.toml").write_text("= nonsense")
    found = read(exposition(Runs(root).samples()))
    assert {dict(labels)["run"] for labels in found["shoal_run_info"]} == {"fedavg-seed=0", "fedavg-seed=1"}
    assert read(exposition(Runs(tmp_path / "none").samples())) == {}


def expressions() -> Iterator[str]:
    """What the dashboard and the alerts ask for."""
    board = json.loads((DOCS / "grafana.json").read_text())
    for panel in board["panels"]:
        yield from (target["expr"] for target in panel["targets"])
    yield from (variable["definition"] for variable in board["templating"]["list"] if "definition" in variable)
    yield from re.findall(r"expr: (.*)", (DOCS / "alerts.yml").read_text())


def test_the_dashboard_asks_for_nothing_but_what_there_is() -> None:
    asked = {name for text in expressions() for name in re.findall(r"\bshoal_\w+", text)}
    assert asked <= set(METRICS)
    assert set(METRICS) - asked <= {"shoal_site_clients"}  # and for nearly all of it
    words = {word for text in expressions() for word in re.findall(r'(\w+)(?:=~|=)"', text)}
    assert words <= {"run", "state"}


def test_another_score_has_its_metric_as_a_label() -> None:
    config = {"rounds": 1, "score": "rmse", "score_better": "lower", "score_percent": False}
    found = {s.metric: s for s in samples_of("a", config, "running", [{"round": 1, "rmse": 12.5, "worst": 20.0}], None)}
    assert (found["shoal_score"].value, found["shoal_score"].labels) == (12.5, {"run": "a", "metric": "rmse"})
    assert found["shoal_worst_tenth_score"].value == 20.0
    assert not {"shoal_accuracy", "shoal_worst_tenth_accuracy"} & found.keys()


def test_every_metric_is_told_of_some_run() -> None:
    """What METRICS names is what samples have, so that the dashboard asks for what there is."""
    row = {"round": 1, "groups": 1, "accuracy": 1, "worst": 1, "test_loss": 1, "loss": 1, "group_size": [1]}
    row["traffic"] = {"train": {"bytes_up": 1}}
    told = samples_of("a", {"rounds": 1}, "running", [row], SitesSeen(0.0, 1, (SiteSeen("7"),)))
    assert {sample.metric for sample in told} == set(METRICS)
    assert exposition([Sample("shoal_groups", {"run": "a"}, 0.25)]).endswith('shoal_groups{run="a"} 0.25\n')
