"""Where a run goes that was given no folder."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path


def fresh_path(parent: str | Path, label: str) -> Path:
    """A folder name that is not taken: date, time and label."""
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    path, n = Path(parent) / f"{stamp}-{label}", 1
    while path.exists():
        path, n = Path(parent) / f"{stamp}-{label}-{n}", n + 1
    return path
