"""All generated pages of `docs/`, from what is in `results/`."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from shoal.errors import RunFolderError
from shoal.recipes.figures.drawn import drawings
from shoal.recipes.grids import grid
from shoal.recipes.judging.items import BY_READING, ITEMS, RULE, Item, Status, status_of, variant_of
from shoal.recipes.judging.main_claims import MAIN
from shoal.recipes.judging.relations import Known, Verdict, judge
from shoal.recipes.judging.statements import STATEMENTS
from shoal.recipes.pages import earlier, papers_code
from shoal.recipes.pages.distances import distance_drawings, distance_parts
from shoal.recipes.pages.extra_pages import Extras, edc_madc, icg
from shoal.recipes.pages.paper_pages import (
    HOW,
    MADE,
    VERDICTS,
    count_sentence,
    counted,
    paper_page,
    verdict_rows,
    with_links,
)
from shoal.recipes.pages.reasons import reasons
from shoal.recipes.records import Paper
from shoal.recipes.store import usable

__all__ = ["documents", "write_documents"]

FOLDER = "results/reproduce"
COUNT = re.compile(r"Methods and settings, judged by reading: .*? Not to be had: \d+\.", re.DOTALL)
MAIN_COUNT = re.compile(r"Of \d+\smain\sstatements\sof\sthe\spapers\s.*?\snot\srun\.", re.DOTALL)
WIDE = 120  # columns of the front page
HEADS: dict[str, tuple[bool, Status]] = {  # of the table of counts: whether it was judged by reading, and the status
    "read: same": (True, "same"),
    "read: departs": (True, "departs"),
    "run: reproduced": (False, "reproduced"),
    "run: drawn": (False, "drawn"),
    "run: partly": (False, "partly"),
    "run: departs": (False, "departs"),
    "run: undecided": (False, "undecided"),
    "begun": (False, "begun"),
    "not run": (False, "not run"),
    "absent": (True, "absent"),
}


EXTRA_PAGES = {  # by path: what makes it, and how the documents that it needs begin
    "results/icg.md": (icg, "icg-"),
    "results/edc-madc.md": (edc_madc, "edc-madc-"),
    "results/earlier.md": (earlier.page, "earlier-"),
}


def documents(papers: Mapping[str, Paper], known: Known, extras: Extras) -> dict[str, str]:
    """Every page by its path below `docs`.

    Args:
        papers: By name.
        known: All cells with what is stored of them.
        extras: What was measured without recipes; pages of which there is nothing are left out.

    Returns:
        Texts by path.
    """
    verdicts = {relation.name: judge(relation, known) for relation in STATEMENTS}
    statuses = {item: status_of(item, known, verdicts) for item in ITEMS}
    found = {
        f"{FOLDER}/README.md": index(papers, known, verdicts, statuses),
        f"{FOLDER}/items.md": items(statuses, known),
    }
    for table in (table for paper in papers.values() for table in paper.tables):
        found |= {f"{FOLDER}/figures/{name}": text for name, text in drawings(table, known).items()}
    found |= {f"{FOLDER}/figures/{name}": text for name, text in distance_drawings(papers, known).items()}
    for name, paper in papers.items():
        mine = [relation for relation in STATEMENTS if relation.name.startswith(f"{name}/")]
        found[f"{FOLDER}/{name}.md"] = paper_page(paper, mine, known)
    found[f"{FOLDER}/statements.md"] = statements(verdicts)
    found["papers-code.md"] = papers_code.page(known, extras)
    for path, (make, begin) in EXTRA_PAGES.items():
        if any(name.startswith(begin) for name in extras):
            found[path] = make(extras)
    return found


def index(
    papers: Mapping[str, Paper], known: Known, verdicts: Mapping[str, Verdict], statuses: Mapping[Item, Status]
) -> str:
    """The first page: how many items, statements and cells, and where they are."""
    counts = {name: tally({i: s for i, s in statuses.items() if i.paper == name}) for name in papers}
    counts["all"] = tally(statuses)
    cells = [(cell, usable(cell, result)) for cell, result in known.values() if not cell.why_not]
    done = sum(bool(result and result.seeds_done) for _, result in cells)
    links = "\n".join(f"* [{p.title}]({name}.md): {len(p.tables)} tables and figures" for name, p in papers.items())
    return (
        "\n\n".join(
            [
                "# Five papers, ours beside theirs",
                f"{MADE} `shoal reproduce` lists every table and figure with what it costs here, and runs it; "
                "`shoal reproduce flexcfl --list --format csv` prints every value of every seed of a paper.",
                *main_claims(verdicts),
                "## How near it comes",
                *distance_parts(papers, known),
                "## Read on",
                links,
                "* [All statements, and whether they hold](statements.md)\n"
                "* [How alike ICG's groups are](../icg.md), [EDC over MADC](../edc-madc.md), "
                "[earlier trials](../earlier.md)\n* [What the papers' code does](../../papers-code.md)",
                "## How much was done",
                f"{done} of {len(cells)} cells that can be run here have at least one complete run. "
                + count_sentence(list(verdicts.values())),
                f"The papers have {len(statuses)} items ([list](items.md), which says what the words mean). "
                f"{counts_sentence(statuses)}",
                grid(("paper", *HEADS), [[name, *line] for name, line in counts.items()]),
            ]
        )
        + "\n"
    )


def main_claims(verdicts: Mapping[str, Verdict]) -> list[str]:
    """The main statements of the papers, and what is behind those that do not hold or are undecided."""
    mine = [verdicts[name] for name in MAIN]
    names = (name.split("/")[0] for name in MAIN)
    rows = [[f"[{name}]({name}.md)", *row] for name, row in zip(names, verdict_rows(mine), strict=True)]
    return [
        "## Main statements",
        f"{counted(mine, 'of the papers', 'main statement')} They are those of abstracts and conclusions, and "
        "what each method is known for; what abstracts say of Sentiment140 cannot be run here. How a verdict is formed "
        "stands on [the page of all statements](statements.md); `p` decides nothing, and with 5 seeds cannot go below "
        "0.062. Averages are over the models that were run, in the column of the paper and in the bound, too.",
        grid(("paper", *VERDICTS), rows),
        *with_links(reasons(mine, list(verdicts.values()), undecided=True)),
    ]


def tally(statuses: Mapping[Item, Status]) -> list[str]:
    """The counts under `HEADS`; what is absent is so whoever says it."""
    found = Counter((item.kind in BY_READING or status == "absent", status) for item, status in statuses.items())
    return [str(found[key]) for key in HEADS.values()]


def counts_sentence(statuses: Mapping[Item, Status]) -> str:
    """What was judged by reading, what by runs, and what cannot be had.

    >>> counts_sentence({Item("cfl", "the cut", "same", "D4"): "same"}).split(". ")[0]
    'Methods and settings, judged by reading: 1 same, 0 departing'
    """
    same, departs, reproduced, drawn, partly, apart, undecided, begun, waiting, absent = tally(statuses)
    return (
        f"Methods and settings, judged by reading: {same} same, {departs} departing. "
        f"Tables, figures and claims, judged by runs: {reproduced} reproduced, {drawn} drawn, {partly} partly so, "
        f"{apart} departing, {undecided} undecided, {begun} begun, {waiting} not run. Not to be had: {absent}."
    )


def items(statuses: Mapping[Item, Status], known: Known) -> str:
    """Every item, what became of it, and where to look."""
    parts = ["# Items of the papers", MADE, RULE]
    for paper in dict.fromkeys(item.paper for item in statuses):
        rows = [
            [i.what, status + with_variant(i, status, known), evidence(i) + (f"; {i.remark}" if i.remark else "")]
            for i, status in statuses.items()
            if i.paper == paper
        ]
        parts += [f"## {paper}", grid(("item", "status", "see"), rows)]
    return "\n\n".join(parts) + "\n"


def with_variant(item: Item, status: Status, known: Known) -> str:
    """By which variant a table counts as reproduced, if not by the paper's own cells."""
    names = variant_of(item, known) if item.kind == "cells" and status in ("reproduced", "partly") else ()
    return f" with {', '.join(f'`{name}`' for name in sorted(names))}" if names else ""


