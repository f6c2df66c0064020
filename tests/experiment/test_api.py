"""`shoal.run` and `shoal.resume`: folders, checkpoints, validation split, predictions, what is refused."""

from __future__ import annotations

import gc
import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tests.conftest import small_net

import shoal
from shoal.backends import Serial
from shoal.data.federation import Federation
from shoal.errors import RunFolderError
from shoal.loop.plan import RoundResult
from shoal.store.folder import Folder


def run(toy: Federation, out: Path | None = None, **settings: Any) -> shoal.Run:
    return shoal.run("fedavg", toy, small_net, engine=Serial(), out=out, **{"rounds": 4, "lr": 0.05, **settings})


def test_the_folder_holds_what_the_design_says(toy: Federation, tmp_path: Path) -> None:
    got = run(toy, tmp_path / "r")
    names = {p.name for p in (tmp_path / "r").iterdir()}
    files = {"config.toml", "environment.json", "records.jsonl", "events.jsonl", "groups.csv", "summary.json"}
    assert names == {*files, "data.json", "checkpoints", "models"}
    config = tomllib.loads((tmp_path / "r" / "config.toml").read_text())
    assert config["format"] == 1
    assert (config["algorithm"], config["data"], config["lr"]) == ("fedavg", "<own>", 0.05)
    assert json.loads((tmp_path / "r" / "summary.json").read_text())["rounds"] == 4
    assert (tmp_path / "r" / "groups.csv").read_text().splitlines()[:2] == ["client,group", "c00,0"]
    assert [r["round"] for r in Folder(tmp_path / "r").history()] == [0, 1, 2, 3, 4]
    assert list(Folder(tmp_path / "r").history()) == list(got.history)


def test_the_model_file_loads_into_the_module(toy: Federation, tmp_path: Path) -> None:
    got = run(toy, tmp_path / "r")
    module = small_net()
    module.load_state_dict(load_file(tmp_path / "r" / "models" / "group_0.safetensors"))
    x = torch.randn(5, 6)
    assert torch.equal(module.eval()(x), got.models[0](x))
    assert int(module.get_buffer("features.1.num_batches_tracked")) > 0


def test_ids_and_totals_are_written_only_when_they_change(toy: Federation, tmp_path: Path) -> None:
    run(toy, tmp_path / "r")
    lines = [json.loads(line) for line in (tmp_path / "r" / "records.jsonl").read_text().splitlines()]
    assert set(lines[1]["clients"]) == {"ids", "right", "total"}
    assert set(lines[2]["clients"]) <= {"right"}
    assert all(set(r["clients"]) == {"ids", "right", "total"} for r in list(Folder(tmp_path / "r").history())[1:])


def test_predictions_are_those_of_the_clients_model(toy: Federation) -> None:
    got = run(toy)
    x, y = toy.client("c11")("test")
    right = int((got.predict("c11", x) == y).sum())
    row = got.history[-1]["clients"]
    assert right == row["right"][row["ids"].index("c11")]
    with pytest.raises(shoal.ShoalError, match="no client 'zoe'"):
        got.predict("zoe", x)
    with pytest.raises(shoal.ShoalError, match="shape"):
        got.predict("c11", np.zeros((2, 5)))


def test_history_becomes_a_data_frame(toy: Federation) -> None:
    pytest.importorskip("pandas")
    frame = run(toy).history.to_pandas()
    assert list(frame["round"]) == [0, 1, 2, 3, 4]
    assert {"accuracy", "loss", "discrepancy", "worst", "f1"} <= set(frame.columns)


def test_validation_chooses_a_round(toy: Federation) -> None:
    got = run(toy, val=0.2, rounds=8)
    assert got.plan.federation.roster.sizes_N.sum() < toy.roster.sizes_N.sum()
    chosen = max(got.history[1:], key=lambda r: r["val_accuracy"])
    assert got.summary["best_val_round"] == chosen["round"]
    assert got.summary["accuracy_at_best_val"] == chosen["accuracy"] <= got.summary["best_accuracy"]


def test_testing_less_often_changes_no_model(toy: Federation) -> None:
    often, seldom = run(toy, rounds=5), run(toy, rounds=5, eval_every=2, eval_clients=3)
    assert often.serving.models_KP.tobytes() == seldom.serving.models_KP.tobytes()
    assert ["accuracy" in r for r in seldom.history] == [False, False, True, False, True, True]
    assert len(seldom.history[-1]["clients"]["ids"]) == 3


def test_discrepancy_is_measured_against_the_model_after_the_round(toy: Federation) -> None:
    # One client, one model: after aggregation the model is the client's solution.
    assert run(toy.keep(["c04"])).history[1]["discrepancy"] == pytest.approx(0, abs=1e-5)
    assert run(toy).history[1]["discrepancy"] > 0.01


