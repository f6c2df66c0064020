"""Benchmarks are compared by ratios, and a history says of which code they are."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from shoal.bench.history import against, append, commit, history_line, read_earlier, speeds
from shoal.errors import BadInput


def document(quick: bool = False, rounds: int = 10, **ratios: float) -> dict[str, Any]:
    results = [{"name": "plain loop, 1 thread", "ratio": 1.0}]
    results += [{"name": f"shoal, {name}", "ratio": ratio} for name, ratio in ratios.items()]
    machine = {"shoal": "0.1.0", "cores": 2}
    workloads = [{"workload": "W1", "rounds": rounds, "results": results}]
    return {"machine": machine, "repeats": 5, "quick": quick, "workloads": workloads}


def test_changes_are_told_by_ratios() -> None:
    before, now = document(native=50, torch=2.0, gone=3), document(native=40, torch=2.1, new=7)
    before["clustered"] = [{"workload": "W1", "results": [{"name": "IFCA", "times_fedavg": 2.0}]}]
    now["clustered"] = [{"workload": "W1", "results": [{"name": "IFCA", "times_fedavg": 1.0}]}]
    found = against(Path("old.json"), before, now)
    told = {(c["workload"], c["name"]): (c["verdict"], round(c["change"], 6)) for c in found["changes"]}
    # 40/50 is a fifth less, 2.1/2 a twentieth more; half of FedAvg's time twice as fast. Plain loops are no contenders.
    assert told == {
        ("W1", "shoal, native"): ("slower", -0.2),
        ("W1", "shoal, torch"): ("alike", 0.05),
        ("W1 clustered", "IFCA"): ("faster", 1.0),
    }
    assert found["only_here"] == ["W1 shoal, new"]
    assert found["other_rounds"] == []


def test_other_rounds_are_told() -> None:
    assert against(Path("old"), document(rounds=3), document(rounds=10))["other_rounds"] == ["W1"]
    older = document(native=2)
    del older["workloads"][0]["rounds"]  # did not say it
    assert against(Path("old"), older, document(native=2))["other_rounds"] == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "cannot read .*: No such file or directory; give a file that `shoal bench --format json` wrote"),
        ("not json", "holds no JSON document"),
        ("[1, 2]", "is not the output of a benchmark"),
        ('{"workloads": [{"workload": "W1"}]}', "is not the output of a benchmark"),
        ('{"workloads": [], "quick": false}', "times no workload that could be compared"),
        (json.dumps(document(quick=True, native=3)), "was made with --quick and cannot be compared"),
    ],
)
def test_a_file_that_cannot_be_compared_is_refused(tmp_path: Path, text: str | None, sentence: str) -> None:
    path = tmp_path / "old.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(BadInput, match=sentence):
        read_earlier(path, quick=False)


def test_the_committed_results_can_be_compared() -> None:
    path = Path(__file__).parents[2] / "docs" / "results" / "bench.json"
    assert {workload for workload, _ in speeds(read_earlier(path, quick=False))} == {f"W{i}" for i in range(1, 9)}


def test_a_history_grows_by_lines(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    append(path)
    assert path.read_text() == ""
    for ratio in (50, 60):
        append(path, history_line(document(native=ratio)))
    first, second = map(json.loads, path.read_text().splitlines())
    assert first["ratios"] == {"W1": {"shoal, native": 50}}
    assert second["ratios"]["W1"] == {"shoal, native": 60}
    assert first["version"] == "0.1.0" and first["machine"] == {"cores": 2}
    assert set(first) == {"date", "commit", "version", "machine", "repeats", "quick", "ratios"}
    with pytest.raises(BadInput, match="cannot write"):
        append(tmp_path / "no folder" / "history.jsonl")


def test_the_commit_is_that_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*words: str) -> str:
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        done = subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    monkeypatch.delenv("GIT_DIR", raising=False)
    (tmp_path / "code").mkdir()
    source, other, result = (tmp_path / name for name in ("code/source.py", "code/installed.py", "result.json"))
    source.write_text("1")
    result.write_text("{}")
    assert commit(source) is None  # no checkout
    git("init", "-q")
    git("add", "code/source.py", "result.json")
    git("commit", "-qm", "first")
    other.write_text("2")
    assert commit(source) == git("rev-parse", "HEAD")[:12]
    assert commit(other) is None  # inside a checkout, but not of it
    result.write_text("[]")
    assert commit(source) == git("rev-parse", "HEAD")[:12]  # what it wrote is not what it is
    source.write_text("3")
    assert commit(source) == f"{git('rev-parse', 'HEAD')[:12]}-dirty"
