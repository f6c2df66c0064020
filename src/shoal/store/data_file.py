"""`data.json` of a run folder: what the run remembers of its federation, so that it can be loaded without the data."""

from __future__ import annotations

import json
from pathlib import Path

from shoal.data.signature import Remembered
from shoal.errors import RunFolderError, command

NAME = "data.json"


def write_data(folder: Path, remembered: Remembered) -> None:
    """Write it down; the file appears under its name when it is complete.

    Args:
        folder: Of the run.
        remembered: What is to be kept.
    """
    partial = folder / f".{NAME}.partial"
    partial.write_text(json.dumps(remembered.to_json()) + "\n", encoding="utf-8")
    partial.rename(folder / NAME)


def read_data(folder: Path) -> Remembered:
    """What a run remembers, or one sentence.

    Args:
        folder: Of the run.

    Returns:
        Its federation without the data.
    """
    path = folder / NAME
    if not path.is_file():
        raise RunFolderError(
            f"{folder} does not say what its models take: it was written before runs kept {NAME}, or is not complete; "
            f"with its data {command('resume', folder)} adds it"
        )
    try:
        return Remembered.from_json(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError) as e:
        raise RunFolderError(f"{path} cannot be read: {e}") from e
