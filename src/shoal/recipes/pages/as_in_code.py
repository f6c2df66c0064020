"""FlexCFL's tables played as its text says and as its code does, five differences at once, beside the paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shoal.recipes.grids import grid
from shoal.recipes.judging.comparing import NAMES
from shoal.recipes.judging.relations import Known
from shoal.recipes.pages.beside import by_seed
from shoal.recipes.pages.both_ways import Line, means, rows_of_lines
from shoal.recipes.papers.flexcfl_columns import IN_CODE

__all__ = ["as_in_code", "code_rows", "lines"]

ABOUT = """## FlexCFL: all of it together

The sections below take the differences between text and code one by one. Here five of them are played at once:
the first client's update in IFCA and FeSEM, the shift test by counts, swaps that end early, data that shrink, and of
FEMNIST the shared images; `by the text` has none of these five. What the text leaves open both have from the code
([D1](departures.md#d1), [D7](departures.md#d7), [D26](departures.md#d26), [D88](departures.md#d88)), eta_g as well
([D12](departures.md#d12)); neither has its first weights ([D101](departures.md#d101)), nor
[D20](departures.md#d20) and [D71](departures.md#d71). How far the columns of a row are from the paper, in points,
on average, and how many are nearer as the code has them, of those that it changes. FEMNIST-MLP under drift was played
last, when all of this was settled:
"""
OVERALL = "Over all {} figures of these rows it is {:.1f} points by the text and {:.1f} as the code."
SHARE = (
    "FeSEM's column has {:.0f} % of what is gained, {:.1f} points by the text and {:.1f} as the code; without it they "
    "are {:.1f} and {:.1f}, and {:.1f} and {:.1f} in the columns of FlexCFL itself."
)
SLIPS = ("femnist-mclr/flexcfl-eta_g under swap part", "femnist-mclr/flexcfl-eta_g under incremental")
DRAWN = "![FlexCFL's accuracies, by its text and as its code](results/reproduce/figures/flexcfl-as-in-code.svg)"
LEFT_OUT = (
    "Left out are two figures of the paper that seem slips (FEMNIST-MCLR with eta_g = 5, below). Column by column:"
)
ROWS = {"mnist-mclr": "", "mnist-mlp": "", "femnist-mclr": "-shared", "femnist-mlp": "-shared"}  # and images as in code
STILL = ("fedavg", "fedprox", "ifca", "fesem", "rcc", "rac", "flexcfl", "flexcfl-eta_g")
MOVING = ("fedavg", "ifca", "fesem", "fedgroup", "flexcfl", "flexcfl-eta_g")
TABLES = {  # what is played, its table, its columns, and the end of the rows that are as in the code
    "without drift": ("flexcfl/table3", STILL, ""),
    "swap all": ("flexcfl/table4-swap-all", MOVING, ""),
    "swap part": ("flexcfl/table4-swap-part", MOVING, f"-{IN_CODE['swap-part'][0]}"),
    "incremental": ("flexcfl/table4-incremental", MOVING, f"-{IN_CODE['incremental'][0]}"),
}


def as_in_code(known: Known) -> list[str]:
    """The section as pieces of Markdown.

    Args:
        known: All cells with what is stored of them.

    Returns:
        A text and two tables.
    """
    found = [*lines(known)]
    places = dict.fromkeys(one.where for one in found)
    summary = [summed(where, [one for one in found if one.where == where]) for where in places]
    pairs = [one.apart for one in found if one.apart is not None]
    return [
        ABOUT.strip(),
        grid(("row", "by the text", "as the code", "nearer as the code"), summary),
        *([] if not pairs else [f"{OVERALL.format(len(pairs), *means(pairs))} {by_column(found)}".rstrip(), DRAWN]),
        LEFT_OUT,
        grid(("row", "column", "paper", "by the text", "as the code"), rows_of_lines(found)),
    ]


def by_column(found: Sequence[Line]) -> str:
    """How much of what is gained is FeSEM's, whose figures change most; nothing where one of the columns was not run.

    >>> some = [Line("X", "fesem", 80.0, {0: 88.0}, {0: 82.0}), Line("X", "flexcfl", 80.0, {0: 83.0}, {0: 81.0})]
    >>> by_column(some)[:37]
    "FeSEM's column has 75 % of what is ga"
    """
    pairs = [(one.column, one.apart) for one in found if one.apart is not None]
    fesem = [apart for column, apart in pairs if column == "fesem"]
    others = [apart for column, apart in pairs if column != "fesem"]
    own = [apart for column, apart in pairs if column.startswith("flexcfl")]
    of_all, of_fesem = (sum(text - code for text, code in some) for some in ([*fesem, *others], fesem))
    if not fesem or not own or not of_all:
        return ""
    share = 100 * of_fesem / of_all
    return SHARE.format(share, *means(fesem), *means(others), *means(own))


def code_rows() -> Iterator[tuple[str, str, str, str]]:
    """What is played, the table, the row of the paper and that as in the code."""
    for drift, (table, _, end) in TABLES.items():
        for row, images in ROWS.items():
            yield drift, table, row, f"{row}{images}{end}"


def lines(known: Known) -> Iterator[Line]:
    """Every column of every row that can be played both ways."""
    for drift, table, row, other in code_rows():
        for column in TABLES[drift][1]:
            plain, code = f"{table}/{row}/{column}", f"{table}/{other}/{in_code(column, table)}"
            paper = known[plain][0].paper.get("best_accuracy")
            if paper is None or f"{row}/{column} under {drift}" in SLIPS:
                continue
            values = (by_seed(cell, known, "best_accuracy") for cell in (plain, code))
            yield Line(f"{NAMES[row]}, {drift}", column, paper, *values)


def in_code(column: str, table: str) -> str:
    """The column that is as in the code.

    >>> [in_code(c, "flexcfl/table4-swap-all") for c in ("ifca", "flexcfl", "fedavg")]
    ['ifca-first', 'flexcfl-counts', 'fedavg']
    >>> in_code("flexcfl", "flexcfl/table3")                            # nothing drifts, and nobody is tested for it
    'flexcfl'
    """
    if column in ("ifca", "fesem"):
        return f"{column}-first"
    return f"{column}-counts" if column.startswith("flexcfl") and "table4" in table else column


def summed(where: str, some: list[Line]) -> list[str]:
    """A row of the summary, over the columns that were run both ways.

    >>> summed("X, swap all", [Line("", "ifca", 64.5, {0: 68.5}, {0: 65.0}), Line("", "fesem", 80.0, {}, {})])
    ['X, swap all', '4.0', '0.5', '1 of 1']
    """
    pairs = [one.apart for one in some if one.apart is not None]
    if not pairs:
        return [where, "not run", "not run", "-"]
    text, code = means(pairs)
    other = [(a, b) for a, b in pairs if a != b]
    return [where, f"{text:.1f}", f"{code:.1f}", f"{sum(b < a for a, b in other)} of {len(other)}"]
