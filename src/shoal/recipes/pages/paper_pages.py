"""The pages of `docs/results/reproduce`, as text: what the papers print beside what our runs gave."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from shoal.recipes.figures.drawn import drawings, file_name
from shoal.recipes.figures.ran import ran_of
from shoal.recipes.grids import grid
from shoal.recipes.judging.choices import remarks
from shoal.recipes.judging.main_claims import MAIN
from shoal.recipes.judging.relations import Known, Relation, Verdict, judge
from shoal.recipes.judging.statements_guests import YOURS
from shoal.recipes.numbers import progress_of, state_of
from shoal.recipes.pages.extras import extra_parts
from shoal.recipes.pages.reasons import reasons
from shoal.recipes.pages.table_grids import grids_of
from shoal.recipes.records import BEST, Cell, Paper, Table
from shoal.recipes.store import Result

__all__ = ["paper_page", "verdict_rows", "with_links"]

DEPARTURE = re.compile(r"\bD\d+\b")
MADE = "Made by `shoal reproduce --write-docs` from `results/`; do not edit."
VERDICTS = ("statement", "where", "asked for", "paper", "ours", "verdict")
MAIN_TITLE = "Main statements"
OF_WHAT = "Those of the abstract and of conclusions, and what the method is known for."
RULES = "How a verdict is formed stands on [the page of all statements](statements.md)."
OPTIMISTIC = (
    "The best accuracy is the largest on test samples of all tested rounds in which every client has a model, as "
    "FedGroup scores. It flatters, most of all curves that jump; medians over rounds and last values are in `results/`."
)
HOW = (
    "`asked for` is the bound that decides, on left minus right, or on left over right where factors are given. Papers "
    "seldom say how much is enough: where they print a number, about half of it is asked for, or what the words say; "
    "all bounds are ours. `paper` is the same of the printed figures. `ours` is the mean ± standard deviation over the "
    "seeds that all of its cells have, and in how many of them the statement holds. With two or more seeds a statement "
    "holds if the mean keeps the bound and at least three quarters of the seeds do; it does not hold if the mean fails "
    "and at least three quarters of the seeds do; else it is undecided, as it is where the mean of differences lies "
    "within its standard error of the bound, or that of accuracies within 0.1 points of it. One seed decides alone, so "
    "far; of two spreads over seeds one must be twice the other. A statement with nothing behind it would still hold "
    "by luck in about one case of eight with three seeds, and of five with five. `p` is how often chance alone, by the "
    "signs of the differences from the bound, brings a mean so far from it, on either side: with 5 seeds it cannot go "
    "below 0.062, with 3 not below 0.25, whatever the difference; it decides nothing here. "
    "`without` names models that were not run and are left out of an average, on the paper's side and in the bound too."
)


def paper_page(paper: Paper, statements: Sequence[Relation], known: Known) -> str:
    """The page of a paper: its tables, its figures and its statements.

    Args:
        paper: The paper.
        statements: Of this paper.
        known: All cells with what is stored of them.

    Returns:
        Markdown.
    """
    parts = [
        f"# {paper.title}",
        f"{paper.reference}. {MADE}",
        "A cell holds the paper's figure, then ours: mean ± standard deviation, with n - 1 (seeds). Values of every "
        "seed, settings and curves are in `results/`; names of rows and columns are those of `shoal reproduce`.",
    ]
    if any(quantity.name == BEST.name for table in paper.tables for quantity in table.quantities):
        parts.append(OPTIMISTIC)
    verdicts = [judge(relation, known) for relation in statements]
    if main := [v for v in verdicts if v.relation.name in MAIN]:
        parts += [f"## {MAIN_TITLE}", f"{OF_WHAT} {RULES}", grid(VERDICTS, verdict_rows(main))]
        parts += with_links(reasons(main, verdicts, undecided=True))
    for table in paper.tables:
        parts += table_part(table, known)
    if statements:
        parts += [
            "## Statements",
            f"{count_sentence(verdicts, 'the paper')} {RULES}",
            grid(VERDICTS, verdict_rows(verdicts)),
        ]
        parts += with_links(reasons(verdicts))
    return "\n\n".join(parts) + "\n"


def table_part(table: Table, known: Known) -> list[str]:
    """The heading of a table, what it is about, its cells, and what was not run."""
    name = table.name.split("/", 1)[1]
    parts = [f"## {name}: {table.title}", *opening(table), *grid_parts(table, known)]
    return [*parts, *remarks_under(table, known), *panel_sentence(table, known), *departure_sentence(table)]


def opening(table: Table) -> list[str]:
    """What a table is about, and where else it is shown; Markdown, for pages of HTML too."""
    parts = [table.about] if table.about else []
    if table.elsewhere:
        shown = table.elsewhere.removeprefix("docs/")
        link = f"[{shown}](../../{shown})" if table.elsewhere != shown else f"`{shown}`"
        parts.append(f"See {link}.")
    return parts


def remarks_under(table: Table, known: Known) -> list[str]:
    """What stands under the cells of a table: what was not run, and remarks; Markdown, for pages of HTML too."""
    found = [(cell, known[cell.name][1]) for cell in table.cells]
    return [*left_sentences(found), *notes(table), *remarks(table, known), *extra_parts(table, known)]


def departure_sentence(table: Table) -> list[str]:
    """The departures of all cells, each once."""
    links = ", ".join(departure_link(d) for d in dict.fromkeys(d for cell in table.cells for d in cell.departures))
    return [f"Departures: {links}."] if links else []


def grid_parts(table: Table, known: Known) -> list[str]:
    """The grids of a table, each under its title."""
    parts = []
    for one in grids_of(table, known):
        parts += [f"{one.title}:"] if one.title else []
        parts.append(grid(("", *one.heads), [[name, *texts] for name, texts in one.rows.items()]))
    return parts


def left_sentences(found: Sequence[tuple[Cell, Result | None]]) -> list[str]:
    """What is partial, not run, or cannot be run here."""
    sentences = []
    partial = [
        f"`{cell.row}/{cell.column}`: {words}" for cell, r in found if unfinished(r) and (words := progress_of(cell, r))
    ]
    if partial:
        sentences.append(f"Unfinished: {'. '.join(partial)}.")
    waiting = rows_in_state(found, "not run")
    if waiting:
        sentences.append(f"Not run: {listed(waiting)}.")
    reasons = dict.fromkeys(cell.why_not for cell, r in found if r is None and cell.why_not)
    for reason in reasons:
        rows = dict.fromkeys(f"`{cell.row}`" for cell, _ in found if cell.why_not == reason)
        sentences.append(f"Cannot be run here: {', '.join(rows)}; {reason}.")
    other = [f"`{cell.row}/{cell.column}`" for cell, r in found if state_of(cell, r) == "other settings"]
    if other:
        sentences.append(f"Made with other settings than the recipe has now, and not shown: {', '.join(other)}.")
    return sentences


def unfinished(result: Result | None) -> bool:
    return result is not None and any(not run["complete"] for run in result.runs.values())


def rows_in_state(found: Sequence[tuple[Cell, Result | None]], state: str) -> dict[str, list[str]]:
    """Columns by row of the cells in a state; a row of which all cells are has no columns."""
    rows: dict[str, list[str]] = {}
    for cell, result in found:
        if state_of(cell, result) == state:
            rows.setdefault(cell.row, []).append(cell.column)
    whole = {row: sum(cell.row == row for cell, _ in found) for row in rows}
    return {row: [] if len(columns) == whole[row] else columns for row, columns in rows.items()}


def listed(rows: Mapping[str, Sequence[str]]) -> str:
    """Rows, with the columns that are meant if not all are.

    >>> listed({"a": [], "b": ["x", "y"]})
    '`a`, `b` (x, y)'
    """
    return ", ".join(f"`{row}` ({', '.join(columns)})" if columns else f"`{row}`" for row, columns in rows.items())


def notes(table: Table) -> list[str]:
    """What rows and columns are, where their names do not tell."""
    words: dict[str, str] = {}
    for cell in table.cells:
        for part in filter(None, cell.note.split("; ")):
            same_row = all(part in c.note for c in table.cells if c.row == cell.row)
            words.setdefault(f"`{cell.row if same_row else cell.column}`: {part}", part)
    return ["\n".join(f"* {line}." for line in words)] if words else []


def panel_sentence(table: Table, known: Known) -> list[str]:
    """The pictures of a figure, means over seeds, and how to look at it more closely."""
    if not table.panels:
        return []
    there = drawings(table, known)
    names = {file_name(table, number): panel for number, panel in enumerate(table.panels)}
    drawn = [f"![{panel.title}](figures/{name})" for name, panel in names.items() if name in there]
    how = f"`shoal reproduce {table.name} --list --html DIR` draws it"
    return [*drawn, f"{'; '.join([how, *panel_words(table, known)])}."]


def panel_words(table: Table, known: Known) -> list[str]:
    """How many of the cells that a figure shows were run; nothing of toys, which have none."""
    cells = [name for panel in table.panels for name in panel.cells]
    return [ran_of(cells, known)] if cells else []


def with_links(paragraphs: Sequence[str]) -> list[str]:
    """The same with numbers of departures as links.

    Args:
        paragraphs: In Markdown.

    Returns:
        As many.

    >>> with_links(["As in the code (D13)."])
    ['As in the code ([D13](../../departures.md#d13)).']
    """
    return [DEPARTURE.sub(lambda found: departure_link(found[0]), one) for one in paragraphs]


def departure_link(number: str) -> str:
    return f"[{number}](../../departures.md#{number.lower()})"


def verdict_rows(verdicts: Sequence[Verdict]) -> list[list[str]]:
    """A line for each statement.

    Args:
        verdicts: What `judge` gave.

    Returns:
        Cells of a table with the heads `VERDICTS`.

    >>> verdict_rows([Verdict(Relation("p/a", "a is above b", "Table 1", ("x",), ("y",), least=0), "not run")])
    [['a is above b', 'Table 1', 'at least 0', '-', '-', 'not run']]
    """
    return [
        [
            v.relation.says,
            v.relation.source,
            v.relation.bounds,
            "-"
            if v.paper is None
            else f"{v.paper:+.2f}"
            if v.relation.right and not v.relation.ratio
            else f"{v.paper:.2f}",
            "-" if v.ours is None else v.shown + ("" if v.p is None else f", p = {v.p:.2g}"),
            v.words,
        ]
        for v in verdicts
    ]


def count_sentence(verdicts: Sequence[Verdict], whose: str = "the papers") -> str:
    """How many hold, those of papers and ours apart.

    Args:
        verdicts: What `judge` gave.
        whose: Statements they are, if not ours.

    Returns:
        Sentences.

    >>> count_sentence([Verdict(Relation("p/a", "", "", ()), "does not hold")]).split(", and")[0]
    'Of 1 statement of the papers 0 hold in our runs, 1 does not, 0 are undecided'
    >>> count_sentence([Verdict(Relation("p/a", "", "", ()), "holds", n=2, wanted=5)]).split(". ")[1]
    'So far: with fewer seeds or models than asked for.'
    """
    guests = [v for v in verdicts if v.relation.source == YOURS]
    others = [v for v in verdicts if v.relation.source != YOURS]
    own, theirs = ([v for v in others if v.relation.ours == ours] for ours in (True, False))
    some = [(theirs, f"of {whose}", "statement"), (own, "of our own", "statement"), (guests, "of yours", "comparison")]
    early = any(not v.settled for v in verdicts if v.says != "not run")
    sentences = [counted(mine, of_whom, noun) for mine, of_whom, noun in some if mine]
    return " ".join([*sentences, *(["So far: with fewer seeds or models than asked for."] if early else [])])


def counted(verdicts: Sequence[Verdict], whose: str, noun: str = "statement") -> str:
    """A sentence of how many hold, do not, are undecided, or were not judged."""
    parts = []
    for says, one, many in (
        ("holds", "holds in our runs", "hold in our runs"),
        ("does not hold", "does not", "do not"),
        ("undecided", "is undecided", "are undecided"),
    ):
        mine = [v for v in verdicts if v.says == says]
        kinds = {
            "so far": sum(not v.settled for v in mine),
            "in a smaller setting": sum(bool(v.relation.terms) for v in mine),
        }
        some = ", ".join(f"{n} of them {kind}" for kind, n in kinds.items() if n)
        parts.append(f"{len(mine)} {one if len(mine) == 1 else many}{f' ({some})' if some else ''}")
    waiting = sum(v.says == "not run" for v in verdicts)
    nouns, was = noun if len(verdicts) == 1 else f"{noun}s", "was" if waiting == 1 else "were"
    why = f"and {waiting} {was} not judged because a cell was not run"
    return f"Of {len(verdicts)} {nouns} {whose} {', '.join(parts)}, {why}."
