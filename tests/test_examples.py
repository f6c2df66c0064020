"""A method outside the package, by the command line: from a file and from an installed package."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file

from tests.test_strangers import SRC, commands, fine, listed, python, summary

EXAMPLES = Path(__file__).parent.parent / "examples"
METHOD = "../methods/pacfl.py:PACFL"
QUICK = "partition=rotated:groups=2 lr=0.1 seed=1"


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, beside one with the method; the user has run nothing before."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "methods").mkdir()
    (tmp_path / "work").mkdir()
    shutil.copy(EXAMPLES / "pacfl.py", tmp_path / "methods")
    return tmp_path / "work"


def undeclared() -> str:
    """The method without the line that gives it a name."""
    code = (EXAMPLES / "pacfl.py").read_text()
    plain = code.replace('@shoal.algorithm("PACFL", finds_groups=True, finds_number=True)\n', "")
    assert plain != code
    return plain


def models(run: Path) -> dict[str, bytes]:
    """The numbers of all models, by file and tensor."""
    files = {file.name: load_file(file) for file in (run / "models").glob("*.safetensors")}
    return {f"{name} {tensor}": file[tensor].tobytes() for name, file in files.items() for tensor in file}


def config(run: Path) -> dict[str, Any]:
    return tomllib.loads((run / "config.toml").read_text())


ANGLES = """
import numpy as np
from pacfl import angles

c, s = np.cos(np.pi / 6), np.sin(np.pi / 6)
plane = np.array([[1.0, 0], [0, 1], [0, 0]])    # of x and y
turned = np.array([[-1.0, 0], [0, c], [0, s]])  # by 30 degrees about x, of which only the sign differs
other = np.array([[0.0, c], [0, s], [1, 0]])    # of z, and of a line in the first plane, 60 degrees from y
for angle in ("smallest", "sum"):
    print(*angles(plane[None], np.stack([turned, other]), angle).round(3)[0] + 0)
