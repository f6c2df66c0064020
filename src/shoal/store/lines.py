"""Files of JSON lines, and why there is no run at a place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shoal.errors import RunFolderError


def no_run(path: Path) -> RunFolderError:
    """Why there is no run at a place.

    >>> str(no_run(Path("/nowhere/run")))
    'there is no folder /nowhere/run; give one that holds a run or a sweep'
    """
    if not path.exists():
        return RunFolderError(f"there is no folder {path}; give one that holds a run or a sweep")
    return RunFolderError(f"{path} is not a run folder: it has no config.toml")


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The entries of a file of JSON lines; a last line that was cut off by a crash is left out."""
    try:
        with open(path) as file:
            for line in file:
                if line.endswith("\n"):
                    yield json.loads(line)
    except (OSError, ValueError) as e:
        raise RunFolderError(f"{path} cannot be read: {e}") from e
