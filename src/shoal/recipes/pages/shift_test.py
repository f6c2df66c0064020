"""Part of `docs/papers-code.md`: FlexCFL's shift test class by class, and as the authors' code compares counts."""

from __future__ import annotations

from shoal.recipes.grids import grid
from shoal.recipes.judging.comparing import NAMES
from shoal.recipes.judging.relations import Known
from shoal.recipes.pages.beside import CHANGE, beside, shown
from shoal.recipes.store import usable

__all__ = ["shift_test"]

TEXT = """## FlexCFL: the shift test forgets classes

A client tells that it has drifted by the Wasserstein distance between the labels of its samples then and now. The code
gives scipy the two vectors of counts as two samples of numbers, so that a count is compared with one of like size, of
whatever class: a client whose classes 0 and 1 become 2 and 3 has not drifted ([D19](departures.md#d19)).
`migration=counts` imitates it. In rounds in which every client has a model, of 100 changes of a client's data so many
are noticed:"""
ACCURACY = "And the best accuracy of FlexCFL in Table 4; without: class by class, with: `migration=counts`."
DRIFTS = {"swap-all": "swap all", "swap-part": "swap part"}  # what is released bit by bit has no swap to be noticed


def shift_test(known: Known) -> list[str]:
    """The text, how much both tests notice, and what it does to accuracy.

    Args:
        known: All cells with what is stored of them.

    Returns:
        Pieces of Markdown.
    """
    noticed, reached = [], []
    for drift, words in DRIFTS.items():
        for row, name in NAMES.items():
            ours, theirs = (f"flexcfl/table4-{drift}/{row}/flexcfl{end}" for end in ("", "-counts"))
            if not usable(*known[ours]):
                continue
            seen = [shown(cell, known, "noticed") for cell in (ours, theirs)]
            noticed.append([f"{name}, {words}", *seen])
            reached.append([f"{name}, {words}", *beside(ours, theirs, known)])
    return [
        TEXT,
        grid(("row and drift", "class by class", "as the code"), noticed),
        ACCURACY,
        grid(("row and drift", "paper", "class by class", "as the code", CHANGE), reached),
    ]
