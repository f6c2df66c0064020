"""Run folders that an earlier version wrote still open.

`old_sweep` was made by the commit before modules, classes and fields of checkpoints got the names they have now
(26bab89): `shoal run fedavg flexcfl data=digits rounds=3 lr=0.1 engine=serial kernel=torch compile=off groups=4
migration=aligned drift=swap-all:0.2 clients_per_round=8 out=old`. It is never made again.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.cli.conftest import Shoal, shoal
from tests.ui.conftest import Client

import shoal as package

__all__ = ["shoal"]  # the fixture

OLD = Path(__file__).parent / "old_sweep"
SETTINGS = {"rounds": 4, "lr": 0.1, "engine": "serial", "kernel": "torch", "drift": "swap-all:0.2"}


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return Path(shutil.copytree(OLD, tmp_path / "old"))


def records(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]


def test_compare_shows_the_figures_that_the_run_wrote(shoal: Shoal, old: Path) -> None:
    done = shoal("compare", old, "--format", "json")
    assert done.exit_code == 0, done.stderr
    lines = {line.name: line.figures["best_accuracy"] for line in package.compare(old)}
    for name in ("fedavg", "flexcfl"):
        best = json.loads((old / name / "summary.json").read_text())["best_accuracy"]
        figure = lines[name]
        assert (figure and figure.mean) == pytest.approx(best)


def test_report_makes_a_page_of_each_and_of_both(shoal: Shoal, old: Path) -> None:
    pytest.importorskip("jinja2", reason="needs jinja2: pip install 'shoal[report]'")
    for folder in (old / "fedavg", old / "flexcfl", old):
        done = shoal("report", folder)
        assert done.exit_code == 0, done.stderr
        assert "flexcfl" in (folder / "report.html").read_text() or folder.name == "fedavg"


def test_the_live_pages_list_and_show_them(old: Path) -> None:
    pytest.importorskip("starlette", reason="needs starlette: pip install 'shoal[ui]'")
    from shoal.ui.app import make_app

    client = Client(make_app(old.parent, "127.0.0.1", None))
    for name in ("fedavg", "flexcfl"):
        found = client.get("/api/page", params={"path": f"old/{name}"}).json()
        best = json.loads((old / name / "summary.json").read_text())["best_accuracy"]
        assert {card["key"]: card["value"] for card in found["cards"]}["best_accuracy"] == f"{100 * best:.1f} %"


@pytest.mark.parametrize("name", ["fedavg", "flexcfl"])
def test_resume_goes_on_where_it_was(shoal: Shoal, old: Path, name: str) -> None:
    # Rounds 1 to 3 stay to the letter; round 4 is that of a run of today, but for the last bits of the machine that
    # made the first three.
    before = records(old / name)
    done = shoal("resume", old / name, "rounds=4", "engine=serial")
    assert done.exit_code == 0, done.stderr
    after = records(old / name)
    assert after[:4] == before
    own = {"groups": 4, "migration": "aligned"} if name == "flexcfl" else {}
    straight = package.run(name, "digits", clients_per_round=8, **SETTINGS, **own)  # type: ignore[arg-type]
    last, same = after[4], straight.history[4]
    assert (last["round"], len(after)) == (4, 5)
    assert last["accuracy"] == pytest.approx(same["accuracy"], abs=0.02)
    assert last["trained"] == same["trained"] == 8
    groups = [json.dumps(row.get("group_size")) for row in (last, same)]
    assert groups[0] == groups[1]
