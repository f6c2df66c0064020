"""Parts of a stranger: one new file each, outside the package, and no list is touched.

They run in processes of their own, so that what they declare stays there.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import shoal
from shoal.errors import BadInput
from shoal.registry import import_file

FILES = Path(__file__).parent / "strangers"
SRC = Path(shoal.__file__).parents[1]
QUICK = "lr=0.1 seed=1 clients_per_round=5 engine=serial"
COMMANDS = """
import json, sys
from typer.testing import CliRunner
from shoal.cli.app import app
done = [CliRunner().invoke(app, words, prog_name="shoal") for words in json.loads(sys.argv[1])]
print(json.dumps([(d.exit_code, d.stdout, d.stderr) for d in done]))
"""


class Done(NamedTuple):
    """How a command ended."""

    code: int
    stdout: str
    stderr: str


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the stranger's files and nothing else."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path.parent / "state"))
    for file in FILES.glob("*.py"):
        shutil.copy(file, tmp_path)
    return tmp_path


def python(folder: Path, *words: str) -> str:
    env = {**os.environ, "PYTHONPATH": str(SRC), "COLUMNS": "200"}
    env.pop("SHOAL_DEBUG", None)
    done = subprocess.run([sys.executable, *words], cwd=folder, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def commands(folder: Path, *lines: str) -> list[Done]:
    """What commands leave that are given one after the other in one process."""
    told = python(folder, "-c", COMMANDS, json.dumps([line.split() for line in lines]))
    return [Done(*each) for each in json.loads(told)]


def fine(folder: Path, *lines: str) -> list[str]:
    done = commands(folder, *lines)
    assert [(line, d.stderr) for line, d in zip(lines, done, strict=True) if d.code] == []
    return [d.stdout for d in done]


def listed(text: str, topic: str, name: str) -> dict[str, Any]:
    """The entry of a name in what `shoal list TOPIC --format json` says."""
    [entry] = [e for e in json.loads(text)[topic] if e["name"] == name]
    return dict(entry)


def summary(folder: Path, run: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / run / "summary.json").read_text())
    return {k: v for k, v in found.items() if k not in ("seconds", "peak_memory")}


def test_a_method_is_listed_runs_and_resumes_by_name_on_the_command_line(folder: Path) -> None:
    text, *_ = fine(
        folder,
        "list toy_method.py algorithms --format json",
        f"run toy_method.py toy {QUICK} rounds=2 share=1 out=all",
        f"run toy_method.py toy {QUICK} rounds=2 share=0 out=none",
        f"run fedavg {QUICK} rounds=2 out=fedavg",
        f"run toy_method.py toy {QUICK} rounds=3 out=whole",
        f"run toy_method.py toy {QUICK} rounds=2 out=part",
    )
    entry = listed(text, "algorithms", "toy")
    assert entry["traits"] == {"needs_all_clients": False, "single_model": True}
    assert entry["about"] == "FedAvg that goes only part of the way."
    assert entry["keys"] == [{"name": "share", "default": 0.5, "about": "how much of the way the server goes"}]
    # share=1 is FedAvg but for rounding; share=0 stays where it began, so that round 1 is as good as any.
    assert summary(folder, "all")["best_accuracy"] == pytest.approx(summary(folder, "fedavg")["best_accuracy"])
    assert summary(folder, "none")["best_round"] == 1
    assert "share = 1.0" in (folder / "all" / "config.toml").read_text()
    # In a new process: the run knows its file. One from before files were noted is reported, and needs the word.
    config = folder / "part" / "config.toml"
    noted = config.read_text()
    config.write_text(noted.partition("[[origins]]")[0])
    refused, reported = commands(folder, "resume part rounds=3", "report part")
    assert refused.code == 4
    assert "begun with 'toy', an algorithm that is not declared here" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    fine(folder, "resume part rounds=3 toy_method.py")
    config.write_text(noted)
    assert reported.code == 0, reported.stderr
    assert summary(folder, "part") == summary(folder, "whole")


def test_all_of_them_run_by_name_from_python_on_workers_too(folder: Path) -> None:
    code = """
