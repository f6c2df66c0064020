"""What a benchmark gives can be put into the page that quotes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.bench import tables

WHOLE: dict[str, Any] = {
    "workload": "W1",
    "rounds": 300,
    "seconds": 8.0,
    "cpu_seconds": 10.0,
    "parts": {"start": 4.0, "training": 2.0, "testing": 1.0, "rest": 1.0},
    "plain_seconds": 600.0,
    "plain_rounds": 3,
    "ratio": 75.0,
    "against": "plain loop, 1 thread",
}
LINE: dict[str, Any] = {"method": "IFCA", "clients_per_round": 20, "tested": 1000, "start_s": 1.5, "times_fedavg": 1.25}


def test_new_results_take_their_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for committed in tables.RESULTS.glob("bench*.json"):
        (tmp_path / committed.name).write_bytes(committed.read_bytes())
    lines = [{**LINE, "where": where, "s_per_round": s} for where, s in (("one process", 0.02), ("2 workers", 0.01))]
    (tmp_path / "bench-whole.json").write_text(json.dumps({"whole": [WHOLE]}))
    (tmp_path / "bench-clustered.json").write_text(json.dumps({"clustered": [{"workload": "W1", "results": lines}]}))
    busy = {"name": "shoal, 2 workers", "ms_per_round": 10.0, "ms_per_round_beside": 19.0, "slower": 1.9}
    busy |= {"fair": 2.0, "cpu_ratio": 1.05}
    (tmp_path / "bench-busy.json").write_text(json.dumps({"busy": [{"workload": "W1", "results": [busy]}]}))
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    page = tables.fill((tables.DOCS / "performance.md").read_text())
    assert "| W1 start | 4.00 | 50 % |\n" in page
    assert "| W1 plain loop, 1 thread, 300 rounds (3 timed, times 100) | 600 | |\n" in page
    assert "| W1 ratio | **75.0** | |\n\n*Start* is" in page
    assert "| W1 IFCA | 20 | 1,000 | 1.50 s | 0.0200 s | 1.25 | 0.0100 s | 1.25 |\n" in page
    assert "| W1 shoal, 2 workers | 10.0 ms | 19.0 ms | 1.90 | 2.00 | 1.05 |\n" in page
    assert "is committed yet" not in page
    assert tables.fill(page) == page


def test_results_that_are_not_there_are_said_to_be_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    assert list(tables.whole()) == ["*No result of `shoal bench whole` is committed yet.*"]
    assert list(tables.clustered()) == ["*No result of `shoal bench clustered` is committed yet.*"]


def test_the_page_says_how_many_rounds_were_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    workloads = [{"workload": name, "rounds": count} for name, count in (("W1", 10), ("W3", 1), ("W7", 10))]
    (tmp_path / "bench.json").write_text(json.dumps({"workloads": workloads}))
    assert list(tables.played()) == ["*Different rounds of a turn: 10 in W1, W7; 1 in W3.*"]


def test_a_page_without_a_place_is_refused() -> None:
    with pytest.raises(ValueError, match="0 places for the table rounds"):
        tables.fill("# Performance\n")
