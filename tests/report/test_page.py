"""The page: one file, nothing loaded, names as text, small; and figures as files."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tests.report.records import HOSTILE, synthetic

import shoal
from shoal.analysis.compare import Line, Spread
from shoal.analysis.quantities import FIGURES
from shoal.errors import ShoalError
from shoal.report import export as export_module
from shoal.report import page_of, report
from shoal.report.export import export
from shoal.report.story import best_sentence


def test_the_page_lies_in_the_folder_and_needs_nothing(runs: dict[str, Path]) -> None:
    path = report([runs["wecfl"]])
    assert path == runs["wecfl"] / "report.html"
    text = path.read_text()
    body = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    assert not re.search(r"(?:src|href)\s*=\s*[\"']?(?:https?:)?//", body)
    assert "default-src 'none'" in text


def test_names_are_text(runs: dict[str, Path]) -> None:
    text = report([runs["given"]]).read_text()
    own = re.sub(r"<script>.*?</script>", "", text, count=1, flags=re.DOTALL)  # without the drawing library
    assert HOSTILE[0] not in own
    assert "<img src=x>" not in own
    assert r"\u0026lt;script\u0026gt;alert(1)" in own  # escaped for the chart, and again for the page


def test_many_clients_and_rounds_make_a_small_page(tmp_path: Path) -> None:
    path = report([synthetic(tmp_path / "big", clients=1000, rounds=300)])
    assert path.stat().st_size < 8_000_000


def test_several_runs_are_compared(runs: dict[str, Path], tmp_path: Path) -> None:
    page = page_of(list(runs.values()), target=0.2)
    table = page.sections[0].sheets[0]
    assert "rounds to target" in table.columns
    assert {row[0].split()[0] for row in table.rows} == set(runs)
    differences = next(s for s in page.sections if s.title == "Significance").sheets[0]
    assert len(differences.rows) == len(runs) - 1
    path = report(list(runs.values()), tmp_path / "deep" / "page.html")
    assert path.is_file()


def test_a_run_from_python(runs: dict[str, Path], tmp_path: Path) -> None:
    run = shoal.run("fedavg", rounds=1, engine="serial", out=tmp_path / "r")
    assert run.report() == tmp_path / "r" / "report.html"
    with pytest.raises(ShoalError, match="out=DIR"):
        shoal.run("fedavg", rounds=1, engine="serial").report()


@dataclass(frozen=True, kw_only=True)
class Counts(shoal.IFCA):
    """IFCA that reports something of its own under a name that figures know."""

    def step(self, state: Any, engine: Any, key: Any) -> tuple[Any, Any]:
        state, record = super().step(state, engine, key)
        return state, replace(record, measures={"clusters": 3, "silhouette": [1], "values": 7, "F": "low"})


def test_an_own_method_may_report_what_it_likes(tmp_path: Path) -> None:
    run = shoal.run(Counts(), "digits", "mclr", rounds=1, engine="serial", out=tmp_path / "own")
    assert run.report().is_file()
    assert isinstance(run.advise(), list)


def test_a_run_that_has_not_begun_has_no_page(tmp_path: Path, runs: dict[str, Path]) -> None:
    (tmp_path / "config.toml").write_text((runs["fedavg"] / "config.toml").read_text())
    (tmp_path / "records.jsonl").write_text("")
    with pytest.raises(ShoalError, match="holds no round yet"):
        report([tmp_path])
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize("package", ["plotly", "jinja2"])
def test_a_missing_extra_is_named(
    runs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setitem(sys.modules, f"{package}.offline", None)
    with pytest.raises(ShoalError, match=rf"needs {package}.*pip install 'shoal\[report\]'"):
        report([runs["fedavg"]], tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


def test_tables_are_written_also_without_a_browser(
    runs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "kaleido", None)
    figures = page_of([runs["cfl"]]).figures
    with pytest.raises(ShoalError, match=f"{len(figures)} tables were written as CSV, but no pictures"):
        export(figures, tmp_path)
    assert {p.name for p in tmp_path.iterdir()} == {f"{f.key}.csv" for f in figures}
    with open(tmp_path / "splits.csv", newline="") as file:
        assert [row[0] for row in csv.reader(file)] == ["round", "1", "2", "3"]


def test_pictures_are_drawn(runs: dict[str, Path], tmp_path: Path, browser: Any) -> None:
    pytest.importorskip("kaleido", reason="kaleido is not installed")
    figures = [f for f in page_of([runs["given"]]).figures if f.key in ("sizes", "flow")]
    written = export(figures, tmp_path)
    assert len(written) == 2 * (1 + len(export_module.FORMATS))
    heads = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF"}
    for path in written:
        if path.suffix != ".csv":
            assert path.read_bytes().startswith(heads[path.suffix[1:]])
    assert b"<script>alert" not in (tmp_path / "sizes.svg").read_bytes()


OTHER_LOCALE = """
import numpy as np, shoal
from shoal.report import report
x, y = np.eye(4, dtype=np.float32), np.arange(4) % 2
federation = shoal.Federation.from_arrays({"zo\\u00eb": (x, y), "bob": (x, y)})
shoal.run("fedavg", federation, "mclr", rounds=1, engine="serial", out="r")
report(["r"])
"""


def test_files_are_utf_8_whatever_the_locale_is(tmp_path: Path) -> None:
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    subprocess.run([sys.executable, "-c", OTHER_LOCALE], cwd=tmp_path, env=env, check=True)
    assert "zoë" in (tmp_path / "r" / "groups.csv").read_text(encoding="utf-8")
    assert " · " in (tmp_path / "r" / "report.html").read_text(encoding="utf-8")


def test_the_sentence_of_a_comparison_says_who_has_no_whole_round() -> None:
    full = {**dict.fromkeys(FIGURES), "best_accuracy": Spread(0.852, 0.004, 2)}
    part: dict[str, Spread | None] = {**dict.fromkeys(FIGURES), "best_partial_accuracy": Spread(0.908, None, 1)}
    part |= {"best_partial_clients": Spread(78, None, 1), "best_partial_of": Spread(1000, None, 1)}
    fedavg, flexcfl = Line("fedavg", ("a", "b"), True, full), Line("flexcfl", ("c",), True, part)
    never = "had no tested round in which every client had a model"
    assert best_sentence([fedavg]) == "fedavg has the highest best accuracy: 85.2 ± 0.4 %."
    assert best_sentence([flexcfl, fedavg]) == f"{best_sentence([fedavg])} flexcfl {never}."
    only = f"flexcfl {never}; flexcfl has the highest accuracy, 90.8 % of 78 of 1,000 clients."
    assert best_sentence([flexcfl]) == only
    assert best_sentence([Line("new", ("d",), False, dict.fromkeys(FIGURES))]) == "No run was tested yet."
