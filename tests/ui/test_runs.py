"""The list of runs: what it says of them, what it notices, where it does not look."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.report.records import regression
from tests.ui.conftest import HOSTILE_RUN

from shoal.errors import RunFolderError
from shoal.store.folder import Folder
from shoal.store.sites_file import SiteSeen, SitesSeen, write_sites
from shoal.ui import runs as module
from shoal.ui.answers import document_of
from shoal.ui.runs import Runs


@pytest.fixture(autouse=True)
def breathless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BREATH", 0.0)


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    shutil.copytree(folder, tmp_path / "runs")
    return tmp_path / "runs"


def test_entries_say_what_the_records_say(folder: Path) -> None:
    entries = Runs(folder).look()
    assert set(entries) == {HOSTILE_RUN, *(f"sweep/{a}-seed={s}" for a in ("fedavg", "ifca") for s in (0, 1))}
    for path, entry in entries.items():
        history, summary = Folder(folder / path).history(), Folder(folder / path).summary()
        assert summary is not None
        assert (entry.round, entry.best, entry.bytes) == (summary["rounds"], summary["best_accuracy"], summary["bytes"])
        assert (entry.score, entry.worst) == (history[-1]["accuracy"], history[-1]["worst"])
        assert list(entry.curve) == [round(r["accuracy"], 4) for r in history if "accuracy" in r]
        assert entry.state == "complete"


def test_a_single_run_is_a_folder_of_one(folder: Path) -> None:
    assert list(Runs(folder / "sweep" / "ifca-seed=0").look()) == ["."]


def test_only_what_changed_gets_a_new_version(copy: Path) -> None:
    runs = Runs(copy)
    before = runs.look()
    assert {p: e.version for p, e in runs.look().items()} == {p: e.version for p, e in before.items()}
    records = copy / "sweep" / "ifca-seed=0" / "records.jsonl"
    line = records.read_text().splitlines()[-1].replace('"round": 3', '"round": 4')
    with open(records, "a") as file:
        file.write(line[:40])
        file.flush()
        assert runs.look() == before  # half a line is none
        file.write(line[40:] + "\n")
    after = runs.look()
    changed = {p for p in after if after[p].version != before[p].version}
    assert changed == {"sweep/ifca-seed=0"}
    assert after["sweep/ifca-seed=0"].round == 4


def test_runs_that_appear_and_go_are_noticed(copy: Path) -> None:
    runs = Runs(copy)
    n = len(runs.look())
    shutil.copytree(copy / "sweep" / "ifca-seed=0", copy / "new")
    assert len(runs.look()) == n + 1
    shutil.rmtree(copy / "new")
    assert len(runs.look()) == n


def test_a_run_without_summary_is_running_and_later_silent(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (copy / "sweep" / "ifca-seed=0" / "summary.json").unlink()
    (copy / "sweep" / "ifca-seed=0" / "records.jsonl").touch()
    runs = Runs(copy)
    assert runs.look()["sweep/ifca-seed=0"].state == "running"
    monkeypatch.setattr(module, "state_of", lambda complete, silence, pace: "silent")
    assert runs.look()["sweep/ifca-seed=0"].state == "silent"


def test_a_folder_that_cannot_be_read_is_listed_with_the_reason(copy: Path) -> None:
    (copy / "sweep" / "ifca-seed=0" / "config.toml").write_text("format = 99\n")
    (copy / "broken").mkdir()
    (copy / "broken" / "config.toml").write_text("no toml")
    entries = Runs(copy).look()
    assert "has format 99" in entries["sweep/ifca-seed=0"].problem
    assert "cannot be read" in entries["broken"].problem
    assert entries["sweep/ifca-seed=1"].problem == ""


def test_files_that_no_run_wrote_do_no_harm(copy: Path) -> None:
    (copy / "sweep" / "ifca-seed=0" / "records.jsonl").write_text('{"round": 1, "accuracy": "high", "time": 3}\n')
    config = copy / "sweep" / "ifca-seed=1" / "config.toml"
    config.write_text(config.read_text().replace("seed = 1", 'seed = "one"'))
    runs = Runs(copy)
    for _ in range(2):
        entries = runs.look()
        assert "make no sense" in entries["sweep/ifca-seed=0"].problem
        assert "make no sense" in entries["sweep/ifca-seed=1"].problem
        assert entries["sweep/fedavg-seed=0"].problem == ""


def test_links_are_not_followed_and_nothing_else_can_be_asked_for(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "shown").mkdir()
    (tmp_path / "shown" / "link").symlink_to(folder / "sweep")
    runs = Runs(tmp_path / "shown")
    assert runs.look() == {}
    for path in ("link", "../ui", "..", "/etc", str(folder / "sweep"), ""):
        with pytest.raises(RunFolderError, match="no such run"):
            runs.folder(path)


def test_the_sites_of_a_federation_are_in_the_list_and_on_its_page(copy: Path) -> None:
    """A new look of the server is news, and a sign of life: a round of real sites may take long."""
    run = copy / "sweep" / "ifca-seed=0"
    (run / "summary.json").unlink()
    runs = Runs(copy)
    before = runs.look()["sweep/ifca-seed=0"]
    assert (before.sites, before.watched) == ("", 0.0)
    runs._known["sweep/ifca-seed=0"].heard -= 10**6
    assert runs.look()["sweep/ifca-seed=0"].state == "silent"
    sites = (SiteSeen("7", "north", 1, ("ann",)), SiteSeen("8", "south", 1, ("bob",), "offline"))
    write_sites(run, SitesSeen(100.0, 2, sites))
    after = runs.look()["sweep/ifca-seed=0"]
    assert (after.sites, after.state, after.version > before.version) == ("1 of 2", "running", True)
    write_sites(run, SitesSeen(110.0, 2, sites))
    assert runs.look()["sweep/ifca-seed=0"].version > after.version
    assert runs.look()["sweep/ifca-seed=1"].sites == ""
    first = document_of([run], copy)["sections"][0]
    assert first["title"] == "Sites" and [row[0] for row in first["sheets"][0]["rows"]] == ["north", "south"]


def test_runs_of_a_sweep_name_it(folder: Path) -> None:
    entries = Runs(folder).look()
    assert {path: e.sweep for path, e in entries.items()} == {p: "sweep" if "/" in p else "" for p in entries}
    assert {e.sweep for e in Runs(folder / "sweep").look().values()} == {""}  # what is shown is the sweep itself


def test_another_score_is_told_with_its_name_and_direction(tmp_path: Path) -> None:
    regression(tmp_path / "run", [0.9, 0.3, 0.5])
    entry = Runs(tmp_path).look()["run"]
    assert (entry.metric, entry.percent, entry.better) == ("RMSE", False, "lower")
    assert (entry.score, entry.best, entry.worst, entry.curve) == (0.5, 0.3, 0.55, (0.9, 0.3, 0.5))
