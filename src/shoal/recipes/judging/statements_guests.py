"""Of a method that a paper does not have: is it above each of the paper's in the same row?"""

from __future__ import annotations

from collections.abc import Sequence

from shoal.recipes.judging.claims import Relation
from shoal.recipes.records import Cell, Table

YOURS = "yours"  # where a statement on a guest stands


def of_guests(table: Table, cells: Sequence[Cell]) -> list[Relation]:
    """A statement for every guest and every other method of its row, by what the table shows first.

    Args:
        table: A table, in which larger is better.
        cells: Those of it that are shown, guests among them or not.

    Returns:
        Statements that nobody made: they are asked.

    >>> row = [Cell("p/t", "a", x, x, {}, source=source) for x, source in (("ifca", ""), ("Mine", "mine.py:Mine"))]
    >>> [relation.says for relation in of_guests(Table("p/t", "", tuple(row)), row)]
    ['Mine is above ifca, a']
    """
    shown = table.quantities[0]
    mine = [cell for cell in cells if cell.table == table.name]
    return [
        Relation(
            f"{guest.name}-above-{other.column}",
            f"{guest.column} is above {other.column}, {guest.row}",
            YOURS,
            (guest.name,),
            (other.name,),
            least=0,
            strict=True,
            quantity=shown.name,
            scale=shown.scale,
            ours=True,
        )
        for guest in mine
        for other in mine
        if guest.source and not other.source and guest.row == other.row
    ]