@pytest.fixture
def interrupted(toy: Federation, tmp_path: Path) -> Path:
    """A run of six rounds that was stopped in the middle of round five."""

    class Stop(shoal.Observer):
        def after_round(self, result: Any) -> None:
            if result.round == 4:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(toy, tmp_path / "cut", rounds=6, observers=[Stop()], checkpoint_every=1)
    return tmp_path / "cut"


def resumed(path: Path, toy: Federation) -> shoal.Run:
    return shoal.resume(path, federation=toy, model=small_net, engine=Serial())


def test_a_truncated_checkpoint_is_passed_over_and_reported(
    interrupted: Path, toy: Federation, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    newest = sorted((interrupted / "checkpoints").iterdir())[-1]
    assert newest.name == "round_00000004.safetensors"
    newest.write_bytes(newest.read_bytes()[:-100])
    got, whole = resumed(interrupted, toy), run(toy, rounds=6)
    assert "round_00000004.safetensors is damaged" in caplog.text
    assert got.serving.models_KP.tobytes() == whole.serving.models_KP.tobytes()
    assert [r["round"] for r in Folder(interrupted).history()] == list(range(7))


def test_without_any_checkpoint_a_run_begins_again(
    interrupted: Path, toy: Federation, caplog: pytest.LogCaptureFixture
) -> None:
    for path in (interrupted / "checkpoints").iterdir():
        path.write_bytes(b"")
    got, whole = resumed(interrupted, toy), run(toy, rounds=6)
    assert "begins again" in caplog.text
    assert got.serving.models_KP.tobytes() == whole.serving.models_KP.tobytes()


def test_a_record_that_was_cut_off_is_written_again(interrupted: Path, toy: Federation) -> None:
    with open(interrupted / "records.jsonl", "a") as file:
        file.write('{"round": 5, "loss"')
    resumed(interrupted, toy)
    assert [r["round"] for r in Folder(interrupted).history()] == list(range(7))


def test_only_the_last_checkpoints_are_kept(interrupted: Path) -> None:
    assert len(list((interrupted / "checkpoints").iterdir())) == 2


def test_other_data_is_refused(interrupted: Path, toy: Federation) -> None:
    with pytest.raises(shoal.ShoalError, match="the data is not what"):
        resumed(interrupted, toy.keep(toy.ids[1:]))
    with pytest.raises(shoal.ShoalError, match=r"shoal.resume\(path, federation=...\)"):
        shoal.resume(interrupted)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"rounds": -1}, "rounds=-1 is not possible"),
        ({"roundz": 1}, "unknown key 'roundz'; did you mean 'rounds'"),
        ({"mu": 1}, "fedavg has no key mu; .* have it"),
        ({"lr": "fast"}, "lr=fast is not possible"),
        ({"selection": "some"}, "selection=some is not possible"),
        ({"val": 1.5}, "val=1.5 is not possible"),
        ({"checkpoint_every": 0}, "checkpoint_every=0 is not possible"),
        ({"device": "gpu"}, "device=gpu is not possible"),
        ({"min_answers": 50}, "min_answers=50 can never be reached"),
    ],
)
def test_what_cannot_be_is_one_sentence(toy: Federation, tmp_path: Path, wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(shoal.ShoalError, match=sentence) as caught:
        run(toy, tmp_path / "never", **wrong)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2
    assert not (tmp_path / "never").exists()


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (lambda: torch.nn.Linear(5, 3), "cannot take an input of shape 6"),
        (lambda: torch.nn.Linear(6, 2), "tells 2 classes apart but the data has 3"),
        (lambda: 3, "returned int, not an nn.Module"),
        (torch.nn.Linear(6, 3), "give the model as something that makes it"),
        (lambda: torch.nn.Flatten(), "no trainable parameter"),
        ("mpl", "unknown model 'mpl'; did you mean 'mlp'"),
    ],
)
def test_a_model_that_does_not_fit_is_one_sentence(toy: Federation, model: Any, sentence: str) -> None:
    with pytest.raises(shoal.ShoalError, match=sentence):
        shoal.run("fedavg", toy, model, engine=Serial())


def test_a_run_that_cannot_begin_leaves_no_folder(toy: Federation, tmp_path: Path) -> None:
    with pytest.raises(shoal.ShoalError, match="table_limit"):
        shoal.run("local", toy, small_net, engine=Serial(), out=tmp_path / "a" / "b", table_limit=1)
    assert not (tmp_path / "a" / "b").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep me")
    with pytest.raises(shoal.ShoalError):
        shoal.run("local", toy, small_net, engine=Serial(), out=tmp_path / "mine", table_limit=1)
    assert [p.name for p in (tmp_path / "mine").iterdir()] == ["notes.txt"]


