"""What clients of a site remember, as files: one per client and version, named by the stamp of the call."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from shoal.backends.memory import look_up
from shoal.flower.resident import locked
from shoal.store import codec
from shoal.types import Array, Memory, Ref

__all__ = ["Versions"]


class Versions:
    """The memories of a site's clients in one run. The server knows stamps alone, never what is in a file.

    Args:
        folder: Where they are kept.

    >>> import numpy as np, tempfile
    >>> versions = Versions(Path(tempfile.mkdtemp()))
    >>> versions.write("ann", "1-0", {"seen": np.array([3, 4])})
    >>> versions.read("ann", "1-0")["seen"].tolist(), versions.read("ann", "2-0")
    ([3, 4], None)
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, client: str, stamp: str) -> Memory | None:
        """A version; None if it is not there, or damaged.

        Args:
            client: Whose.
            stamp: Of the call that wrote it.

        Returns:
            What the client remembered after that call.
        """
        try:
            found: Memory = codec.read(self._path(client, stamp), {})
        except codec.Damaged:
            return None
        return found

    def write(self, client: str, stamp: str, memory: Memory) -> None:
        """Keep a version, all or nothing.

        Args:
            client: Whose.
            stamp: Of this call.
            memory: Plain values and arrays.
        """
        path = self._path(client, stamp)
        path.parent.mkdir(parents=True, exist_ok=True)
        codec.write(path, dict(memory))

    def forget(self, needed: Mapping[str, tuple[str, ...]], stamp: str) -> None:
        """Remove versions that nobody can ask for any more.

        Args:
            needed: For each client the stamps that may still be asked for.
            stamp: Of this call, whose versions stay.
        """
        for client, stamps in needed.items():
            stay = {self._path(client, s).name for s in (*stamps, stamp)}
            for path in self._path(client, stamp).parent.glob("*.safetensors"):
                if path.name not in stay:
                    path.unlink(missing_ok=True)

    def _path(self, client: str, stamp: str) -> Path:
        """A file; names of clients and stamps come from outside, so they are no paths themselves."""
        return self.folder / safe(client) / f"{safe(stamp)}.safetensors"


def safe(word: str) -> str:
    """A name that can be that of a file, whatever the word is, another one for another word.

    >>> safe("1-0"), safe("../x")[:2]
    ('1-0', 'x.')
    """
    plain = "".join(c for c in word if c.isascii() and (c.isalnum() or c in "-_"))[:60]
    return word if plain == word and word else f"{plain}.{hashlib.blake2b(word.encode(), digest_size=8).hexdigest()}"


def own(memory: Memory, models_KP: Array | None) -> dict[str, Any]:
    """A memory with copies of the vectors that were sent, in place of where they stood among these."""
    return {
        name: np.array(look_up(value, models_KP)) if isinstance(value, Ref) else value for name, value in memory.items()
    }


class Counts:
    """How often each client did each task, in a file: what a policy's `times` is held against.

    Args:
        path: Of the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def of(self, client: str, task: str) -> int:
        """How often a client did a task."""
        return self._read().get(f"{task} {client}", 0)

    def add(self, client: str, task: str) -> None:
        """Once more; on disk before the answer leaves, whoever else counts in this folder."""
        with locked(self.path.with_suffix(".lock")):
            done = self._read()
            done[f"{task} {client}"] = done.get(f"{task} {client}", 0) + 1
            partial = self.path.with_name(f".{self.path.name}.partial")
            partial.write_text(json.dumps(done))
            partial.rename(self.path)

    def _read(self) -> dict[str, int]:
        found: dict[str, int] = json.loads(self.path.read_text()) if self.path.is_file() else {}
        return found
