"""Which files of a user's own runs were begun with on this machine: only those are imported because a folder says so.

A run folder may come from a stranger. What it names is code, and is run when this user has run the very same code
before; else the user must name the file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def place() -> Path:
    """Where the hashes are kept, one a line."""
    return Path(os.environ.get("XDG_STATE_HOME") or "~/.local/state").expanduser() / "shoal" / "own-files"


def known(hash: str) -> bool:
    """Whether a run was begun here with a file of this content.

    Args:
        hash: Of the content.

    Returns:
        Whether it may be imported without being named.

    >>> known("of nothing that ever was")
    False
    """
    try:
        return hash in place().read_text().split()
    except OSError:
        return False


def remember(hashes: Iterable[str]) -> None:
    """Note that a run was begun with files of this content; where nothing can be written, files must be named again.

    Args:
        hashes: Of their contents.
    """
    new = [hash for hash in dict.fromkeys(hashes) if not known(hash)]
    try:
        if new:
            place().parent.mkdir(parents=True, exist_ok=True)
            with open(place(), "a") as file:
                file.writelines(f"{hash}\n" for hash in new)
    except OSError:
        pass
