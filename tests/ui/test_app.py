"""What the pages ask for: the same figures as in the records, one sentence when something is wrong."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="needs starlette: pip install 'shoal[ui]'")
pytest.importorskip("httpx", reason="needs httpx")

from tests.ui.conftest import HOSTILE, HOSTILE_RUN, Client

from shoal.experiment.compare import compare
from shoal.experiment.folder import Folder
from shoal.ui import app as module
from shoal.ui import runs as runs_module
from shoal.ui.app import Pages, make_app
from shoal.ui.runs import Runs

IFCA = "sweep/ifca-seed=0"


@pytest.fixture
def client(folder: Path) -> Client:
    return Client(make_app(folder, "127.0.0.1", None))


def figures(document: dict[str, Any]) -> dict[str, Any]:
    return {f["key"]: f["spec"] for section in document["sections"] for f in section["figures"]}


def sheets(document: dict[str, Any]) -> dict[str, Any]:
    return {s["title"]: s["rows"] for section in document["sections"] for s in section["sheets"]}


def test_a_run_shows_its_records(client: Client, folder: Path) -> None:
    found = client.get("/api/page", params={"path": IFCA}).json()
    history = Folder(folder / IFCA).history()
    best = max(r["accuracy"] for r in history[1:])
    assert {card["key"]: card["value"] for card in found["cards"]}["best_accuracy"] == f"{100 * best:.1f} %"
    rows = csv.DictReader(io.StringIO(figures(found)["accuracy"]["csv"]))
    shown = {int(r["round"]): float(r["accuracy (%)"]) for r in rows if r["series"] == "all clients"}
    assert shown == {r["round"]: round(100 * r["accuracy"], 2) for r in history[1:]}
    assert ["ifca.groups", "2"] in sheets(found)["Resolved settings"]


def test_a_comparison_shows_what_compare_says(client: Client, folder: Path) -> None:
    paths = [f"sweep/{a}-seed={s}" for a in ("fedavg", "ifca") for s in (0, 1)]
    found = client.get("/api/page", params={"path": paths, "target": "0.05"}).json()
    rows = {row[0]: row for row in sheets(found)["Side by side"]}
    for line in compare([folder / p for p in paths], 0.05):
        figure = line.figures["best_accuracy"]
        assert figure is not None
        assert rows[line.name][1:3] == ["2", f"{100 * figure.mean:.1f} ± {100 * (figure.std or 0):.1f}"]
    [difference] = sheets(found)["How sure are the differences?"]
    assert difference[6:] == ["2", "sign flips"]
    assert {"accuracy", "seeds"} <= set(figures(found))


def test_hostile_names_are_text_for_plotly_too(client: Client) -> None:
    found = client.get("/api/page", params={"path": HOSTILE_RUN}).json()
    specs = json.dumps([{k: v for k, v in f.items() if k != "csv"} for f in figures(found).values()])
    assert "<script" not in specs
    assert "<img" not in specs
    tables = [row for f in figures(found).values() for row in csv.reader(io.StringIO(f["csv"]))]
    assert set(HOSTILE) <= {cell for row in tables for cell in row}  # the page shows tables as text


@pytest.mark.parametrize(
    "path", ["", "..", "../..", "/etc", "sweep", "sweep/../sweep/ifca-seed=0", "sweep/ifca-seed=0/"]
)
def test_only_runs_of_the_list_can_be_asked_for(client: Client, path: str) -> None:
    answer = client.get("/api/page", params={"path": path})
    assert answer.status_code == 404
    assert answer.json() == {"error": "there is no such run in this folder"}


@pytest.mark.parametrize("name", ["../app.py", "..%2fapp.py", "%2e%2e/guard.py", "index.html", "/etc/passwd"])
def test_only_known_files_are_served(client: Client, name: str) -> None:
    assert client.get(f"/static/{name}").status_code == 404


def test_plotly_comes_from_its_package(client: Client) -> None:
    answer = client.get("/static/plotly.js")
    assert answer.headers["content-type"].startswith("text/javascript")
    assert len(answer.content) > 1e6


def test_too_many_runs(client: Client) -> None:
    answer = client.get("/api/page", params={"path": [str(i) for i in range(module.MOST + 1)]})
    assert "at most 200 runs" in answer.json()["error"]


@pytest.mark.parametrize("target", ["2", "x", "-1"])
def test_a_target_that_makes_no_sense(client: Client, target: str) -> None:
    answer = client.get("/api/page", params={"path": [IFCA, "sweep/ifca-seed=1"], "target": target})
    assert "a target is an accuracy between 0 and 1" in answer.json()["error"]


def test_a_run_that_has_just_begun(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / IFCA, tmp_path / "young")
    (tmp_path / "young" / "records.jsonl").write_text("")
    client = Client(make_app(tmp_path, "127.0.0.1", None))
    assert client.get("/api/runs").json()["runs"][0]["round"] == -1
    assert client.get("/api/page", params={"path": "young"}).json() == {}


def test_files_that_make_no_sense_are_a_sentence(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / IFCA, tmp_path / "odd")
    (tmp_path / "odd" / "records.jsonl").write_text('{"round": 1, "accuracy": "high", "time": 3}\n')
    client = Client(make_app(tmp_path, "127.0.0.1", None))
    answer = client.get("/api/page", params={"path": "odd"})
    assert answer.status_code == 404
    assert "make no sense" in answer.json()["error"]


class Asking:
    """A page that listens until it has heard enough."""

    left = False

    async def is_disconnected(self) -> bool:
        return self.left


def test_the_stream_tells_everything_once_and_then_what_is_new(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PAUSE", 0.0)
    monkeypatch.setattr(runs_module, "BREATH", 0.0)
    for name in ("a", "b"):
        shutil.copytree(folder / IFCA, tmp_path / name)
    page = Asking()
    stream = Pages(Runs(tmp_path), lambda: False)._stream(page)  # type: ignore[arg-type]

    async def listen() -> list[dict[str, Any]]:
        heard = [await anext(stream)]
        records = tmp_path / "b" / "records.jsonl"
        records.write_text(
            records.read_text() + records.read_text().splitlines()[-1].replace('"round": 3', '"round": 4') + "\n"
        )
        heard.append(await news())
        shutil.rmtree(tmp_path / "a")
        heard.append(await news())
        page.left = True
        with pytest.raises(StopAsyncIteration):
            await anext(stream)
        return [json.loads(text.removeprefix("data: ")) for text in heard]

    async def news() -> str:
        while (text := await anext(stream)).startswith(":"):
            pass
        return text

    first, second, third = asyncio.run(listen())
    assert [e["path"] for e in first["changed"]] == ["a", "b"]
    assert [(e["path"], e["round"]) for e in second["changed"]] == [("b", 4)]
    assert (third["changed"], third["gone"]) == ([], ["a"])


def test_the_stream_ends_when_the_server_does(folder: Path) -> None:
    stream = Pages(Runs(folder), lambda: True)._stream(Asking())  # type: ignore[arg-type]

    async def first() -> list[str]:
        return [text async for text in stream]

    assert asyncio.run(first()) == []
