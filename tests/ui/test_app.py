"""What the pages ask for: the same figures as in the records, one sentence when something is wrong."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import os
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="needs starlette: pip install 'shoal[ui]'")
pytest.importorskip("httpx", reason="needs httpx")

from starlette.requests import Request
from tests.ui.conftest import HOSTILE, HOSTILE_RUN, Client

import shoal
from shoal.analysis.compare import compare
from shoal.store.folder import Folder
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


OUTSIDE = (
    "../app.py",
    "..%2fapp.py",
    "%2e%2e/access.py",
    "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "%252e%252e%252fapp.py",
    "..%5capp.py",
    "%c0%ae%c0%ae/app.py",
    "app.js%00.css",
    "index.html",
    "/etc/passwd",
)


@pytest.mark.parametrize("name", OUTSIDE)
def test_only_known_files_are_served(client: Client, name: str) -> None:
    assert client.get(f"/static/{name}").status_code == 404


@pytest.mark.parametrize("name", [*OUTSIDE, "sweep%2f..%2fsweep%2fifca-seed=0", "sweep%252fifca-seed=0", "."])
def test_a_run_cannot_be_named_by_a_way_around(client: Client, name: str) -> None:
    answer = client.get(f"/api/page?path={name}")
    assert (answer.status_code, answer.json()) == (404, {"error": "there is no such run in this folder"})


SECRET = "nobody's business"


@pytest.mark.parametrize("name", ["records.jsonl", "events.jsonl", "environment.json", "summary.json", "config.toml"])
def test_a_link_in_a_run_folder_is_not_followed(folder: Path, tmp_path: Path, name: str) -> None:
    """What it leads to may lie anywhere: the run is listed with the reason, and nothing of the target is shown."""
    shown, elsewhere = tmp_path / "shown", tmp_path / "elsewhere"
    shutil.copytree(folder / IFCA, shown / "run")
    text = (shown / "run" / name).read_text()
    elsewhere.write_text(text.replace("digits", SECRET).replace('"shoal": "', f'"shoal": "{SECRET}'))
    (shown / "run" / name).unlink()
    (shown / "run" / name).symlink_to(elsewhere)
    client = Client(make_app(shown, "127.0.0.1", None))
    [entry] = client.get("/api/runs").json()["runs"]
    assert entry["problem"] == f"{name} in this folder is a link, or no file; such folders are not read"
    answer = client.get("/api/page", params={"path": "run"})
    assert (answer.status_code, answer.json()["error"]) == (404, entry["problem"])
    assert SECRET not in client.get("/api/runs").text + answer.text
    assert entry["round"] == -1


def test_a_pipe_in_a_run_folder_holds_nobody_up(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / IFCA, tmp_path / "run")
    (tmp_path / "run" / "records.jsonl").unlink()
    os.mkfifo(tmp_path / "run" / "records.jsonl")
    client = Client(make_app(tmp_path, "127.0.0.1", None))
    assert "no file" in client.get("/api/runs").json()["runs"][0]["problem"]
    assert client.get("/api/page", params={"path": "run"}).status_code == 404


def test_what_lies_outside_is_not_shown_beside_a_run(folder: Path, tmp_path: Path) -> None:
    """Fedavg lies beside ifca: shown from the sweep, not where ifca alone is served, and not through a link."""
    sweep = folder / "sweep"

    def shown(root: Path, path: str) -> str:
        found: str = Client(make_app(root, "127.0.0.1", None)).get("/api/page", params={"path": path}).json()["verdict"]
        return found

    assert "FedAvg" in shown(sweep, "ifca-seed=0")
    assert "FedAvg" not in shown(sweep / "ifca-seed=0", ".")
    shutil.copytree(folder / IFCA, tmp_path / "ifca")
    (tmp_path / "fedavg").symlink_to(sweep / "fedavg-seed=0")
    assert "FedAvg" not in shown(tmp_path, "ifca")


def test_the_runs_of_a_stranger_s_sweep_file_are_not_read(folder: Path, tmp_path: Path) -> None:
    """A sweep.json inside a run folder lists what lies elsewhere, behind a link: the page is about the run alone."""
    shutil.copytree(folder / IFCA, tmp_path / "shown" / "run")
    (tmp_path / "shown" / "run" / "inner").mkdir()
    (tmp_path / "shown" / "run" / "inner" / "config.toml").symlink_to(folder / "sweep/fedavg-seed=0/config.toml")
    plan = [{"name": "inner", "algorithm": "fedavg", "pairs": {}}]
    (tmp_path / "shown" / "run" / "sweep.json").write_text(json.dumps(plan))
    client = Client(make_app(tmp_path / "shown", "127.0.0.1", None))
    found = client.get("/api/page", params={"path": "run"}).json()
    assert found["title"] == "ifca on digits"


def test_plotly_comes_from_its_package(client: Client) -> None:
    answer = client.get("/static/plotly.js")
    assert answer.headers["content-type"].startswith("text/javascript")
    assert len(answer.content) > 1e6


def test_too_many_runs(client: Client) -> None:
    answer = client.get("/api/page", params={"path": [str(i) for i in range(module.MAX_RUNS + 1)]})
    assert "at most 200 runs" in answer.json()["error"]


@pytest.mark.parametrize(("target", "told"), [("2", "is an accuracy"), ("x", "is a number"), ("-1", "is an accuracy")])
def test_a_target_that_makes_no_sense(client: Client, target: str, told: str) -> None:
    answer = client.get("/api/page", params={"path": [IFCA, "sweep/ifca-seed=1"], "target": target})
    assert f"a target {told}" in answer.json()["error"]


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


def test_one_record_that_is_no_number_does_not_take_the_list_away(folder: Path, tmp_path: Path) -> None:
    """NaN and Infinity are not JSON for a browser; texts and lists are no accuracies."""
    odd = {
        "nan": '{"round": 4, "accuracy": NaN, "worst": Infinity, "ari": NaN, "traffic": {}, "time": {"round": 1}}',
        "huge": '{"round": 4, "accuracy": 0.5, "f1": 1, "worst": 1e999, "traffic": {}, "time": {"round": 1}}',
        "text": '{"round": 4, "groups": "many", "ari": "high", "traffic": {}, "time": {"round": 1}}',
        "deep": '{"round": 4, "accuracy": ' + "[" * 100_000 + "]" * 100_000 + "}",
    }
    for name in ("good", *odd):
        shutil.copytree(folder / IFCA, tmp_path / name)
        with open(tmp_path / name / "records.jsonl", "a") as file:
            file.write(odd.get(name, "") + "\n")
    config = tmp_path / "deep" / "config.toml"
    config.write_text(config.read_text().replace("rounds = 3", "rounds = inf"))
    answer = Client(make_app(tmp_path, "127.0.0.1", None)).get("/api/runs")
    assert answer.status_code == 200
    found = {e["path"]: e for e in json.loads(answer.text, parse_constant=lambda name: pytest.fail(name))["runs"]}
    assert set(found) == {"good", *odd}
    assert (found["good"]["problem"], found["nan"]["problem"]) == ("", "")
    assert (found["nan"]["round"], found["nan"]["score"]) == (
        4,
        found["good"]["score"],
    )  # as if it were not there
    assert found["nan"]["ari"] is None and found["huge"]["worst"] is None
    assert found["text"]["groups"] is None and found["text"]["ari"] is None
    assert "make no sense" in found["deep"]["problem"]


def test_the_list_says_whom_an_accuracy_is_about(tmp_path: Path) -> None:
    """Two of 20 clients come in each round: all rounds are partial, and the best is shown with its coverage."""
    keys: dict[str, Any] = {"clients_per_round": 2, "selection": "random", "rounds": 2, "engine": "serial"}
    run = shoal.run("local", "digits", out=tmp_path / "some", **keys)
    [entry] = Client(make_app(tmp_path, "127.0.0.1", None)).get("/api/runs").json()["runs"]
    best = max(run.history.partial(), key=lambda r: float(r["accuracy"]))
    assert (entry["best"], entry["best_whom"]) == (best["accuracy"], f"{best['tested']} of 20 clients")
    assert entry["whom"] == f"{run.history[-1]['tested']} of 20 clients"


def test_started_is_when_the_run_began_not_when_a_file_was_written(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / IFCA, tmp_path / "run")
    os.utime(tmp_path / "run" / "config.toml", (1e9, 1e9))
    environment = tmp_path / "run" / "environment.json"
    wrote = json.loads(environment.read_text())["started"]

    def started() -> Any:
        return Client(make_app(tmp_path, "127.0.0.1", None)).get("/api/runs").json()["runs"][0]["started"]

    assert started() == datetime.fromisoformat(wrote).timestamp()
    for text in ("{}", "[]", "no json", '{"started": 3}', '{"started": "yesterday"}'):
        environment.write_text(text)
        assert started() is None
    environment.unlink()
    assert started() is None


def test_only_so_many_pages_may_listen(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who comes when all places are taken is told to come again; a page that leaves makes room."""
    monkeypatch.setattr(module, "MAX_STREAMS", 2)
    monkeypatch.setattr(module, "PAUSE", 0.0)
    pages = Pages(Runs(folder), lambda: False)
    scope = {"type": "http", "method": "GET", "path": "/api/events", "headers": [], "query_string": b""}
    open_pages: list[asyncio.Task[None]] = []

    async def listen(leave: asyncio.Event) -> int:
        async def receive() -> dict[str, str]:
            await leave.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                status.set_result(message["status"])

        status: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        response = await pages.events(Request(scope, receive))
        open_pages.append(asyncio.create_task(response(scope, receive, send)))
        return await status

    async def several() -> list[int]:
        leave, stay = asyncio.Event(), asyncio.Event()
        found = [await listen(leave), await listen(stay), await listen(stay)]
        leave.set()
        await open_pages[0]
        found.append(await listen(stay))
        stay.set()
        await asyncio.gather(*open_pages)
        return found

    assert asyncio.run(several()) == [200, 200, 503, 200]
    assert pages._listening == 0
