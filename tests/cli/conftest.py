"""The command line in this process, in a folder of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import pytest
from typer.testing import CliRunner

from shoal.cli.app import app


class Result(Protocol):
    """What a command left."""

    @property
    def exit_code(self) -> int: ...
    @property
    def stdout(self) -> str: ...
    @property
    def stderr(self) -> str: ...
    @property
    def exception(self) -> BaseException | None: ...


Shoal = Callable[..., Result]


@pytest.fixture
def shoal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shoal:
    """`shoal("run", "fedavg")` runs the command in an empty folder and gives stdout, stderr and exit code."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path.parent / "no cache"))
    monkeypatch.delenv("SHOAL_DATA", raising=False)
    monkeypatch.delenv("SHOAL_DEBUG", raising=False)
    runner = CliRunner()

    def call(*words: object) -> Result:
        return runner.invoke(app, [str(word) for word in words], prog_name="shoal")

    return call
