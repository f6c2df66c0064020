"""Pieces of the Markdown of a page as a page of HTML takes them: plain sentences and tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from shoal.recipes.grids import cells_of
from shoal.report.headline import Sheet

__all__ = ["plain", "sentences", "tables"]

LONG = 12  # rows of a table that is folded
OWN_NAME = re.compile(r"\[([^]]+)\]\(\.\./\.\./\1\)")  # a link to a page of the docs that shows its address
LINK = re.compile(r"\[([^]]+)\]\([^)]*\)")


def plain(markdown: str) -> str:
    """Without the marks of code and links.

    Args:
        markdown: A sentence or more.

    Returns:
        Text.

    >>> plain("See [results/icg.md](../../results/icg.md), `fedavg` and [D28](../../departures.md#d28).")
    'See docs/results/icg.md, fedavg and D28.'
    """
    return LINK.sub(r"\1", OWN_NAME.sub(r"docs/\1", markdown)).replace("`", "")


def sentences(pieces: Sequence[str]) -> list[str]:
    """What is said between tables, a text for each paragraph and each line of a list.

    Args:
        pieces: Of Markdown: paragraphs, lists, and tables that have a title before them.

    Returns:
        Plain texts, without tables and their titles.

    >>> sentences(["Not run: `a`.", "* one.\\n* two.", "Splits:", "| x |\\n| --- |\\n| 1 |"])
    ['Not run: a.', 'one.', 'two.']
    """
    said = [piece for piece, then in pairwise([*pieces, ""]) if not is_table(piece) and not is_table(then)]
    return [plain(line.removeprefix("* ")) for piece in said for line in piece.splitlines()]


def tables(pieces: Sequence[str]) -> list[Sheet]:
    """The tables among pieces, each with its title; long ones are folded.

    Args:
        pieces: The same.

    Returns:
        Tables as pages have them.

    >>> [found] = tables(["Not run: `a`.", "Splits:", "| cell |\\n| --- |\\n| `x` |"])
    >>> found.title, found.columns, found.rows, found.folded
    ('Splits', ['cell'], [['x']], False)
    """
    found = []
    for title, piece in pairwise(pieces):
        if is_table(piece):
            heads, rows = cells_of(plain(piece))
            found.append(Sheet(plain(title).removesuffix(":"), heads, rows, folded=len(rows) > LONG))
    return found


def is_table(piece: str) -> bool:
    return piece.startswith("| ")