"""


def test_angles_by_hand(work: Path, tmp_path: Path) -> None:
    """Two planes in three dimensions share a line, so that their smallest angle is 0; vector by vector they do not:
    x against -x 0 and y against (0, c, s) 30 degrees; x against z 90 and y against (c, s, 0) 60 degrees."""
    smallest, whole = (line.split() for line in python(tmp_path / "methods", "-c", ANGLES).splitlines())
    assert [float(n) for n in smallest] == pytest.approx([0, 0], abs=1e-3)
    assert [float(n) for n in whole] == pytest.approx([30, 150], abs=1e-3)


def test_pacfl_from_a_file_runs_sweeps_compares_and_reports(work: Path) -> None:
    text, *_, compared, _ = fine(
        work,
        f"list {METHOD} --format json",
        f"run {METHOD} p=2 {QUICK} rounds=2 engine=serial out=serial",
        f"run {METHOD} p=2 {QUICK} rounds=2 engine=local workers=2 out=local",
        f"run {METHOD} fedavg beta=15,90 {QUICK} rounds=2 engine=serial out=sweep",
        "report serial",
        "compare sweep --format json",
        "report sweep",
    )
    keys = {key["name"]: key["about"] for key in listed(text, "algorithms", "PACFL")["keys"]}
    assert keys["p"] == "singular vectors that a client tells"
    assert list(keys) == ["p", "beta", "angle", "linkage"]
    assert models(work / "serial") == models(work / "local")
    assert summary(work, "serial")["ari"] == 1.0
    assert len(models(work / "serial")) == 2 * 2  # two groups with weights and biases
    row = json.loads((work / "serial" / "records.jsonl").read_text().splitlines()[0])
    # 20 clients tell 64 x 2 numbers of 4 bytes, and are sent nothing
    told = row["traffic"]["subspace"]
    assert (told["down"], told["up"], told["bytes_down"], told["bytes_up"]) == (0, 0, 0, 10_240)
    names = [path.name for path in sorted((work / "sweep").iterdir()) if path.is_dir()]
    assert names == ["PACFL-beta=15", "PACFL-beta=90", "fedavg"]
    lines = [line["name"] for line in json.loads(compared)["comparison"]]
    assert lines == ["PACFL beta=15.0", "PACFL beta=90.0", "fedavg"]
    assert "PACFL" in (work / "serial" / "report.html").read_text()


@pytest.mark.slow
def test_pacfl_is_resumed_from_anywhere_after_a_kill(work: Path, tmp_path: Path) -> None:
    words = f"run {METHOD} {QUICK} engine=serial checkpoint_every=1".split()
    process = subprocess.Popen(
        [sys.executable, "-m", "shoal", *words, "rounds=100000", "out=cut"],
        cwd=work,
        env={**os.environ, "PYTHONPATH": str(SRC)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    records = work / "cut" / "records.jsonl"
    while process.poll() is None and (not records.exists() or records.read_bytes().count(b"\n") < 3):
        time.sleep(0.002)
    os.killpg(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    rounds = records.read_bytes().count(b"\n") + 3
    fine(tmp_path, f"resume work/cut rounds={rounds}", f"run work/cut/config.toml rounds={rounds} out=whole")
    assert models(work / "cut") == models(tmp_path / "whole")
    assert summary(work, "cut") == summary(tmp_path, "whole")


@pytest.mark.slow
def test_a_sweep_goes_on_from_anywhere_and_takes_the_method_from_a_settings_file(work: Path, tmp_path: Path) -> None:
    (tmp_path / "methods" / "pacfl.py").write_text(undeclared())
    (work / "settings.toml").write_text(
        f'algorithms = ["{METHOD}", "fedavg"]\npartition = "rotated:groups=2"\nrounds = 1\nlr = 0.1\n'
        'engine = "serial"\n[PACFL]\np = [1, 2]\n'
    )
    fine(work, "run settings.toml out=sweep")
    before = models(work / "sweep" / "PACFL-p=2")
    shutil.rmtree(work / "sweep" / "PACFL-p=2")
    fine(tmp_path, "resume work/sweep")
    assert models(work / "sweep" / "PACFL-p=2") == before
    assert config(work / "sweep" / "PACFL-p=2")["PACFL"]["p"] == 2


@pytest.mark.slow
def test_a_file_that_changed_or_went_away_is_told_with_a_way_on(work: Path, tmp_path: Path) -> None:
    fine(work, f"run {METHOD} {QUICK} rounds=1 engine=serial out=run")
    shutil.move(tmp_path / "methods", tmp_path / "moved")
    [gone] = commands(work, "resume run rounds=2")
    assert (gone.code, len(gone.stderr.splitlines())) == (4, 1)
    assert "which is not there; say where it is now: shoal resume run FOLDER/pacfl.py" in gone.stderr
    fine(work, "resume run rounds=2 ../moved/pacfl.py", "resume run rounds=3")
    file = tmp_path / "moved" / "pacfl.py"
    file.write_text(file.read_text() + "# another word\n")
    [changed] = commands(work, "resume run rounds=4")
    assert (changed.code, len(changed.stderr.splitlines())) == (4, 1)
    assert "pacfl.py is not as it was when run began; put it back, or take it as it is now:" in changed.stderr
    assert changed.stderr.strip().endswith("shoal resume run ../moved/pacfl.py")
    [warned] = commands(work, "resume run rounds=4 ../moved/pacfl.py")
    assert warned.code == 0 and "the run goes on with it as it is now" in warned.stderr
    fine(work, "resume run rounds=5")  # it is noted as it is now
    shutil.copytree(tmp_path / "work", tmp_path / "copy" / "work")
    shutil.move(tmp_path / "moved", tmp_path / "copy" / "moved")
    fine(tmp_path, "resume copy/work/run rounds=6")  # both were moved: the way from one to the other is the same
    shutil.rmtree(tmp_path / "state")  # another user, who has run none of this
    [strange] = commands(tmp_path, "resume copy/work/run rounds=7")
    assert (strange.code, len(strange.stderr.splitlines())) == (4, 1)
    assert (
        "with which no run was begun here; if you trust it, name it: shoal resume copy/work/run copy" in strange.stderr
    )
    fine(tmp_path, "resume copy/work/run rounds=7 copy/moved/pacfl.py", "report copy/work/run")


def test_sites_are_not_sent_files(work: Path) -> None:
    [refused] = commands(work, f"deploy init app {METHOD} rounds=3")
    assert (refused.code, len(refused.stderr.splitlines())) == (2, 1)
    assert "sites run no code that was not installed there; make a package of it" in refused.stderr


PARTS = """
import numpy as np
from torch import nn
from shoal import Metric, Objective
from shoal.data import Dataset, Federation, build
from shoal.data.datasets.digits import digits


