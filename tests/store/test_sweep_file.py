"""The names in a sweep file are a stranger's data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shoal.errors import RunFolderError
from shoal.store.sweep_file import runs_of_sweep


@pytest.mark.parametrize("name", ["../escaped", "/tmp/escaped", "..", "", "a/b", "a\\b", "a\0b", 7, None])
def test_names_in_a_sweep_file_cannot_lead_out_of_its_folder(tmp_path: Path, name: object) -> None:
    sweep = tmp_path / "sweep"
    sweep.mkdir()
    (sweep / "sweep.json").write_text(json.dumps([{"name": name, "algorithm": "fedavg", "pairs": {"rounds": 1}}]))
    with pytest.raises(RunFolderError, match="is not the name of a folder inside it"):
        runs_of_sweep(sweep)
    assert [p.name for p in tmp_path.iterdir()] == ["sweep"]
