"""Everything a user can get wrong: one sentence on stderr, the documented exit code, nothing written."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Result, Shoal

BAD_WORDS = {
    "algorithm": ("run fedagv", "unknown algorithm 'fedagv'; did you mean 'fedavg'?"),
    "algorithm in a sweep": ("run fedavg feprox", "unknown algorithm 'feprox'"),
    "algorithm as a key": ("run algorithm=nope", "unknown algorithm 'nope'"),
    "key": ("run ronds=3", "unknown key 'ronds'; did you mean 'rounds'?"),
    "own key of another": ("run fedavg mu=1", "fedavg has no key mu; cfl, fedavg+, fedgroup, fedgrouprox, fedprox,"),
    "no groups": (
        "run local groups=4",
        "local has no key groups; fedgroup, fedgrouprox, fesem, flexcfl,",
    ),
    "no groups in a sweep": ("run fedavg local groups=4", "fedavg and local have no key groups; fedgroup,"),
    "groups=auto": ("run ifca groups=auto engine=serial", "ifca does not find the number of groups by itself"),
    "groups=0": ("run fedgroup groups=0 engine=serial", "groups=0 is not possible"),
    "spaces": ("run fedavg lr = 0.1", "write lr=0.1 without spaces around the ="),
    "space before": ("run lr =0.1", "write lr=0.1 without spaces around the ="),
    "space after": ("run lr= 0.1", "write lr=VALUE without spaces around the ="),
    "nothing before": ("run =0.1", "write KEY=0.1 without spaces around the ="),
    "option": ("run --lr 0.1", "a key has no dashes: write lr=0.1 instead of --lr"),
    "option with value": ("run fedprox --mu=0.1", "a key has no dashes: write mu=0.1 instead of --mu=0.1"),
    "short option": ("run -lr 0.1", "a key has no dashes: write lr=0.1 instead of -lr"),
    "option of partition": ("partition --data mnist", "a key has no dashes: write data=mnist instead of --data"),
    "command": ("rnu", "unknown command 'rnu'; did you mean 'run'? Known:"),
    "python argument": ("run federation=digits", "unknown key 'federation'"),
    "key without value": ("run rounds=", "rounds= has no value"),
    "key without =": ("run rounds", "write rounds=VALUE"),
    "key twice": ("run seed=1 seed=2", "seed is given twice"),
    "value": ("run rounds=many", "rounds=many is not possible"),
    "negative": ("run rounds=-1", "rounds=-1 is not possible"),
    "own value": ("run fedprox mu=-1 engine=serial", "mu=-1 is not possible"),
    "workers": ("run workers=0", "workers=0 is not possible"),
    "engine": ("run engine=gpu", "engine=gpu is not possible"),
    "data set": ("run data=mnits engine=serial", "unknown data set 'mnits'; did you mean 'mnist'?"),
    "data set in a sweep": ("run fedavg local data=mnits engine=serial", "unknown data set 'mnits'"),
    "model": ("run model=mpl engine=serial", "unknown model 'mpl'"),
    "model in a sweep": ("run model=mclr,mpl engine=serial", "unknown model 'mpl'"),
    "partition": ("run partition=idd engine=serial", "unknown partition 'idd'"),
    "missing file": ("run nowhere.toml", "there is no file nowhere.toml"),
    "two files": ("run a.toml b.toml", "there is no file a.toml"),
    "resume key": ("resume x seed=1", "unknown key 'seed'"),
    "partition key": ("partition rounds=1", "unknown key 'rounds'"),
    "partition word": ("partition digits", "cannot read 'digits'"),
    "split": ("partition partition=idd", "unknown partition 'idd'"),
    "topic": ("list algos", "unknown topic 'algos'"),
    "fetch": ("fetch minst", "did you mean 'mnist'?"),
}


def assert_one_sentence(result: Result, code: int, words: str) -> None:
    assert result.exit_code == code, result.stderr
    assert len(result.stderr.splitlines()) == 1, result.stderr
    assert words in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("case", BAD_WORDS)
def test_wrong_input(shoal: Shoal, tmp_path: Path, case: str) -> None:
    line, words = BAD_WORDS[case]
    assert_one_sentence(shoal(*line.split()), 2, words)
    assert list(tmp_path.iterdir()) == []


def test_data_missing(shoal: Shoal, tmp_path: Path) -> None:
    assert_one_sentence(shoal("run", "data=cifar10", "engine=serial"), 3, "shoal fetch cifar10")
    assert_one_sentence(shoal("run", "fedavg", "local", "data=cifar10", "engine=serial"), 3, "shoal fetch cifar10")
    assert list(tmp_path.iterdir()) == []


def test_data_folder_without_files(shoal: Shoal, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert_one_sentence(shoal("run", "data=folder:empty", "engine=serial"), 3, "empty")
    assert [p.name for p in tmp_path.iterdir()] == ["empty"]
    assert list((tmp_path / "empty").iterdir()) == []


@pytest.mark.parametrize("sweep", [(), ("seed=0,1",)])
def test_unwritable_run_folder(shoal: Shoal, tmp_path: Path, sweep: tuple[str, ...]) -> None:
    (tmp_path / "file").write_text("")
    for place in ("file/run", "/proc/run"):
        result = shoal("run", "engine=serial", "rounds=1", f"out={place}", *sweep)
        assert_one_sentence(result, 4, f"cannot write the run folder {place}")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_run_folder_of_another_version(shoal: Shoal, tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.mkdir()
    (old / "config.toml").write_text('format = 99\nalgorithm = "fedavg"\n')
    for command in (("resume", old), ("compare", old), ("run", old / "config.toml")):
        assert_one_sentence(shoal(*command), 4, "has format 99, this version of Shoal reads 1")
    assert [p.name for p in old.iterdir()] == ["config.toml"]


def test_not_a_run(shoal: Shoal, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    for command in ("resume", "compare", "report", "advise"):
        for place in ("folder", "file"):
            assert_one_sentence(shoal(command, place), 4, f"{place} is not a run folder")
        assert_one_sentence(shoal(command, "nowhere"), 4, "there is no folder nowhere")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder"]


def test_broken_run_folders(shoal: Shoal, tmp_path: Path) -> None:
    run, sweep = tmp_path / "run", tmp_path / "sweep"
    run.mkdir()
    (run / "config.toml").write_text("format = ")
    sweep.mkdir()
    (sweep / "sweep.json").write_text("[{}]")
    assert_one_sentence(shoal("resume", run), 4, "cannot be read")
    assert_one_sentence(shoal("resume", sweep), 4, "cannot be read")
    assert_one_sentence(shoal("compare", sweep), 4, "cannot be read")


def test_a_folder_that_holds_a_run_is_left_alone(shoal: Shoal, tmp_path: Path) -> None:
    shoal("run", "rounds=1", "engine=serial", "out=x")
    before = {p: p.read_bytes() for p in (tmp_path / "x").rglob("*") if p.is_file()}
    assert_one_sentence(shoal("run", "rounds=1", "engine=serial", "out=x"), 4, "x already holds a run")
    assert_one_sentence(shoal("run", "x"), 2, "x is a run folder")
    assert {p: p.read_bytes() for p in (tmp_path / "x").rglob("*") if p.is_file()} == before


def test_bad_target(shoal: Shoal) -> None:
    shoal("run", "rounds=1", "engine=serial", "out=x")
    assert_one_sentence(shoal("compare", "x", "--target", "85"), 2, "an accuracy between 0 and 1")


TOML = {
    "malformed": ("rounds = = 3", "cannot be read as TOML"),
    "key twice": ("rounds = 3\nrounds = 4", "cannot be read as TOML"),
    "unknown key": ("ronds = 3", "unknown key 'ronds'"),
    "unknown table": ("[fedpox]\nmu = 1", "unknown table 'fedpox'"),
    "unknown own key": ('algorithm = "fedprox"\n[fedprox]\nnu = 1', "unknown own key of fedprox 'nu'"),
    "both": ('algorithm = "fedavg"\nalgorithms = ["local"]', "both algorithm and algorithms"),
    "not a name": ("algorithm = 3", "must be a name or a list of names"),
    "no value": ("seed = []", "seed in my.toml has no value"),
    "own data": ('data = "<own>"', "data was an object in Python"),
    "own algorithm": ('algorithm = "<own>"\nobject = "FedAvg()"', "algorithm was an object in Python"),
    "wrong type": ("rounds = 2024-01-01", "is not possible"),
}


@pytest.mark.parametrize("case", TOML)
def test_bad_toml(shoal: Shoal, tmp_path: Path, case: str) -> None:
    text, words = TOML[case]
    (tmp_path / "my.toml").write_text(text)
    assert_one_sentence(shoal("run", "my.toml", "engine=serial"), 2, words)
    assert [p.name for p in tmp_path.iterdir()] == ["my.toml"]


def test_a_bug_is_one_sentence(shoal: Shoal, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("shoal.analysis.compare.compare", broken)
    result = shoal("compare", "x")
    assert_one_sentence(result, 1, "this is a bug in Shoal: ZeroDivisionError: division by zero")
    monkeypatch.setenv("SHOAL_DEBUG", "1")
    assert isinstance(shoal("compare", "x").exception, ZeroDivisionError)


def test_what_the_system_refuses(shoal: Shoal, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object) -> None:
        raise OSError(28, "No space left on device", "runs/x/records.jsonl")

    monkeypatch.setattr("shoal.analysis.compare.compare", full)
    assert_one_sentence(shoal("compare", "x"), 1, "no space left on device (runs/x/records.jsonl)")