def halves(dataset, key, clients: int = 4):
    \"\"\"Clients in the order of the samples.\"\"\"
    from shoal.data.partition.assemble import assemble
    return assemble(dataset, np.array_split(np.arange(len(dataset.y)), clients), None, key)


def net(shape, classes, *, hidden: int = 4, slope: float = 0.1):
    \"\"\"A small network.\"\"\"
    size = int(np.prod(shape))
    return nn.Sequential(nn.Flatten(), nn.Linear(size, hidden), nn.LeakyReLU(slope), nn.Linear(hidden, classes))


def fixed():
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 10))


def some(samples: int = 200):
    \"\"\"A few digits.\"\"\"
    return digits()


def arrays(key):
    rng = key.rng()
    return {name: (rng.normal(size=(20, 3)), rng.integers(0, 2, 20)) for name in ("ann", "bob")}


def nothing():
    return 3


def squares(outputs, targets):
    return ((outputs.softmax(-1) - nn.functional.one_hot(targets, 10)) ** 2).sum(-1)


brier = Objective(loss=squares, targets="classes", metrics=("accuracy",), name="brier")
sure = Metric("certainty", lambda said, y: {"sure": np.exp(said).max(-1).sum()}, lambda s: s["sure"] / s["total"])
"""


@pytest.mark.slow
def test_models_partitions_and_data_come_from_files_too(work: Path, tmp_path: Path) -> None:
    (tmp_path / "methods" / "parts.py").write_text(PARTS)
    parts, one = "../methods/parts.py", "rounds=1 engine=serial"
    fine(
        work,
        f"run fedavg model={parts}:net:hidden=3:slope=0.2 partition={parts}:halves:clients=5 {one} out=both",
        f"run fedavg model=mclr,{parts}:fixed data={parts}:some:samples=100 {one} out=sweep",
        f"run fedavg data={parts}:arrays {one} out=arrays",
        f"partition data=digits partition={parts}:halves",
        f"run fedavg task={parts}:brier metrics=test_loss,{parts}:sure score={parts}:sure {one} out=task",
    )
    told = config(work / "task")
    assert (told["task"], told["score"]) == ("brier", "certainty")
    assert 0.1 < summary(work, "task")["best_certainty"] < 1
    told = config(work / "both")
    assert (told["model"], told["partition"]) == ("net:hidden=3:slope=0.2", "halves:clients=5")
    assert [Path(origin["path"]).name for origin in told["origins"]] == ["parts.py"]
    assert len((work / "both" / "groups.csv").read_text().splitlines()) == 6
    assert sorted(p.name for p in (work / "sweep").iterdir() if p.is_dir()) == [
        "fedavg-model=fixed",
        "fedavg-model=mclr",
    ]
    assert models(work / "sweep" / "fedavg-model=fixed") != {}
    fine(tmp_path, "resume work/both rounds=2", "resume work/arrays rounds=2", "resume work/task rounds=2")
    said = {
        f"model={parts}:nett": "unknown model of ../methods/parts.py 'nett'; did you mean 'net'?",
        f"data={parts}:nothing": "gives data gives a Dataset, a Federation or arrays by client, not int",
        f"model={parts}:net:slope=steep": "slope of the model 'net' is of the kind of 0.1, not 'steep'",
        f"data={parts}:arrays partition=iid": "own arrays comes with its own clients; leave partition out",
    }
    for done, sentence in zip(commands(work, *(f"run fedavg {w} {one}" for w in said)), said.values(), strict=True):
        assert (done.code, len(done.stderr.splitlines())) == (2, 1), done.stderr
        assert sentence in done.stderr


def install(site: Path, package: str, code: str, points: str) -> None:
    """A package as pip leaves it: its module, and what is known about it."""
    (site / f"{package}.py").write_text(code)
    about = site / f"{package}-1.5.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.5\n")
    (about / "entry_points.txt").write_text(points)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed packages."""
    found = tmp_path / "site"
    found.mkdir()
    monkeypatch.setattr("tests.test_strangers.SRC", f"{SRC}{os.pathsep}{found}")
    return found


