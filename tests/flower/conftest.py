"""What tests of federations share."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder for what real processes need: a socket's path must be short."""
    with tempfile.TemporaryDirectory(prefix="shoal") as name:
        yield Path(name)
