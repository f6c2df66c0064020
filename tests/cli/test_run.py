from __future__ import annotations

import json
from pathlib import Path

import pytest
from safetensors.numpy import load_file
from tests.cli.conftest import Shoal

QUICK = ("rounds=2", "engine=serial")


def only_run(path: Path) -> Path:
    (found,) = (path / "runs").iterdir()
    return found


def test_one_run_says_what_came_out_and_where_it_is(shoal: Shoal, tmp_path: Path) -> None:
    result = shoal("run", *QUICK)
    folder = only_run(tmp_path)
    assert result.exit_code == 0
    assert folder.name.endswith("-fedavg-digits-s0")
    for words in ("fedavg on digits", "best accuracy", "worst tenth", "macro F1", "traffic", "peak memory", "time"):
        assert words in result.stdout
    assert f"Run folder: runs/{folder.name}" in result.stdout
    assert f"shoal resume runs/{folder.name}" in result.stdout
    assert "fedavg  round 2/2  accuracy" in result.stderr
    assert "\x1b" not in result.stdout + result.stderr  # no colours in a pipe
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_json_is_all_of_stdout(shoal: Shoal) -> None:
    result = shoal("run", "fedprox", "mu=0.5", "seed=3", *QUICK, "--format", "json")
    found = json.loads(result.stdout)
    assert found["kind"] == "run"
    assert found["complete"] is True
    assert found["config"]["fedprox"] == {"mu": 0.5}
    assert found["config"]["seed"] == 3
    assert found["summary"]["rounds"] == 2
    assert (Path(found["folder"]) / "summary.json").is_file()
    assert "round 2/2" in result.stderr


def test_quiet_prints_the_folder_alone(shoal: Shoal, tmp_path: Path) -> None:
    result = shoal("run", *QUICK, "-q")
    assert result.stdout == f"runs/{only_run(tmp_path).name}\n"
    assert result.stderr == ""


def test_a_sweep_ends_with_one_table(shoal: Shoal, tmp_path: Path) -> None:
    result = shoal("run", "fedavg", "local", "seed=0,1", *QUICK)
    assert result.exit_code == 0, result.stderr
    folder = only_run(tmp_path)
    assert sorted(p.name for p in folder.iterdir() if p.is_dir()) == [
        "fedavg-seed=0",
        "fedavg-seed=1",
        "local-seed=0",
        "local-seed=1",
    ]
    assert "2/4 fedavg-seed=1  round 2/2" in result.stderr
    assert [line.split()[1] for line in result.stdout.splitlines() if line.startswith(("fedavg", "local"))] == ["2"] * 2
    assert "worst %    mean accuracy of the worst tenth" in result.stdout
    assert f"Sweep folder: runs/{folder.name} (4 runs)" in result.stdout


def test_a_sweep_as_json(shoal: Shoal) -> None:
    found = json.loads(shoal("run", "fedavg", "lr=0.1,0.2", *QUICK, "out=s", "--format", "json").stdout)
    assert found["kind"] == "sweep"
    assert found["runs"] == ["s/fedavg-lr=0.1", "s/fedavg-lr=0.2"]
    assert [line["name"] for line in found["comparison"]] == ["fedavg lr=0.1", "fedavg lr=0.2"]


def test_toml_with_values_tables_and_command_line_over_it(shoal: Shoal, tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text(
        'algorithms = ["fedavg", "fedprox"]\nrounds = 2\nseed = [0, 1]\nengine = "serial"\nout = "s"\n'
        "[fedprox]\nmu = 0.5\n"
    )
    assert shoal("run", "my.toml", "lr=0.2").exit_code == 0
    config = (tmp_path / "s/fedprox-seed=1/config.toml").read_text()
    assert "mu = 0.5" in config
    assert "lr = 0.2" in config
    assert shoal("run", "fedprox", "my.toml", "seed=4", "mu=2", "out=t").exit_code == 0
    config = (tmp_path / "t/config.toml").read_text()
    assert 'algorithm = "fedprox"' in config
    assert "mu = 2.0" in config
    assert "seed = 4" in config


@pytest.mark.parametrize("words", [("fedprox", "mu=0.1"), ("central",), ("fedavg", "selection=all", "val=0.2")])
def test_the_config_of_a_run_repeats_it(shoal: Shoal, tmp_path: Path, words: tuple[str, ...]) -> None:
    assert shoal("run", *words, "seed=5", *QUICK, "out=a").exit_code == 0
    assert shoal("run", "a/config.toml", "out=b").exit_code == 0
    first, second = (load_file(tmp_path / x / "models/group_0.safetensors") for x in "ab")
    assert all((first[k] == second[k]).all() for k in first)
    configs = [(tmp_path / x / "config.toml").read_text().splitlines()[1:] for x in "ab"]
    configs = [sorted(lines) for lines in configs]
    assert configs[0] == configs[1]


def test_left_out_clients_and_skipped_rounds_are_told(shoal: Shoal) -> None:
    result = shoal("run", *QUICK, "lr=1e38")  # the updates are not finite, so every answer is refused
    assert result.exit_code == 1
    assert "no client could do the first round" in result.stderr
    assert "Traceback" not in result.stderr