@pytest.mark.slow
def test_the_same_from_an_installed_package(work: Path, site: Path, tmp_path: Path) -> None:
    points = "".join(
        f"[shoal.{group}]\n{name} = {where}\n"
        for group, name, where in [
            ("algorithms", "pacfl", "toy_pacfl:PACFL"),
            ("models", "net", "toy_parts:net"),
            ("partitions", "halves", "toy_parts:halves"),
            ("datasets", "some", "toy_parts:some"),
            ("tasks", "brier", "toy_parts:brier"),
            ("metrics", "certainty", "toy_parts:sure"),
        ]
    )
    install(site, "toy_pacfl", undeclared(), points)
    (site / "toy_parts.py").write_text(PARTS)
    text, names, *_ = fine(
        work,
        "list pacfl --format json",
        "list --format json",
        f"run pacfl p=2 {QUICK} rounds=2 engine=serial out=package",
        f"run pacfl p=2 {QUICK} rounds=2 engine=local workers=2 out=local",
        f"run pacfl fedavg p=2 {QUICK} rounds=1 engine=serial out=sweep",
        "run fedavg data=some partition=halves model=net task=brier metrics=certainty rounds=1 engine=serial out=parts",
        "compare sweep",
        "report package",
        "doctor",
    )
    assert listed(text, "algorithms", "pacfl")["about"].startswith("Clients tell a few singular vectors")
    assert {e["name"]: e["about"] for e in json.loads(names)["data"]}["some"] == "A few digits."
    origin = {"package": "toy_pacfl", "version": "1.5", "algorithm": "pacfl"}
    assert config(work / "package")["origins"] == [origin]
    fine(tmp_path, "resume work/package rounds=3", f"run {EXAMPLES}/pacfl.py:PACFL p=2 {QUICK} rounds=3 out=file")
    assert models(work / "package") == models(tmp_path / "file")
    shutil.move(site / "toy_pacfl-1.5.dist-info", tmp_path)
    [gone] = commands(work, "resume package rounds=4")
    assert gone.code == 4
    assert "the run began with the package toy_pacfl 1.5, which is not installed here" in gone.stderr


def test_a_package_that_cannot_be_loaded_is_one_sentence_and_ends_nothing_else(work: Path, site: Path) -> None:
    install(site, "toy_broken", "import nothing_like_it\n", "[shoal.algorithms]\nbroken = toy_broken:Broken\n")
    install(site, "toy_twin", "def mlp(shape, classes): ...\n", "[shoal.models]\nmlp = toy_twin:mlp\n")
    install(site, "toy_number", "three = 3\n", "[shoal.algorithms]\nthree = toy_number:three\n")
    run, listing, missing, doctor = commands(
        work, "run fedavg model=mlp rounds=1 engine=serial out=run", "list algorithms", "run broken", "doctor"
    )
    assert run.code == 0 and "toy_" not in run.stderr
    sentence = (
        "the package toy_broken 1.5 cannot be loaded, so 'broken' is missing: ModuleNotFoundError: No module named"
    )
    assert listing.code == 0 and sentence in listing.stderr
    assert "toy_twin 1.5 cannot be loaded, so 'mlp' is missing: there are two models called 'mlp'" in listing.stderr
    assert "toy_number 1.5 cannot be loaded, so 'three' is missing: what is declared as" in listing.stderr
    assert (missing.code, len(missing.stderr.splitlines())) == (2, 1)
    assert "unknown algorithm 'broken'" in missing.stderr and sentence in missing.stderr
    assert sentence in doctor.stdout
