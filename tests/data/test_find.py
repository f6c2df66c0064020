"""Where data sets are looked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shoal.data import find as module
from shoal.data.find import find, idx, read
from shoal.errors import DataMissing


def test_the_named_folder_comes_before_the_cache(tmp_path: Path) -> None:
    env = {"SHOAL_DATA": str(tmp_path / "mine"), "XDG_CACHE_HOME": str(tmp_path)}
    for folder in ("mine", "shoal"):
        (tmp_path / folder).mkdir()
        np.savez(tmp_path / folder / "mnist.npz", y=[1])
    assert find("mnist", env) == tmp_path / "mine" / "mnist.npz"
    (tmp_path / "mine" / "mnist.npz").unlink()
    assert find("mnist", env) == tmp_path / "shoal" / "mnist.npz"


def test_the_debian_package_is_the_last_resort(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DEBIAN", tmp_path)
    env = {"XDG_CACHE_HOME": str(tmp_path)}
    with pytest.raises(DataMissing, match="shoal fetch fashion-mnist"):
        find("fashion-mnist", env)
    for file in module.IDX_FILES.values():
        (tmp_path / f"{file}.gz").write_bytes(b"")
    assert find("fashion-mnist", env) == tmp_path


@pytest.mark.parametrize("content", [b"", b"no zip file", b"PK\x03\x04 cut off"])
def test_a_corrupt_file_is_said_in_one_sentence(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOAL_DATA", str(tmp_path))
    (tmp_path / "mnist.npz").write_bytes(content)
    with pytest.raises(DataMissing, match=r"mnist\.npz cannot be read .* run `shoal fetch mnist`"):
        read("mnist", ("x_train",))


def test_a_file_without_the_arrays_is_said_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_DATA", str(tmp_path))
    np.savez(tmp_path / "mnist.npz", x=[1])
    with pytest.raises(DataMissing, match="cannot be read"):
        read("mnist", ("x_train",))


def test_idx_has_the_shape_of_its_head() -> None:
    raw = bytes([0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6])
    assert idx(raw).tolist() == [[1, 2, 3], [4, 5, 6]]
    with pytest.raises(ValueError, match="not an IDX file"):
        idx(b"rubbish")
