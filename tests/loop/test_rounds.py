"""The loop: models that are not finite end a run."""

from __future__ import annotations

from pathlib import Path

import pytest

import shoal
from shoal.errors import ShoalError
from shoal.store.folder import Folder


def test_a_model_that_is_not_finite_ends_the_run_with_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ShoalError, match=r"round 1 made model 0 infinite .* use a smaller server_lr"):
        shoal.run("fedadam", server_lr=1e39, rounds=3, engine="serial", out=tmp_path / "run")
    assert [row["round"] for row in Folder(tmp_path / "run").rows()] == [0]
