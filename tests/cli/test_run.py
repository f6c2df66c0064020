from __future__ import annotations

import json
import re
import shlex
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


def test_suggested_commands_can_be_typed_where_paths_have_spaces(shoal: Shoal, tmp_path: Path) -> None:
    """Every command that is suggested, read as a shell reads it, names the folder as one word."""
    one = shoal("run", "rounds=1", "engine=serial", "out=my runs/one").stdout
    two = shoal("run", "fedavg", "local", "rounds=1", "engine=serial", "out=my runs/two").stdout
    taken = shoal("run", "rounds=1", "engine=serial", "out=my runs/one").stderr
    sweep = shoal("run", "fedavg", "local", "rounds=1", "engine=serial", "out=my runs/two").stderr
    folder = shoal("run", "my runs/one").stderr
    config = (tmp_path / "my runs/one/config.toml").read_text().splitlines()[0]
    for text in (one, two, taken, sweep, folder, config):
        found = re.findall(r"shoal (?:resume|compare|report|run) [^\n`]*", text)
        assert found, text
        for command in found:
            words = shlex.split(command)
            assert any(word.startswith("my runs") for word in words), command
            assert "my" not in words, command


def test_a_run_in_which_some_clients_never_had_a_model_shows_its_best_with_its_coverage(
    shoal: Shoal, tmp_path: Path
) -> None:
    """Two of 20 clients come in each of two rounds: after the last, four have a model at most."""
    words = ("rounds=2", "clients_per_round=2", "selection=random", "engine=serial")
    end = shoal("run", "local", *words, "out=runs/some").stdout
    summary = json.loads((tmp_path / "runs/some/summary.json").read_text())
    best, who = f"{100 * summary['best_partial_accuracy']:.1f}", f"{summary['best_partial_clients']} of 20 clients"
    assert f"best accuracy   {best} %" in end
    assert f"of {who}, in round {summary['best_partial_round']}" in end
    assert "some client had no model yet; all tested ones" in end
    shoal("run", "fedavg", *words, "out=runs/all")
    text = shoal("compare", "runs").stdout
    assert f"{best} ({who})" in text
    assert "(clients)  no round had a model for all: best accuracy of those that had one, and how many" in text
    assert max(map(len, text.splitlines())) <= 100
    assert f"{best} ({who})" in shoal("compare", "runs", "--format", "latex").stdout
    found = json.loads(shoal("compare", "runs", "--format", "json").stdout)["comparison"]
    mine = next(line["figures"] for line in found if line["name"] == "local")
    assert mine["best_accuracy"] is None
    assert mine["best_partial_accuracy"]["mean"] == summary["best_partial_accuracy"]
    assert (mine["best_partial_clients"]["mean"], mine["best_partial_of"]["mean"]) == (int(who.split()[0]), 20)
    said = shoal("compare", "runs", "--differences").stdout
    assert said.startswith("only one setting has best_accuracy (")


def test_auto_says_in_five_sentences_what_it_runs_and_why(shoal: Shoal) -> None:
    result = shoal("run", "auto", "partition=iid:clients=4", "rounds=2", "engine=serial", "--format", "json")
    found = json.loads(result.stdout)
    assert found["config"]["chosen_by"] == "auto"
    said = [note["says"] for note in found["decision"]]
    lines = result.stderr.splitlines()
    assert lines[0] == "auto tries fedavg, 2 rounds"
    start = lines.index(said[0])
    assert lines[start : start + 5] == said
    shown = shoal("run", "auto", "partition=iid:clients=4", "rounds=2", "engine=serial")
    assert f"{found['config']['algorithm']} (chosen by auto) on digits" in shown.stdout


def test_auto_is_suggested_and_listed(shoal: Shoal) -> None:
    assert "did you mean 'auto'?" in shoal("run", "aut").stderr
    assert "shoal run auto" in shoal("list", "algorithms").stdout
    assert "shoal run auto" in shoal("run", "--help").stdout
