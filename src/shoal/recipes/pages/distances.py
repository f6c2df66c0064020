"""How far our accuracies are from the papers', paper by paper: a table and two pictures."""

from __future__ import annotations

from collections.abc import Mapping

from shoal.recipes.figures.drawn_scenes import drawn_scene
from shoal.recipes.figures.overview import DISTANCES, Pair, distances, overview, pairs_of
from shoal.recipes.grids import grid
from shoal.recipes.judging.relations import Known
from shoal.recipes.pages.as_in_code import lines as flexcfl_lines
from shoal.recipes.pages.both_ways import pairs_of_lines
from shoal.recipes.pages.wecfl_code import lines as wecfl_lines
from shoal.recipes.records import Paper

__all__ = ["distance_drawings", "distance_parts", "groups_of_paper", "rows_of_paper"]

EVERY = "every-accuracy"
TITLE = "Every accuracy of the papers, beside ours"
HOW = (
    "All accuracies that the papers print, beside ours, whatever the number of seeds, played by the recipes' defaults: "
    "as the text says, but for the departures that each table names. Two of WeCFL's are near by choice (D28), those of "
    "its Table 5 have 50 clients in place of 200, and FedGSP's are of a small network after 100 of 500 rounds: that "
    "these are near or far tells little. Distances are in points:"
)
TEXT, CODE, SAME = "by the text", "as the code", "the same by the text"
BOTH_WAYS = {"flexcfl": flexcfl_lines, "wecfl": wecfl_lines}  # papers that were also played as public code does
PLAYED = {
    "flexcfl": "FlexCFL, by its text and as its code",
    "wecfl": "WeCFL on CIFAR-10, by its text and as the code",
}
READ = (
    "`flexcfl, as its code` has the rows of FlexCFL that were also played with five differences between its text and "
    "its code ([which](../../papers-code.md#flexcfl-all-of-it-together), and which two figures are left out), and "
    "`wecfl, as its code` the cells on CIFAR-10 that were also played as the framework of its first author does "
    "([how](../../papers-code.md#wecfl-ifcas-models-are-one-object)). Most of FlexCFL's large distances and those of "
    "IFCA in WeCFL's tables on CIFAR-10 come from these differences."
)


def distance_parts(papers: Mapping[str, Paper], known: Known) -> list[str]:
    """The table, the picture and how to read them.

    Args:
        papers: By name.
        known: All cells with what is stored of them.

    Returns:
        Pieces of Markdown.
    """
    found = by_paper(papers, known)
    every = [pair for pairs in found.values() for pair in pairs]
    all_of_them = {**found, "all": every}
    for name in played_both_ways(papers):
        text, code = both_ways(name, known)
        all_of_them |= {f"*{name}, as its code*": code, f"*{name}, the same by its text*": text}
    rows = [[name, *distances(pairs)] for name, pairs in all_of_them.items()]
    drawn = [f"![{TITLE}](figures/{EVERY}.svg)"] if every else []
    return [HOW, grid(("paper", *DISTANCES), rows), READ, *drawn]


def by_paper(papers: Mapping[str, Paper], known: Known) -> dict[str, list[Pair]]:
    return {name: pairs_of(paper, known) for name, paper in papers.items()}


def played_both_ways(papers: Mapping[str, Paper]) -> list[str]:
    return [name for name in papers if name in BOTH_WAYS]


def both_ways(name: str, known: Known) -> tuple[list[Pair], list[Pair]]:
    """Pairs by the text and as the code, of a paper that was played so."""
    return pairs_of_lines(BOTH_WAYS[name](known))


def groups_of_paper(paper: Paper, known: Known) -> dict[str, list[Pair]]:
    """The same of one paper, for its page of HTML; of some also as its code plays.

    Args:
        paper: The paper.
        known: All cells with what is stored of them.

    Returns:
        Pairs by how they were played.
    """
    code = {CODE: both_ways(paper.name, known)[1]} if paper.name in BOTH_WAYS else {}
    return {TEXT: pairs_of(paper, known), **code}


def rows_of_paper(paper: Paper, known: Known) -> list[list[str]]:
    """How far the groups of a paper are away; of some also what was played as its code, by its text.

    Args:
        paper: The paper.
        known: All cells with what is stored of them.

    Returns:
        Rows of a table with the heads `DISTANCES` behind an empty one.
    """
    same = {SAME: both_ways(paper.name, known)[0]} if paper.name in BOTH_WAYS else {}
    return [[name, *distances(pairs)] for name, pairs in {**groups_of_paper(paper, known), **same}.items()]


def distance_drawings(papers: Mapping[str, Paper], known: Known) -> dict[str, str]:
    """The pictures of which something was run, by the names of their files.

    Args:
        papers: By name.
        known: All cells with what is stored of them.

    Returns:
        SVG texts.
    """
    scenes = {f"{EVERY}.svg": (TITLE, overview(by_paper(papers, known)))}
    for name in played_both_ways(papers):
        pairs = dict(zip((TEXT, CODE), both_ways(name, known), strict=True))
        scenes[f"{name}-as-in-code.svg"] = (PLAYED[name], overview(pairs))
    return {name: drawn_scene(title, scene) for name, (title, scene) in scenes.items() if scene is not None}
