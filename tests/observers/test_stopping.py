"""Runs that end before their last round: complete, with their reason, and the same after a resume."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.backends import Serial
from shoal.errors import BadInput
from shoal.experiment.engines_agree import digest_of
from shoal.loop.plan import RoundResult
from shoal.objectives import OBJECTIVES
from shoal.store.folder import Folder, read_lines

KEYS: dict[str, Any] = {"seed": 1, "lr": 0.3, "engine": "serial"}


class Enough(shoal.Observer):
    """Ends a run after a round, and notes what it is told."""

    def __init__(self, after: int) -> None:
        self.after, self.told = after, list[tuple[int, str | None]]()

    def why_stop(self, result: RoundResult) -> str | None:
        return "enough" if result.round == self.after else None

    def after_round(self, result: RoundResult) -> None:
        self.told.append((result.round, result.stopped))


class Cut(shoal.Observer):
    def __init__(self, at: int) -> None:
        self.at = at

    def after_round(self, result: RoundResult) -> None:
        if result.round == self.at:
            raise KeyboardInterrupt


def events(path: Path) -> list[dict[str, Any]]:
    return list(read_lines(path / "events.jsonl"))


def test_an_observer_ends_a_run_which_is_then_complete(tmp_path: Path) -> None:
    whole = shoal.run("fedavg", rounds=3, **KEYS)
    seen = Enough(3)
    run = shoal.run("fedavg", rounds=9, out=tmp_path / "run", observers=[seen], **KEYS)
    assert digest_of(run) == digest_of(whole)
    assert seen.told == [(0, None), (1, None), (2, None), (3, "enough")]
    assert (run.summary["rounds"], run.summary["stopped"]) == (3, "enough")
    assert "stopped" not in whole.summary
    assert events(tmp_path / "run") == [{"round": 3, "kind": "stopped", "reason": "enough"}]
    assert Folder(tmp_path / "run").summary() == run.summary
    assert sorted(p.name for p in (tmp_path / "run" / "checkpoints").iterdir())[-1] == "round_00000003.safetensors"


def test_one_that_an_observer_ended_stays_ended_until_it_is_to_go_on(tmp_path: Path) -> None:
    run = shoal.run("fedavg", rounds=5, out=tmp_path / "run", observers=[Enough(2)], **KEYS)
    again = shoal.resume(tmp_path / "run")
    assert digest_of(again) == digest_of(run)
    assert (again.summary["rounds"], again.summary["stopped"]) == (2, "enough")
    assert [e["kind"] for e in events(tmp_path / "run")] == ["stopped"]
    assert again.plan.rounds == run.plan.rounds  # newcomers draw from it
    on = shoal.resume(tmp_path / "run", stop="never")
    assert digest_of(on) == digest_of(shoal.run("fedavg", rounds=5, **KEYS))
    assert "stopped" not in on.summary
    assert events(tmp_path / "run") == []


def test_a_target_ends_a_run_also_when_it_was_cut_before(tmp_path: Path) -> None:
    free = shoal.run("fedavg", rounds=12, **KEYS)
    values = free.history.column("accuracy")
    target = sorted(v for v in values if v is not None)[6]
    first = next(t for t, v in enumerate(values) if v is not None and v >= target)
    keys: dict[str, Any] = {"rounds": 12, "stop": f"target:{target}", **KEYS}
    run = shoal.run("fedavg", out=tmp_path / "whole", **keys)
    assert 2 < first < 12
    assert run.summary["rounds"] == first
    with pytest.raises(KeyboardInterrupt):
        shoal.run("fedavg", out=tmp_path / "cut", observers=[Cut(first - 1)], checkpoint_every=2, **keys)
    cut = shoal.resume(tmp_path / "cut")
    assert digest_of(cut) == digest_of(run)
    assert cut.summary["stopped"] == run.summary["stopped"]
    assert events(tmp_path / "cut") == events(tmp_path / "whole")
    longer = shoal.resume(tmp_path / "whole", rounds=20)  # the rule is still there
    assert (longer.summary["rounds"], longer.summary["stopped"]) == (first, run.summary["stopped"])
    assert [e["kind"] for e in events(tmp_path / "whole")] == ["stopped"]
    on = shoal.resume(tmp_path / "whole", stop="score:patience=99")
    assert on.summary["rounds"] == 20
    assert Folder(tmp_path / "whole").config()["stop"] == "score:patience=99"


def test_patience_remembers_the_rounds_before_a_cut(tmp_path: Path) -> None:
    """A learning rate of 0: no round is better than the first, so three rounds after it the run ends."""
    keys: dict[str, Any] = {**KEYS, "lr": 0, "rounds": 9, "stop": "score:patience=3"}
    with pytest.raises(KeyboardInterrupt):
        shoal.run("fedavg", out=tmp_path / "run", observers=[Cut(2)], **keys)
    run = shoal.resume(tmp_path / "run")
    assert run.summary["rounds"] == 4
    assert run.summary["stopped"].startswith("accuracy has not improved for 3 rounds; best ")
    assert run.summary["stopped"].endswith(" in round 1")


def test_validation_decides_where_there_is_a_validation_part() -> None:
    run = shoal.run("fedavg", rounds=9, val=0.2, stop="target:0.01", **KEYS)
    assert run.summary["rounds"] == 1
    assert run.summary["stopped"].startswith("validation accuracy is ")


@pytest.mark.parametrize(("seconds", "rounds"), [(3597.0, 3), (3599.0, 1)])
def test_time_of_rounds_before_a_cut_counts(tmp_path: Path, seconds: float, rounds: int) -> None:
    """As if the start had taken about an hour and round 1 two seconds: 3,601 seconds are over the limit, 3,599 not."""
    with pytest.raises(KeyboardInterrupt):
        shoal.run(
            "fedavg",
            rounds=3,
            stop="time:1h+score:patience=9",
            out=tmp_path,
            observers=[Cut(1)],
            checkpoint_every=1,
            **KEYS,
        )
    path = tmp_path / "records.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[0]["time"]["round"], lines[1]["time"]["round"] = seconds, 2.0
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    run = shoal.resume(tmp_path)
    assert run.summary["rounds"] == rounds
    assert run.summary.get("stopped") == (None if rounds == 3 else "the rounds took 1:00:01, the limit was 1:00:00")


def test_a_task_that_is_given_again_is_no_change(tmp_path: Path) -> None:
    task = replace(OBJECTIVES["classification"], name="mine")
    run = shoal.run("fedavg", rounds=5, task=task, out=tmp_path / "run", observers=[Enough(2)], **KEYS)
    assert digest_of(shoal.resume(tmp_path / "run", task=task)) == digest_of(run)
    assert shoal.resume(tmp_path / "run", task=task, stop="never").summary["rounds"] == 5


def test_the_last_round_is_no_stop() -> None:
    assert "stopped" not in shoal.run("fedavg", rounds=2, observers=[Enough(2)], **KEYS).summary


def test_a_sweep_takes_rules_joined_by_commas_as_one(tmp_path: Path) -> None:
    stop = "target:0.01,score:patience=3"
    paths = shoal.sweep(["fedavg", "local"], rounds=4, stop=stop, out=tmp_path / "sweep", **KEYS)
    assert [p.name for p in paths] == ["fedavg", "local"]
    assert [Folder(p).summary()["rounds"] for p in paths] == [1, 1]  # type: ignore[index]


def test_nothing_is_written_for_a_rule_that_makes_no_sense(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="stop=target:90 is not possible: accuracy lies between 0 and 1"):
        shoal.run("fedavg", rounds=1, stop="target:90", out=tmp_path / "run", engine=Serial())
    assert not (tmp_path / "run").exists()
