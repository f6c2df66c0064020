"""Whether FlexCFL's figures of IFCA and FeSEM agree with the first client's update in place of the mean."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from shoal.recipes.grids import grid
from shoal.recipes.judging.comparing import NAMES
from shoal.recipes.judging.relations import Known
from shoal.recipes.pages.as_in_code import code_rows
from shoal.recipes.pages.beside import CHANGE, beside, by_seed, change, spread
from shoal.recipes.papers.flexcfl_columns import REMARKED

__all__ = ["first_client", "says"]

TABLES = {
    "flexcfl/table3": "without drift",
    "flexcfl/table4-swap-all": "swap all",
    "flexcfl/table4-swap-part": "swap part",
    "flexcfl/table4-incremental": "incremental",
}
METHODS = {"ifca": "IFCA", "fesem": "FeSEM"}
ROWS = {row: name for row, name in NAMES.items() if not row.endswith("-shared")}
SHOWN = {
    **ROWS,
    "femnist-mclr-shared": "FEMNIST-MCLR with shared images",
    "femnist-mlp-shared": "FEMNIST-MLP, the same",
}
LEAST = 5  # rows, for a word on them
STRONG, AGAINST = 0.8, 0.2  # shares of the rows that are nearer to the first client's
Pair = tuple[float, float]  # distances from the paper's figure: of the mean of all, of the first client


def first_client(known: Known) -> list[str]:
    """Tables of both averages beside the paper's figures, and what they come to.

    Args:
        known: All cells with what is stored of them.

    Returns:
        Pieces of Markdown.
    """
    parts = []
    for table, words in TABLES.items():
        rows = [
            [f"{title}, {method}, {words}", *beside(name, f"{name}-first", known)]
            for row, title in SHOWN.items()
            for column, method in METHODS.items()
            for name in (f"{table}/{row}/{column}",)
        ]
        parts.append(grid(("row of the table", "paper", "mean of all", "first client", CHANGE), rows))
    plain = [f"{table}/{row}" for table in TABLES for row in ROWS]
    others = [f"{table}/{other}" for _, table, _, other in code_rows()]
    return [
        *parts,
        "Which of both the paper's figures are nearer to, over the rows that were run, without shared images:",
        listed(plain, known),
        "And over rows that have all else as in the code, the drift and of FEMNIST the images:",
        listed(others, known),
        *alone(others, known),
        *remark(known),
    ]


def remark(known: Known) -> list[str]:
    """What section 5.1 of FlexCFL remarks on FedAvg's weights, beside both averages."""
    rows = []
    for row in REMARKED:
        for column, method in METHODS.items():
            names = (f"flexcfl/table3/{row}/{column}{end}" for end in ("", "-first", "-samples"))
            plain, first, samples = (by_seed(name, known, "best_accuracy") for name in names)
            values = (spread([*one.values()]) for one in (plain, first, samples))
            rows.append([f"{NAMES[row]}, {method}", *values, change(plain, samples), change(first, samples)])
    return [
        "The paper also remarks (section 5.1) that IFCA and FeSEM get better when clients are averaged by samples, as "
        "FedAvg does, than by the simple mean that its tables have. Whether it is so tells something of that mean:",
        grid(("Table 3", "mean of all", "first client", "by samples", "against the mean", "against the first"), rows),
    ]


def alone(rows: Sequence[str], known: Known) -> list[str]:
    """What was played with the first client alone, and so is not compared: how far it is from the paper."""
    found = []
    for name in (f"{row}/{column}" for row in rows for column in METHODS):
        paper = known[name][0].paper.get("best_accuracy")
        plain, first = (by_seed(one, known, "best_accuracy") for one in (name, f"{name}-first"))
        if paper is not None and first and not plain:
            found.append(f"`{name}` {abs(fmean(first.values()) - paper):.1f}")
    return [f"Played with the first client alone, and not counted, points away: {', '.join(found)}."] if found else []


def listed(rows: Sequence[str], known: Known) -> str:
    """A line on each method, over some rows of tables."""
    return "\n".join(says(title, distances(column, rows, known)) for column, title in METHODS.items())


def distances(column: str, rows: Sequence[str], known: Known) -> list[Pair]:
    """How far our means lie from the paper, for the rows of which both were run."""
    found = []
    for name in (f"{row}/{column}" for row in rows):
        paper = known[name][0].paper.get("best_accuracy")
        ours = [[*by_seed(one, known, "best_accuracy").values()] for one in (name, f"{name}-first")]
        if paper is not None and all(ours):
            plain, first = (abs(fmean(values) - paper) for values in ours)
            found.append((plain, first))
    return found


def says(title: str, pairs: Sequence[Pair]) -> str:
    """A line on a method: how many rows are nearer to the first client's, how far both are, and how strong that is.

    Args:
        title: Of the method.
        pairs: Distances by row, of the mean of all and of the first client.

    Returns:
        An item of a list.

    >>> says("FeSEM", [(5.0, 1.0)] * 5)
    '* FeSEM: to the first client in 5 of 5 rows; 1.0 points away on average, the mean of all 5.0. The case is strong.'
    """
    if not pairs:
        return f"* {title}: not run."
    nearer = sum(first < plain for plain, first in pairs)
    plain, first = (fmean(pair[i] for pair in pairs) for i in (0, 1))
    share = nearer / len(pairs)
    if len(pairs) < LEAST:
        word = "Too few rows to say."
    elif share >= STRONG and first < plain:
        word = "The case is strong."
    elif share <= AGAINST and first > plain:
        word = "The figures speak against it."
    else:
        word = "The case is not strong: the figures do not tell which of both made them."
    far = f"{first:.1f} points away on average, the mean of all {plain:.1f}"
    return f"* {title}: to the first client in {nearer} of {len(pairs)} rows; {far}. {word}"
