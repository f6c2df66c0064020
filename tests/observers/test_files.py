"""Checkpoints are written beside the rounds: whole, in order, with errors that are not lost."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shoal
from shoal.loop.plan import RoundResult
from shoal.store import checkpoint, codec

SETTINGS: dict[str, Any] = {"engine": "serial", "lr": 0.1, "checkpoint_every": 1}


class Rounds(shoal.Observer):
    """Notes the rounds that are over; raises after one of them."""

    def __init__(self, until: int = 99, gate: threading.Event | None = None) -> None:
        self.seen: list[int] = []
        self.until, self.gate = until, gate or threading.Event()

    def after_round(self, result: RoundResult) -> None:
        self.seen.append(result.round)
        if result.round == self.until:
            self.gate.set()
            raise KeyboardInterrupt


def slowed(monkeypatch: pytest.MonkeyPatch, gate: threading.Event, failing: int = -1) -> None:
    """Writing waits for the gate; the checkpoint of one round cannot be written."""
    write = codec.write_copy

    def slow(path: Path, copy: codec.Copied) -> None:
        gate.wait(60)
        if path.name == f"round_{failing:08d}.safetensors":
            raise OSError(28, "No space left on device")
        write(path, copy)

    monkeypatch.setattr(codec, "write_copy", slow)


def test_rounds_go_on_while_a_checkpoint_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    slowed(monkeypatch, gate)

    class Open(Rounds):
        def after_round(self, result: RoundResult) -> None:
            super().after_round(result)
            if result.round == 3:  # the start is still being written
                assert not checkpoint.saved(tmp_path / "run" / "checkpoints")
                gate.set()

    watch = Open()
    settings = {**SETTINGS, "checkpoint_every": 4}
    run = shoal.run("fedavg", rounds=6, out=tmp_path / "run", observers=[watch], **settings)
    assert watch.seen == list(range(7))
    names = [p.name for p in checkpoint.saved(tmp_path / "run" / "checkpoints")]
    assert names == ["round_00000004.safetensors", "round_00000006.safetensors"]
    value = codec.read(tmp_path / "run" / "checkpoints" / names[-1], codec.records_of(run.plan.algorithm.state))
    assert value["state"].w_KP.tobytes() == run.serving.models_KP.tobytes()


@pytest.mark.parametrize("round", [2, 5])
def test_what_cannot_be_written_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, round: int) -> None:
    gate, watch = threading.Event(), Rounds()
    gate.set()
    slowed(monkeypatch, gate, failing=round)
    with pytest.raises(OSError, match="No space left"):
        shoal.run("fedavg", rounds=5, out=tmp_path / "run", observers=[watch], **SETTINGS)
    assert watch.seen[-1] in (round - 1, round)  # at once where the last round fails, else not later than the next
    assert not (tmp_path / "run" / "summary.json").exists()


def test_an_interrupted_run_completes_its_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    slowed(monkeypatch, gate)
    with pytest.raises(KeyboardInterrupt):
        shoal.run("fedavg", rounds=9, out=tmp_path / "run", observers=[Rounds(0, gate)], **SETTINGS)
    assert [p.name for p in checkpoint.saved(tmp_path / "run" / "checkpoints")] == ["round_00000000.safetensors"]
    monkeypatch.undo()
    got, whole = shoal.resume(tmp_path / "run", rounds=3), shoal.run("fedavg", rounds=3, **SETTINGS)
    assert got.serving.models_KP.tobytes() == whole.serving.models_KP.tobytes()


def test_an_interrupted_run_tells_what_it_could_not_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    gate = threading.Event()
    slowed(monkeypatch, gate, failing=0)
    with caplog.at_level(logging.WARNING, "shoal"), pytest.raises(KeyboardInterrupt):
        shoal.run("fedavg", rounds=9, out=tmp_path / "run", observers=[Rounds(0, gate)], **SETTINGS)
    assert "the last checkpoint could not be written: [Errno 28] No space left on device" in caplog.text


def test_a_copy_does_not_change_with_what_was_copied(tmp_path: Path) -> None:
    value = {"model": np.zeros(3)}
    copy = codec.copied(value)
    value["model"] += 1
    codec.write_copy(tmp_path / "it.safetensors", copy)
    assert codec.read(tmp_path / "it.safetensors", {})["model"].tolist() == [0, 0, 0]