import shoal, toy_aggregator, toy_method, toy_partition
pairs = dict(partition="toy-parity:clients=8", rounds=1, share=0.3, workers=1)
runs = [shoal.run("toy", "digits", engine=engine, **pairs) for engine in ("serial", "local")]
print(*[run.serving.models_KP.tobytes() == runs[0].serving.models_KP.tobytes() for run in runs])
print(runs[0].plan.algorithm.share, len(runs[0].clients))
print(shoal.run("fedavg", rounds=1, aggregate="toy-median:2", engine="serial").plan.algorithm.aggregate)
"""
    assert python(folder, "-c", code).split() == ["True", "True", "0.3", "8", "ToyMedian(factor=2.0)"]


def test_an_aggregator_is_listed_and_runs_by_name(folder: Path) -> None:
    text, *_ = fine(
        folder,
        "list toy_aggregator.py aggregators --format json",
        f"run toy_aggregator.py fedavg {QUICK} rounds=2 aggregate=toy-median out=theirs",
        f"run fedavg {QUICK} rounds=2 aggregate=median out=ours",
        f"run toy_aggregator.py fedavg {QUICK} rounds=2 aggregate=clip:0.1+toy-median:0.5 out=both",
    )
    entry = listed(text, "aggregators", "toy-median")
    assert entry == {
        "name": "toy-median",
        "about": "The median of what clients want, times a factor.",
        "arguments": {"factor": 1.0},
    }
    theirs, ours = (folder / run / "models" / "group_0.safetensors" for run in ("theirs", "ours"))
    assert theirs.read_bytes() == ours.read_bytes()  # it is the median that Shoal has
    assert summary(folder, "both") != summary(folder, "ours")


def test_a_partition_is_listed_and_deals_by_name(folder: Path) -> None:
    text, told, _ = fine(
        folder,
        "list toy_partition.py partitions --format json",
        "partition toy_partition.py data=digits partition=toy-parity:clients=4 --format json",
        "run toy_partition.py fedavg rounds=1 partition=toy-parity engine=serial out=run",
    )
    entry = listed(text, "partitions", "toy-parity")
    assert entry["about"] == "Half of the clients have odd classes, half even ones."
    assert entry["arguments"] == {"clients": 6}
    clients = json.loads(told)["per_client"]
    assert [c["group"] for c in clients] == [0, 0, 1, 1]
    for client in clients:
        assert {label % 2 for label, count in enumerate(client["labels"]) if count} == {client["group"]}
    assert len(shoal_groups(folder / "run")) == 6


def shoal_groups(run: Path) -> list[str]:
    """The clients of a finished run."""
    return (run / "groups.csv").read_text().splitlines()[1:]


def test_what_is_wrong_with_a_file_is_said_in_one_sentence(folder: Path) -> None:
    (folder / "broken.py").write_text("1 / 0\n")
    (folder / "other").mkdir()
    (folder / "other" / "string.py").write_text("")
    (folder / "again.py").write_text(
        "import shoal\nfrom dataclasses import dataclass\n\n\n"
        "@shoal.algorithm('fedavg')\n@dataclass(frozen=True)\nclass Mine:\n    pass\n"
    )
    (folder / "plain.py").write_text("import shoal\n\n\n@shoal.algorithm('plain')\nclass Plain:\n    pass\n")
    said = {
        "nothing.py": "there is no file nothing.py",
        "broken.py": "broken.py cannot be imported: ZeroDivisionError: division by zero",
        "other/string.py": "other/string.py has the name of another module",
        "again.py": "there are two algorithms called 'fedavg': shoal.algorithms.fedavg.FedAvg and again.Mine",
    }
    said |= {"plain.py list": "what is declared as the algorithm 'plain' is not a dataclass that derives from"}
    words = [f"version {file}" if file.endswith(".py") else file for file in said]
    for done, sentence in zip(commands(folder, *words), said.values(), strict=True):
        assert (done.code, len(done.stderr.splitlines())) == (2, 1)
        assert done.stderr.startswith(f"shoal: {sentence}")


def test_a_file_is_imported_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    file = tmp_path / "stranger_counts.py"
    file.write_text("import sys\nsys.stranger_count = getattr(sys, 'stranger_count', 0) + 1\n")
    import_file(file)
    import_file(file)
    assert sys.stranger_count == 1  # type: ignore[attr-defined]
    assert sys.path.count(str(tmp_path)) == 1
    with pytest.raises(BadInput, match="there is no file"):
        import_file(tmp_path / "elsewhere.py")
