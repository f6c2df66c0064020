"""What `make bits` calls a difference, and what it does not."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from tools import bits

RUN = "fesem groups=4"


def folder(path: Path, *, loss: float = 0.5, weight: float = 1.0, seconds: float = 3.0, **more: object) -> bits.Hashes:
    """The pieces of a run folder of one round, with one model."""
    (path / "models").mkdir(parents=True)
    save_file({"w": np.array([weight, 2], np.float32)}, path / "models" / "group_0.safetensors")
    record = {"round": 1, "loss": loss, "measures": {"F": 2, **more}, "time": {"round": seconds}}
    (path / "records.jsonl").write_text(json.dumps(record) + "\n")
    (path / "events.jsonl").write_text('{"kind": "split", "group": 0}\n')
    (path / "summary.json").write_text(json.dumps({"rounds": 1, "seconds": seconds}))
    (path / "config.toml").write_text('engine = "serial"\nlr = 0.1\n[fesem]\ngroups = 4\n')
    return dict(bits.pieces(path))


def test_a_run_folder_is_hashed_by_pieces_without_times_and_engine(tmp_path: Path) -> None:
    found = folder(tmp_path / "a")
    assert list(found) == [
        "models.group_0",
        "records.loss",
        "records.measures.F",
        "records.round",
        "events.split",
        "summary.rounds",
        "config.fesem.groups",
        "config.lr",
    ]
    assert folder(tmp_path / "b", seconds=4) == found


@pytest.fixture(autouse=True)
def nothing_is_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bits, "EXPECTED", {})


@pytest.mark.parametrize(
    ("change", "named"), [({"loss": np.nextafter(0.5, 1)}, "records.loss"), ({"weight": 1 + 2**-23}, "models.group_0")]
)
def test_the_last_bit_makes_a_difference_and_is_named(tmp_path: Path, change: dict[str, float], named: str) -> None:
    before, now = folder(tmp_path / "before"), folder(tmp_path / "now", **change)
    assert bits.verdict(RUN, before, now) == (False, f"DIFFERS in {named}")


def test_what_is_new_is_not_compared_and_what_is_gone_is(tmp_path: Path) -> None:
    less, more = folder(tmp_path / "less"), folder(tmp_path / "more", extra=1)
    assert bits.verdict(RUN, less, more) == (True, "same")
    assert bits.verdict(RUN, more, less) == (False, "DIFFERS in records.measures.extra")


def test_a_difference_may_be_expected_in_named_runs_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, now = folder(tmp_path / "before"), folder(tmp_path / "now", loss=0.25)
    monkeypatch.setattr(bits, "EXPECTED", {"fesem * records.loss": "a sum was wrong"})
    assert bits.verdict(RUN, before, now) == (True, "differs as expected: a sum was wrong")
    assert bits.verdict("wecfl groups=4", before, now) == (False, "DIFFERS in records.loss")


def test_a_run_that_fails_is_no_success_even_if_it_failed_before() -> None:
    assert bits.verdict(RUN, {"error": "x"}, {"error": "x"}) == (False, "FAILS: x")


def test_hashes_of_another_machine_are_refused_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bits, "machine", lambda: {"kernels": "base"})
    assert bits.check({"commit": "0123456789", "machine": {"kernels": "avx2"}, "runs": {}}, "") == 2
    assert capsys.readouterr().out == (
        "The hashes of 0123456 were made on another machine or build (kernels avx2, here base); "
        "make them here: tools/bits.py check --against 0123456\n"
    )


def test_every_written_run_has_committed_hashes() -> None:
    written = [line for line in (bits.HERE / "bits.txt").read_text().splitlines() if not line.startswith("#")]
    committed = json.loads((bits.HERE / "bits.json").read_text())["runs"]
    assert {line.replace("DRIFT", bits.DRIFT) for line in written} <= set(committed)
    assert not any("error" in hashes for hashes in committed.values())
