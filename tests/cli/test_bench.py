"""`shoal bench` prints what was timed, compares it and keeps a line; the timing itself is not done here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.bench.test_run import LINE, WHOLE
from tests.cli.conftest import Shoal

HEAD = {"title": "MNIST", "data": "real data", "clients": 1000, "clients_per_round": 20}


def document(ratio: float) -> dict[str, Any]:
    result = {"name": "shoal, one process, native", "ms_per_step": 0.01, "cpu_ms_per_step": 0.02, "ratio": ratio}
    result |= {"cpu_ratio": 50.0, "peak_fraction": 0.25, "against": "plain loop, 1 thread"}
    work = {"workload": "W1", "rounds": 10, "steps_per_round": 3000.0, "peak_memory": 10**9, "results": [result]}
    grouped = {"workload": "W1", "groups": 3, "drift": "swap-all:0.05", "rounds": 10, **HEAD}
    line = {**LINE, "name": "shoal, IFCA", "where": "one process", "s_per_round": 0.02, "cpu_s_per_round": 0.03}
    return {
        "machine": {"shoal": "0.1.0", "torch": "2", "kernels": "avx2", "cores": 2, "gemm_gflops": 100.0},
        "repeats": 5,
        "quick": False,
        "workloads": [{**work, **HEAD}],
        "whole": [{**WHOLE, **HEAD, "command": "shoal run fedavg rounds=300", "name": "shoal run"}],
        "clustered": [{**grouped, "results": [line]}],
    }


@pytest.fixture
def timed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """What was asked for, answered at once with a ratio of 80."""
    asked: list[tuple[str, ...]] = []

    def bench(names: tuple[str, ...], **how: Any) -> dict[str, Any]:
        asked.append(names)
        return document(80)

    monkeypatch.setattr("shoal.bench.run.bench", bench)
    return asked


def test_tables(shoal: Shoal, timed: list[tuple[str, ...]]) -> None:
    text = shoal("bench", "W1", "whole", "clustered").stdout
    assert timed == [("W1", "whole", "clustered")]
    assert "3,000 steps a round, 10 different rounds, 1,000 tested" in text
    assert "8.0 s from command to end, 10.0 s of processor time" in text
    assert "600.0 s for 300 rounds, by 3 that were timed; ratio 75.0" in text
    found = [line.split() for line in text.splitlines()]
    assert ["start", "4.00", "50", "%"] in found
    assert ["IFCA,", "one", "process", "20", "1,000", "1.50", "0.0200", "0.0300", "1.25"] in found
    assert "Against" not in text


def test_what_changed_is_told_and_is_no_failure(shoal: Shoal, timed: object, tmp_path: Path) -> None:
    old = tmp_path / "old.json"
    old.write_text(json.dumps(document(100)))
    result = shoal("bench", "--against", old)
    assert result.exit_code == 0
    assert ["W1", "shoal,", "one", "process,", "native", "100", "80", "-20", "%", "slower"] in [
        s.split() for s in result.stdout.splitlines()
    ]
    assert "2 of 3 that both have differ by 10 % or less" in result.stdout
    found = json.loads(shoal("bench", "--against", old, "--format", "json").stdout)["against"]
    assert [c["verdict"] for c in found["changes"]] == ["slower", "alike", "alike"]


def test_a_bad_file_is_one_sentence_before_anything_is_timed(
    shoal: Shoal, timed: list[tuple[str, ...]], tmp_path: Path
) -> None:
    (tmp_path / "old.json").write_text("nothing")
    for words in (("--against", "old.json"), ("--against", "none.json"), ("--history", "no/folder.jsonl")):
        result = shoal("bench", *words)
        assert result.exit_code == 2
        assert result.stderr.startswith("shoal: ") and result.stderr.count("\n") == 1
        assert result.stdout == ""
    assert timed == []


def test_history_keeps_a_line_of_each(shoal: Shoal, timed: object, tmp_path: Path) -> None:
    for _ in range(2):
        assert shoal("bench", "--history", "history.jsonl").exit_code == 0
    lines = [json.loads(line) for line in (tmp_path / "history.jsonl").read_text().splitlines()]
    assert len(lines) == 2
    assert lines[0]["ratios"]["W1"] == {"shoal, one process, native": 80}
    assert lines[0]["ratios"]["W1 whole"] == {"shoal run": 75}
