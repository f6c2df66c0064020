"""How federations, histories and runs show themselves: words, and small tables for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

STYLE = "text-align:left;padding:0 1em 0 0;vertical-align:top"


def html_table(title: str, rows: Iterable[Sequence[object]], heads: Sequence[str] = ()) -> str:
    """A table with a title; everything in it is escaped.

    Args:
        title: What stands above it.
        rows: Cells, row by row.
        heads: Of columns; none: the first cell of a row says what the row is.

    Returns:
        HTML.

    >>> html_table("<b>", [("clients", 3)]).count("&lt;b&gt;")
    1
    """
    first = "".join(f'<th style="{STYLE}">{escape(head)}</th>' for head in heads)
    body = "".join(f"<tr>{cells(row, named=not heads)}</tr>" for row in rows)
    head = f"<thead><tr>{first}</tr></thead>" if heads else ""
    return f"<div><strong>{escape(title)}</strong><table>{head}<tbody>{body}</tbody></table></div>"


def cells(row: Sequence[object], named: bool) -> str:
    kinds = ["th" if named and not i else "td" for i in range(len(row))]
    return "".join(f'<{kind} style="{STYLE}">{escape(str(c))}</{kind}>' for kind, c in zip(kinds, row, strict=True))


def counted(value: str, what: str) -> str:
    """A number and what it counts; one of them has no s.

    >>> counted("3", "models"), counted("1", "models")
    ('3 models', '1 model')
    """
    return f"{value} {what.removesuffix('s') if value == '1' else what}"


def capital(sentence: str) -> str:
    """
    >>> capital("accuracy fell"), capital("RMSE"), capital("")
    ('Accuracy fell', 'RMSE', '')
    """
    return sentence[:1].upper() + sentence[1:]
