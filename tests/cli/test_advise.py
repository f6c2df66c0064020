from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Shoal


def test_one_run_with_sentences_numbers_and_a_command(shoal: Shoal, tmp_path: Path) -> None:
    shoal("run", "wecfl", "groups=2", "rounds=2", "lr=0.1", "seed=0", "engine=serial", "out=runs/two")
    text = shoal("advise", "runs/two").stdout
    assert text.startswith("runs/two: wecfl on digits\n")
    assert "groups: 2 groups look too few" in text
    assert "try: shoal run runs/two/config.toml groups=4" in text
    found = json.loads(shoal("advise", "runs/two", "--format", "json").stdout)
    assert (found["kind"], found["together"]) == ("advice", [])
    [run] = found["runs"]
    assert (run["folder"], run["complete"]) == ("runs/two", True)
    first = run["advice"][0]
    assert set(first) == {"about", "text", "numbers", "change", "command"}
    assert first["change"] == {"groups": 4}
    assert first["command"] == "shoal run runs/two/config.toml groups=4"
    assert first["numbers"]["best"] == 4


def test_a_federation_is_repeated_by_its_app(shoal: Shoal, tmp_path: Path) -> None:
    shoal("run", "wecfl", "groups=2", "rounds=1", "lr=0.1", "engine=serial", "out=runs/two")
    config = tmp_path / "runs" / "two" / "config.toml"
    config.write_text(config.read_text().replace('engine = "serial"', 'engine = "flower"'))
    assert "try: groups=4 in the words of the app's run" in shoal("advise", "runs/two").stdout
    found = json.loads(shoal("advise", "runs/two", "--format", "json").stdout)["runs"][0]["advice"][0]
    assert found["change"] == {"groups": 4} and found["command"] is None
    again = shoal("run", "runs/two/config.toml", "out=runs/again")
    assert again.exit_code == 2 and "engine=flower means real sites" in again.stderr


def test_the_command_can_be_run(shoal: Shoal) -> None:
    shoal("run", "wecfl", "groups=2", "rounds=1", "lr=0.1", "engine=serial", "out=runs/two")
    command = json.loads(shoal("advise", "runs/two", "--format", "json").stdout)["runs"][0]["advice"][0]["command"]
    result = shoal(*command.split()[1:], "out=runs/four")
    assert result.exit_code == 0
    assert "groups: 2 groups" not in shoal("advise", "runs/four").stdout


def test_several_runs_together(shoal: Shoal) -> None:
    shoal(
        "run", "fedavg", "local", "wecfl", "groups=2,4", "rounds=8", "epochs=3", "lr=0.1", "engine=serial", "out=runs/s"
    )
    text = shoal("advise", "runs/s").stdout
    assert "all together" in text
    assert "wecfl: 4 groups do as well as any" in text
    assert "groups are worth it: wecfl groups=4 is ahead" in text
    found = json.loads(shoal("advise", "runs", "--format", "json").stdout)
    assert len(found["runs"]) == 4
    assert [advice["about"] for advice in found["together"]] == ["groups", "need"]


def test_one_model_is_enough(shoal: Shoal) -> None:
    shoal("run", "fedavg", "wecfl", "partition=iid", "rounds=10", "lr=0.1", "engine=serial", "out=runs/s")
    assert "groups gain nothing over one model for all" in shoal("advise", "runs/s").stdout


def test_nothing_stands_out_and_what_is_no_run(shoal: Shoal, tmp_path: Path) -> None:
    shoal("run", "fedavg", "rounds=1", "engine=serial", "out=runs/one")
    assert "nothing stands out" in shoal("advise", "runs/one").stdout
    (tmp_path / "runs/one/summary.json").unlink()
    assert "(not complete)" in shoal("advise", "runs/one").stdout
    wrong = shoal("advise", "nowhere")
    assert wrong.exit_code == 4
    assert wrong.stderr == "shoal: there is no folder nowhere; give one that holds a run or a sweep\n"
    assert shoal("advise").exit_code == 2
