"""Tables of texts in Markdown, and back."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["cells_of", "grid"]


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


def cells_of(table: str) -> tuple[list[str], list[list[str]]]:
    """The cells of what `grid` gave.

    Args:
        table: Lines.

    Returns:
        Heads of the columns, and rows.

    >>> cells_of(grid(("", "a", "b"), [("x", "1", ""), ("y", "", "2")]))
    (['', 'a', 'b'], [['x', '1', ''], ['y', '', '2']])
    """
    heads, _, *rows = (line.removeprefix("| ").removesuffix(" |").split(" | ") for line in table.splitlines())
    return heads, rows
