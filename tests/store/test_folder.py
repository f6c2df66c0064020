"""A run folder: who may begin one, what its files may make us do, what its first line says."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np

import shoal
from shoal.data.federation import Federation
from shoal.store.folder import Folder

BEGIN = """
import sys
from shoal.store.folder import Folder
from shoal.errors import RunFolderError
print("ready", flush=True)
sys.stdin.readline()
try:
    with Folder(sys.argv[1]).begin({"algorithm": "fedavg", "who": int(sys.argv[2])}, "0"):
        print("began", flush=True)
        sys.stdin.readline()
except RunFolderError as e:
    print("refused", flush=True)
"""


def say(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def go_on(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    with suppress(BrokenPipeError):  # who was refused has ended; nothing stays in a buffer
        os.write(process.stdin.fileno(), b"go\n")


def test_of_several_that_begin_at_once_in_one_folder_one_does(tmp_path: Path) -> None:
    path = {**os.environ, "PYTHONPATH": str(Path(shoal.__file__).parents[1])}
    folder = tmp_path / "run"
    with ExitStack() as stack:
        racers = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", BEGIN, folder, str(i)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    env=path,
                    text=True,
                )
            )
            for i in range(4)
        ]
        assert [say(p) for p in racers] == 4 * ["ready"]
        for p in racers:
            go_on(p)
        said = [say(p) for p in racers]
        for p in racers:
            go_on(p)
    assert sorted(said) == ["began", "refused", "refused", "refused"]
    assert Folder(folder).config()["who"] == said.index("began")


def test_the_first_line_of_the_config_says_how_the_run_can_be_repeated(tmp_path: Path, toy: Federation) -> None:
    shoal.run("fedavg", rounds=0, engine="serial", out=tmp_path / "by name")
    first = (tmp_path / "by name" / "config.toml").read_text().splitlines()[0]
    assert f"`shoal run '{tmp_path / 'by name' / 'config.toml'}'`" in first
    shoal.run("fedavg", toy, rounds=0, engine="serial", out=tmp_path / "own")
    first = (tmp_path / "own" / "config.toml").read_text().splitlines()[0]
    assert "repeat this run in Python, with the same data as objects" in first


def test_the_mark_of_a_run_is_that_of_what_decides_its_results(tmp_path: Path) -> None:
    marks = {}
    for name, pairs in {
        "one": {"seed": 1},
        "two": {"seed": 2},
        "again": {"seed": 1},
        "longer": {"seed": 1, "rounds": 1},
    }.items():
        settings: dict[str, Any] = {"rounds": 0, **pairs}
        shoal.run("fedavg", engine="serial", out=tmp_path / name, **settings)
        marks[name] = Folder(tmp_path / name).mark
    assert marks["one"] == marks["again"] == marks["longer"] != marks["two"]


def test_models_of_all_groups_are_written_each_its_own(tmp_path: Path) -> None:
    from safetensors.numpy import load_file

    run = shoal.run("ifca", groups=3, rounds=1, engine="serial", out=tmp_path / "run")
    for k, model_P in enumerate(run.serving.models_KP):
        tensors = load_file(tmp_path / "run" / "models" / f"group_{k}.safetensors")
        flat = np.concatenate([tensors[p.name].ravel() for p in run.plan.layout.parts])
        assert flat.tobytes() == model_P.tobytes()
