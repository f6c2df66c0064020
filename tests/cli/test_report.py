from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Shoal

from shoal.report import export
from shoal.report.export import Look


def test_one_run_and_a_sweep(shoal: Shoal, tmp_path: Path) -> None:
    shoal("run", "fedavg", "ifca", "groups=2", "rounds=1", "engine=serial", "out=s")
    said = shoal("report", "s/ifca")
    assert (said.exit_code, said.stderr) == (0, "")
    assert said.stdout.startswith("Report: s/ifca/report.html (")
    found = json.loads(shoal("report", "s", "--target", "0.1", "--format", "json").stdout)
    assert (found["kind"], found["file"]) == ("report", "s/report.html")
    assert found["bytes"] == (tmp_path / "s/report.html").stat().st_size
    assert {"key": "accuracy", "title": "Accuracy"} in found["figures"]
    page = (tmp_path / "s/report.html").read_text()
    assert '<a href="ifca/report.html">ifca</a>' in page


def test_what_is_no_run_is_said(shoal: Shoal, tmp_path: Path) -> None:
    said = shoal("report", "nowhere")
    assert said.exit_code == 4
    assert "there is no folder nowhere" in said.stderr
    assert not list(tmp_path.iterdir())
    assert shoal("report", "nowhere", "--map", "umap").exit_code == 2


def test_out_names_the_file(shoal: Shoal, tmp_path: Path) -> None:
    shoal("run", "fedavg", "rounds=1", "engine=serial", "out=r")
    assert shoal("report", "r", "--out", "deep/page.html").exit_code == 0
    assert (tmp_path / "deep/page.html").is_file()
    assert not (tmp_path / "r/report.html").exists()
    (tmp_path / "file").write_text("")
    said = shoal("report", "r", "--out", "file/page.html")
    assert said.exit_code == 4
    assert "choose another one with --out FILE" in said.stderr


def test_figures_are_chosen_and_settings_named(shoal: Shoal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[list[str], Look]] = []
    monkeypatch.setattr(export, "export", lambda figures, folder, look: seen.append(([f.key for f in figures], look)))
    shoal("run", "fedavg", "local", "rounds=1", "engine=serial", "out=s")
    words = ("--only", "seeds,accuracy", "--width", "3in", "--font", "Arial", "--font-size", 8, "--title", "")
    said = shoal("report", "s", "--figures", "f", *words, "--names", "One model,Alone")
    assert said.exit_code == 0
    assert seen == [(["seeds", "accuracy"], Look(288, "Arial", 8, ""))]
    assert (
        "One model has the highest" in (tmp_path / "s/report.html").read_text()
        or "Alone has the highest" in (tmp_path / "s/report.html").read_text()
    )
    alone = shoal("report", "s", "--width", "3in")
    assert alone.exit_code == 2
    assert "are about pictures; add --figures DIR" in alone.stderr