def test_nobody_tested_is_a_partial_round(toy: Federation) -> None:
    got = shoal.run("local", toy, small_net, rounds=1, clients_per_round=1, eval_clients=1, engine=Serial(), seed=2)
    assert got.history[-1]["partial"] is True


def test_another_algorithm_or_model_is_not_resumed(toy: Federation, tmp_path: Path) -> None:
    shoal.run(shoal.FedAvg(), toy, small_net, rounds=1, engine=Serial(), out=tmp_path / "r")
    other = shoal.FedAvg(solver=shoal.SGD(lr=9.0))
    with pytest.raises(shoal.ShoalError, match="another algorithm"):
        shoal.resume(tmp_path / "r", algorithm=other, federation=toy, model=small_net, engine=Serial(), rounds=2)

    def other_net() -> torch.nn.Module:
        return torch.nn.Sequential(small_net(), torch.nn.Sigmoid())

    with pytest.raises(shoal.ShoalError, match="the model is not the one"):
        shoal.resume(
            tmp_path / "r", algorithm=shoal.FedAvg(), federation=toy, model=other_net, engine=Serial(), rounds=2
        )


def test_data_may_be_named_once(toy: Federation) -> None:
    assert shoal.run("fedavg", data="synthetic", rounds=0, engine=Serial()).plan.federation.name.startswith("synthetic")
    with pytest.raises(shoal.ShoalError, match="given twice"):
        shoal.run("fedavg", "digits", data="synthetic", engine=Serial())
    with pytest.raises(shoal.ShoalError, match="leave partition out"):
        shoal.run("fedavg", toy, small_net, partition="iid", engine=Serial())


def test_a_folder_in_use_is_left_alone(toy: Federation, tmp_path: Path) -> None:
    run(toy, tmp_path / "r")
    before = (tmp_path / "r" / "records.jsonl").read_text()
    with pytest.raises(shoal.ShoalError, match="already holds a run") as caught:
        run(toy, tmp_path / "r")
    assert caught.value.exit_code == 4
    assert (tmp_path / "r" / "records.jsonl").read_text() == before


def test_a_client_whose_samples_the_model_cannot_take_is_named(toy: Federation) -> None:
    def odd() -> torch.nn.Module:
        class Odd(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.layer = torch.nn.Linear(6, 3)

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                if self.training:
                    raise RuntimeError("I do not like to train")
                out: torch.Tensor = self.layer(x)
                return out

        return Odd()

    with pytest.raises(
        shoal.ShoalError, match=r"no client could do the first round.*'c00': failed: RuntimeError: I do"
    ):
        shoal.run("fedavg", toy, odd, engine=Serial())


def test_a_folder_that_is_being_written_is_left_alone(tmp_path: Path) -> None:
    shoal.run("fedavg", rounds=1, engine="serial", out=tmp_path / "run")
    before = (tmp_path / "run" / "records.jsonl").read_text()
    with Folder(tmp_path / "run").lock(), pytest.raises(RunFolderError, match="another process is at work in"):
        shoal.resume(tmp_path / "run", rounds=2)
    assert (tmp_path / "run" / "records.jsonl").read_text() == before
    assert shoal.resume(tmp_path / "run", rounds=2).summary["rounds"] == 2


@pytest.mark.parametrize("kept", [False, True])
def test_rounds_that_are_on_disk_are_not_held_in_memory(toy: Federation, tmp_path: Path, kept: bool) -> None:
    """The records that a run has at its end are those it made, whether they were held meanwhile or read again."""

    def rows_in_memory() -> list[dict[str, Any]]:
        return [o for o in gc.get_objects() if type(o) is dict and {"round", "traffic", "left_out"} <= o.keys()]

    others = rows_in_memory()  # what earlier tests left; held here, so that no address is used again
    of_others = {id(row) for row in others}

    class Look(shoal.Observer):
        def __init__(self) -> None:
            self.held, self.copies = list[int](), list[Any]()

        def after_round(self, result: RoundResult) -> None:
            self.held.append(len({row["round"] for row in rows_in_memory() if id(row) not in of_others}))
            self.copies.append(json.dumps(result.row))

    look = Look()
    run = shoal.run("fedavg", toy, rounds=6, engine="serial", observers=[look], out=None if kept else tmp_path / "run")
    assert list(run.history) == [json.loads(copy) for copy in look.copies]
    assert max(look.held) == (7 if kept else 2)  # the round before last goes when the next one is there