def evidence(item: Item) -> str:
    """Where to look, as a link.

    >>> evidence(Item("cfl", "the cut", "same", "D4")), evidence(Item("cfl", "Fig. 3", "cells", "cfl/fig3/*"))
    ('[D4](../../departures.md#d4)', '[cells](cfl.md)')
    """
    if item.kind in ("cells", "curves"):
        return f"[{item.kind}]({item.evidence.split('/')[0]}.md)"
    if item.kind == "claim":
        return "[statements](statements.md)"
    if item.evidence[0] == "D" and item.evidence[1:].isdigit():
        return f"[{item.evidence}](../../departures.md#{item.evidence.lower()})"
    if item.evidence.startswith(f"docs/{FOLDER}/"):
        return f"[{Path(item.evidence).name}]({Path(item.evidence).name})"
    if item.evidence.startswith("docs/"):
        return f"[{Path(item.evidence).name}](../../{item.evidence.removeprefix('docs/')})"
    return f"`{item.evidence}`" if "/" in item.evidence else item.evidence


def statements(verdicts: Mapping[str, Verdict]) -> str:
    """Every statement with its verdict."""
    parts = ["# Statements of the papers", f"{MADE} {count_sentence(list(verdicts.values()))}", HOW]
    for paper in dict.fromkeys(name.split("/")[0] for name in verdicts):
        mine = [verdict for name, verdict in verdicts.items() if name.startswith(f"{paper}/")]
        rows = [[*row, numbers(v)] for row, v in zip(verdict_rows(mine), mine, strict=True)]
        parts += [f"## {paper}", grid((*VERDICTS, "numbers"), rows), *with_links(reasons(mine))]
    return "\n\n".join(parts) + "\n"


