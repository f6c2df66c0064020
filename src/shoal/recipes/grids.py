"""A table of texts in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["grid"]


def grid(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown.

    Args:
        heads: Of the columns.
        rows: Of cells.

    Returns:
        Lines.

    >>> print(grid(("a", "b"), [("1", "2")]))
    | a | b |
    | --- | --- |
    | 1 | 2 |
    """
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
