"""Memories as files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from shoal.flower.site import device_secret
from shoal.flower.versions import Counts, Versions, own, safe
from shoal.types import Ref


def test_versions_are_kept_until_nobody_needs_them(tmp_path: Path) -> None:
    versions = Versions(tmp_path)
    for stamp in ("1-0", "1-1", "2-0", "3-0"):
        versions.write("ann", stamp, {"at": stamp})
    versions.forget({"ann": ("1-1",), "bob": ()}, "3-0")
    assert [versions.read("ann", stamp) for stamp in ("1-0", "1-1", "2-0", "3-0")] == [
        None,
        {"at": "1-1"},
        None,
        {"at": "3-0"},
    ]


def test_a_damaged_version_is_lost(tmp_path: Path) -> None:
    versions = Versions(tmp_path)
    versions.write("ann", "1-0", {"x": np.arange(100)})
    (file,) = tmp_path.glob("*/*")
    file.write_bytes(file.read_bytes()[:-9])
    assert versions.read("ann", "1-0") is None


def test_names_from_outside_stay_in_the_folder(tmp_path: Path) -> None:
    versions = Versions(tmp_path / "in")
    for client in ("../out", "/etc/x", "", "..", "a/b", "ä" * 200):
        versions.write(client, "../../1", {"c": client})
        assert versions.read(client, "../../1") == {"c": client}
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    assert len({safe(word) for word in ("a/b", "ab", "a.b", "")}) == 4


def test_vectors_that_were_sent_are_copied() -> None:
    models = np.arange(6.0).reshape(3, 2)
    kept = own({"w0": Ref((0,), True, True), "rest": Ref((1, 2), False, True), "n": 3}, models)
    models[:] = 0
    assert kept["w0"].tolist() == [0, 1] and kept["rest"].tolist() == [[2, 3], [4, 5]] and kept["n"] == 3


def test_counts_and_the_secret_outlive_the_process(tmp_path: Path) -> None:
    Counts(tmp_path / "counts.json").add("ann", "Train")
    again = Counts(tmp_path / "counts.json")
    again.add("ann", "Train")
    assert (again.of("ann", "Train"), again.of("bob", "Train")) == (2, 0)
    assert device_secret(tmp_path / "secret") == device_secret(tmp_path / "secret")
    assert len(device_secret(tmp_path / "secret")) == 32
