"""Follows a file of JSON lines that somebody else writes, perhaps on another machine."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO


class Tail:
    """Gives every line once. A last line without its end is left for later; a file that was cut back begins anew.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "records.jsonl")
    >>> tail = Tail(path)
    >>> _ = path.write_text('{"round": 0}' + chr(10) + '{"rou')
    >>> tail.more()
    (False, [{'round': 0}])
    >>> _ = path.write_text('{"round": 0}' + chr(10) + '{"round": 1}' + chr(10))
    >>> tail.more()
    (False, [{'round': 1}])
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._at = 0
        self._last = b""  # the last line given, to notice a file that was written over

    def more(self) -> tuple[bool, list[dict[str, Any]]]:
        """Whether the file began anew, and the lines that came since the last time; none if it cannot be read."""
        try:
            with open(self.path, "rb") as file:
                anew = self._at > 0 and not self._goes_on(file)
                if anew:
                    self._at, self._last = 0, b""
                file.seek(self._at)
                whole, end, _ = file.read().rpartition(b"\n")
        except OSError:
            return False, []
        self._at += len(whole) + len(end)
        lines = whole.split(b"\n") if end else []
        self._last = lines[-1] if lines else self._last
        return anew, list(parsed(lines))

    def _goes_on(self, file: BinaryIO) -> bool:
        """Whether the last line that was read still stands there; `resume` writes the file anew, without some."""
        file.seek(self._at - len(self._last) - 1)
        return file.read(len(self._last) + 1) == self._last + b"\n"


def parsed(lines: list[bytes]) -> Iterator[dict[str, Any]]:
    """The lines that hold an object; a shared folder may show a block of zeros for a moment.

    Numbers that are none, which a browser cannot read, are as if they had not been recorded.
    """
    for line in lines:
        try:
            found = json.loads(line, parse_constant=lambda _: None, parse_float=finite)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and isinstance(found.get("round"), int):
            yield found


def finite(text: str) -> float | None:
    """A number, or None for one that is too large to be any.

    >>> finite("0.5"), finite("1e999")
    (0.5, None)
    """
    value = float(text)
    return value if math.isfinite(value) else None
