"""What `shoal new` writes runs as it is, and its test passes as it is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Shoal

import shoal as package
from shoal.cli.new_files import TEMPLATES

NAMES = {"algorithm": "FedNew", "partition": "by_half", "model": "leaky", "dataset": "opposed"}


def python(folder: Path, *words: str) -> str:
    state = {"PYTHONPATH": str(Path(package.__file__).parents[1]), "XDG_STATE_HOME": str(folder / "state")}
    command = [sys.executable, "-m", *words]
    done = subprocess.run(command, cwd=folder, env={**os.environ, **state}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_kind_has_a_name_here() -> None:
    assert set(NAMES) == set(TEMPLATES)


@pytest.mark.parametrize(
    "kind",
    [pytest.param("algorithm"), *(pytest.param(k, marks=pytest.mark.slow) for k in ("partition", "model", "dataset"))],
)
def test_it_runs_and_its_test_passes(kind: str, shoal: Shoal, tmp_path: Path) -> None:
    done = shoal("new", kind, NAMES[kind])
    assert done.exit_code == 0, done.stderr
    following = done.stdout.partition("Next:")[2].splitlines()[0].split()
    assert following[:2] == ["shoal", "run"]
    assert "best accuracy" in python(tmp_path, *following, "rounds=1", "engine=serial", "out=run")
    assert " passed" in python(
        tmp_path,
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        f"test_{NAMES[kind].lower().replace('fednew', 'fed_new')}.py",
    )


@pytest.mark.parametrize("kind", NAMES)
def test_it_is_formatted_and_clean(kind: str, shoal: Shoal, tmp_path: Path) -> None:
    ruff = shutil.which("ruff", path=str(Path(sys.executable).parent)) or pytest.skip("ruff is not installed")
    assert shoal("new", kind, NAMES[kind], "there").exit_code == 0
    rules = ["--line-length", "120"]
    for words in (["format", "--check", *rules], ["check", "--select", "E,F,I,UP,B", *rules]):
        done = subprocess.run([ruff, *words, "--isolated", "there"], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


def test_what_is_wrong_is_one_sentence(shoal: Shoal) -> None:
    shoal("new", "algorithm", "fed_new")
    said = {
        ("algorithm", "FedNew"): "fed_new.py is there already; choose another name, or another folder",
        ("algorithm", "string"): "there is a module string already, which string.py would hide; choose another name",
        ("algorithm", "fed-new"): "'fed-new' cannot be a name in Python: letters, digits and _, a letter first",
        ("algoritm", "Mine"): "unknown kind 'algoritm'; did you mean 'algorithm'?",
    }
    for words, sentence in said.items():
        done = shoal("new", *words)
        assert (done.exit_code, len(done.stderr.splitlines())) == (2, 1)
        assert sentence in done.stderr
