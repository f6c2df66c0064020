"""Trackers: what a real run tells them, read back by their own readers; interruptions; what is refused."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.report.records import regression

import shoal
from shoal.errors import BadInput
from shoal.loop.plan import RoundResult
from shoal.observers import TRACKERS, track
from shoal.observers.track import Tracker, scalars
from shoal.store.folder import Folder

WORDS = ["ifca", "groups=2", "rounds=3", "engine=serial", "checkpoint_every=2"]
MLFLOW = """
import json, sys
from mlflow.tracking import MlflowClient
client = MlflowClient("sqlite:///" + sys.argv[1])
[run] = client.search_runs([client.get_experiment_by_name("shoal").experiment_id])
steps = {k: [(m.step, m.value) for m in client.get_metric_history(run.info.run_id, k)] for k in run.data.metrics}
files = [f.path for d in ("", "models") for f in client.list_artifacts(run.info.run_id, d)]
print(json.dumps([run.info.run_name, run.info.status, run.data.params, steps, files]))
"""


def needs(package: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(find_spec(package) is None, reason=f"needs {package}: pip install 'shoal[track]'")


class Stop(shoal.Observer):
    """Breaks a run off after a round, as a crash would."""

    def __init__(self, after: int) -> None:
        self.after = after

    def after_round(self, result: RoundResult) -> None:
        if result.round == self.after:
            raise RuntimeError("the power is gone")


def tiny(out: Path | None, **more: Any) -> shoal.Run:
    keys: dict[str, Any] = {"groups": 2, "rounds": 4, "checkpoint_every": 2, "engine": "serial", **more}
    return shoal.run("ifca", out=out, **keys)


def seen_by_tensorboard(folder: Path) -> dict[str, list[tuple[int, float]]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator(str(folder / "tensorboard")).Reload()
    return {tag: [(e.step, e.value) for e in found.Scalars(tag)] for tag in found.Tags()["scalars"]}


def expected(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """What the records of a run say, by name."""
    out: dict[str, list[tuple[int, float]]] = {}
    for row in Folder(folder).rows():
        for name, value in scalars(row).items():
            out.setdefault(name, []).append((row["round"], value))
    return out


def assert_alike(got: Mapping[str, Any], want: Mapping[str, list[tuple[int, float]]]) -> None:
    assert set(got) == set(want)
    for name, points in want.items():
        assert [step for step, _ in got[name]] == [step for step, _ in points], name
        if not name.startswith("time/"):  # rounds that were played twice took another time
            assert [value for _, value in got[name]] == pytest.approx([v for _, v in points], rel=1e-6), name


@needs("tensorboard")
@pytest.mark.filterwarnings("ignore")
def test_tensorboard_reads_what_the_records_say(tmp_path: Path) -> None:
    tiny(tmp_path / "r", track="tensorboard")
    got = seen_by_tensorboard(tmp_path / "r")
    assert {"accuracy", "loss", "group_accuracy/1", "group_size/0", "bytes", "time/round"} <= set(got)
    assert_alike(got, expected(tmp_path / "r"))


@needs("tensorboard")
@pytest.mark.filterwarnings("ignore")
def test_tensorboard_has_settings_and_groups(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    tiny(tmp_path / "r", track="tensorboard", rounds=1)
    found = EventAccumulator(str(tmp_path / "r" / "tensorboard")).Reload()
    [groups] = [e.tensor_proto.string_val[0].decode() for e in found.Tensors("groups.csv")]
    assert groups.split() == (tmp_path / "r" / "groups.csv").read_text().split()
    [config] = [e.tensor_proto.string_val[0].decode() for e in found.Tensors("config")]
    assert "    algorithm = ifca\n" in config and "    groups = 2\n" in config
    assert found.PluginTagToContent("hparams")


@needs("tensorboard")
@pytest.mark.filterwarnings("ignore")
def test_a_round_that_is_played_again_is_told_once(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="power"):
        tiny(tmp_path / "r", track="tensorboard", observers=[Stop(3)])
    assert [step for step, _ in seen_by_tensorboard(tmp_path / "r")["accuracy"]] == [1, 2, 3]
    shoal.resume(tmp_path / "r")  # from the checkpoint of round 2
    assert_alike(seen_by_tensorboard(tmp_path / "r"), expected(tmp_path / "r"))


@needs("tensorboard")
@pytest.mark.filterwarnings("ignore")
def test_rounds_that_were_not_told_are_told_on_resume(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="power"):
        tiny(tmp_path / "r", track="tensorboard", observers=[Stop(2)])
    for file in (tmp_path / "r" / "tensorboard").iterdir():
        file.unlink()
    shoal.resume(tmp_path / "r", rounds=5)
    assert_alike(seen_by_tensorboard(tmp_path / "r"), expected(tmp_path / "r"))


def cli(*words: str, cwd: Path) -> None:
    free = {k: v for k, v in os.environ.items() if not k.startswith(("MLFLOW_", "WANDB_"))}
    subprocess.run(
        [sys.executable, "-m", "shoal.cli", *words, "-q"],
        cwd=cwd,
        env={**free, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=True,
        capture_output=True,
    )


@pytest.mark.slow
@needs("mlflow")
def test_mlflow_reads_what_the_records_say(tmp_path: Path) -> None:
    cli("run", *WORDS, "track=mlflow", "out=runs/r", cwd=tmp_path)
    cli("resume", "runs/r", "rounds=4", cwd=tmp_path)
    database = tmp_path / "runs" / "mlruns" / "mlflow.db"
    out = subprocess.run(
        [sys.executable, "-c", MLFLOW, str(database)], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    name, status, parameters, numbers, files = json.loads(out.stdout)
    assert (name, status, parameters["algorithm"], parameters["groups"]) == ("r", "FINISHED", "ifca", "2")
    assert_alike(numbers, expected(tmp_path / "runs" / "r"))
    assert {"config.toml", "groups.csv", "summary.json", "models/group_0.safetensors"} <= set(files)


@pytest.mark.slow
@needs("wandb")
def test_wandb_writes_an_offline_folder_under_one_id(tmp_path: Path) -> None:
    cli("run", *WORDS, "track=wandb", "out=runs/r", cwd=tmp_path)
    cli("resume", "runs/r", "rounds=4", cwd=tmp_path)
    note = json.loads((tmp_path / "runs" / "r" / "track.json").read_text())["wandb"]
    places = sorted((tmp_path / "runs" / "r" / "wandb").glob("offline-run-*"))
    assert note["round"] == 4
    assert len(places) == 2 and all(p.name.endswith(note["id"]) for p in places)
    assert all((p / f"run-{note['id']}.wandb").stat().st_size > 0 for p in places)


@pytest.mark.parametrize("name", TRACKERS)
def test_a_missing_package_is_said_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(track, "find_spec", lambda package: None)
    with pytest.raises(BadInput, match=rf"track={name} needs the package {name}.*shoal\[track\]"):
        tiny(tmp_path / "r", track=name)
    with pytest.raises(BadInput, match="needs the package"):
        shoal.sweep(["fedavg", "ifca"], track=[name], rounds=1, engine="serial", out=tmp_path / "s")
    assert not list(tmp_path.iterdir())


@needs("tensorboard")
def test_trackers_need_a_folder() -> None:
    with pytest.raises(BadInput, match="needs a run folder"):
        tiny(None, track="tensorboard")


@needs("tensorboard")
@needs("mlflow")
def test_several_trackers_are_no_sweep() -> None:
    from shoal.experiment.sweep import points

    [point] = points(["fedavg"], {"track": "tensorboard,mlflow"})
    assert point.pairs["track"] == "tensorboard,mlflow"


class Flaky:
    """A service that breaks in a given round."""

    def __init__(self, breaks: int) -> None:
        self.breaks = breaks
        self.told: list[int] = []

    def open(self, folder: Folder, parameters: Mapping[str, Any]) -> int:
        if self.breaks < 0:
            raise OSError("no\nserver")
        return -1

    def log_round(self, round: int, numbers: Mapping[str, float]) -> None:
        if round == self.breaks:
            raise OSError("the line is dead")
        self.told.append(round)

    def log_artifact(self, path: Path) -> None:
        raise AssertionError("it was given up")

    def close(self, complete: bool) -> None:
        raise AssertionError("it was given up")


def test_a_service_that_fails_on_the_way_is_given_up(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    flaky = Flaky(2)
    with caplog.at_level(logging.WARNING, "shoal"):
        run = tiny(tmp_path / "r", observers=[Tracker("flaky", flaky, Folder(tmp_path / "r"))])
    assert run.summary["rounds"] == 4
    assert flaky.told == [0, 1]
    assert caplog.messages == ["flaky no longer tracks the run: the line is dead"]


def test_a_service_that_cannot_begin_stops_the_run(tmp_path: Path) -> None:
    with pytest.raises(shoal.ShoalError, match="track=flaky failed: no server"):
        tiny(tmp_path / "r", observers=[Tracker("flaky", Flaky(-1), Folder(tmp_path / "r"))])
    assert not (tmp_path / "r").exists()


def test_the_score_and_other_metrics_are_told_of_everybody_and_of_each_group(tmp_path: Path) -> None:
    rows = list(Folder(regression(tmp_path / "run", [0.5])).rows())
    found = scalars(rows[1])
    assert (found["rmse"], found["mae"], found["odd"], found["val_rmse"]) == (0.5, 0.25, 1.5, 0.5)
    assert (found["group_rmse/0"], found["group_mae/1"]) == (0.45, 0.275)