def numbers(verdict: Verdict) -> str:
    """Links to the cells that decide, where they were run.

    >>> from shoal.recipes.judging.relations import Relation
    >>> numbers(Verdict(Relation("p/a", "", "", ("p/t/r/a",)), "holds", 1.0))
    '[a](../../../results/p/t/r/a.json)'
    """
    if verdict.ours is None:
        return "-"
    cells = (*verdict.relation.left, *verdict.relation.right)
    return ", ".join(f"[{name.rsplit('/', 1)[1]}](../../../results/{name}.json)" for name in cells)


def front_page(text: str, page: str) -> str:
    """The front page with the counts that a generated page has, each of which begins and ends a line there.

    Args:
        text: Of the front page.
        page: Of `results/reproduce/README.md`.

    Returns:
        The text of now.

    >>> count = "Methods and settings, judged by reading: {}. Not to be had: 0."
    >>> front_page(count.format("one\\nsame") + "\\nLook.", count.format("2 same")).splitlines()
    ['Methods and settings, judged by reading: 2 same. Not to be had: 0.', 'Look.']
    """
    for count in (COUNT, MAIN_COUNT):
        if found := count.search(page):
            text = count.sub(textwrap.fill(found[0], WIDE), text)
    return text


def write_documents(texts: Mapping[str, str], docs: Path) -> list[Path]:
    """Write the pages below a folder, and the count on the front page; pictures that nothing draws any more go.

    Args:
        texts: What `documents` gave.
        docs: The folder, which must be there.

    Returns:
        The files.

    >>> import tempfile
    >>> [path.name for path in write_documents({"a/b.md": "text"}, Path(tempfile.mkdtemp()))]
    ['b.md']
    """
    if not docs.is_dir():
        raise RunFolderError(f"there is no folder {docs}; --write-docs is for a checkout of Shoal, run it there")
    for path in (docs / FOLDER / "figures").glob("*.svg"):
        if path.relative_to(docs).as_posix() not in texts:
            path.unlink()
    found = []
    for name, text in texts.items():
        path = docs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        found.append(path)
    front, counted = docs.parent / "README.md", texts.get(f"{FOLDER}/README.md")
    if front.is_file() and counted is not None:
        front.write_text(front_page(front.read_text(encoding="utf-8"), counted), encoding="utf-8")
        found.append(front)
    return found
