"""What FedBase, of WeCFL's first author, does otherwise than the paper's text, with our numbers on CIFAR-10."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from shoal.recipes.grids import grid
from shoal.recipes.judging.relations import Known
from shoal.recipes.pages.beside import by_seed
from shoal.recipes.pages.both_ways import Line, means, rows_of_lines
from shoal.recipes.pages.extra_pages import Extras
from shoal.recipes.papers.wecfl_code import PLAYED, code_of

__all__ = ["lines", "wecfl_code"]

ACCURACY, F1 = "last_three_accuracy", "last_three_f1"
ABOUT = """## WeCFL: IFCA's models are one object

[FedBase](https://github.com/jie-ma-ai/FedBase), package `fedbase`, is the public framework of WeCFL's first author.
Its version 0.6.9 has all methods of the paper's tables, in files of April and May 2022, and a script of May 2022 in
the repository (`test.py`) has the paper's settings: 100 rounds of 200 clients, ten steps on batches of 32, SGD at
0.001 with momentum 0.9. We do not know which state of the code made the tables. In its IFCA, and that of all versions
of 2022 that can be run, a client that chooses a model gets the model and not a copy, so that the clients of one model
train it one after the other. After the round every model that was chosen is set to the server's model, the same
object for all of them. Clients that chose one of these in the next round train that one object, and if others chose a
model that nobody had, theirs takes its place. Within a few rounds no other is left: one model goes through all 200
clients in turn, and is tested on all of them after the last. Since version 0.8.0 (February 2023) the K models stay
apart; the clients of one still share it. `one_object=true` imitates the former ([D103](departures.md#d103)).

If the tables were made so, it would explain why IFCA's figures depend on K less than those of FeSEM and WeCFL, and
why they are higher in Table 5 than in Table 2, where 20 clients of a cluster follow each other. The other methods are
played as FedBase has them where Shoal can: inputs from -1 to 1 ([D104](departures.md#d104)) and, of FeSEM and WeCFL,
k-means of the last layer's weights ([D58](departures.md#d58)), of FeSEM until nothing changes. Shoal cannot run
k-means anew in every round, nor count clients alike in FeSEM's k-means alone ([D61](departures.md#d61)). On
Fashion-MNIST FedBase tests batch norm in the mode of training, which Shoal does not imitate; so this is CIFAR-10
alone, with 200 clients in Table 5, too, as the code:
"""
TABLES = {
    "wecfl/table2-fmnist-dirichlet": "Table 2, (0.1, 10)",
    "wecfl/table2-fmnist-classes": "Table 2, (3, 2) classes",
    "wecfl/table2-cifar-dirichlet": "Table 2, (0.1, 10)",
    "wecfl/table2-cifar-classes": "Table 2, (3, 2) classes",
    "wecfl/table5-cifar-dirichlet": "Table 5, 0.1, by the text with 50 clients",
    "wecfl/table5-cifar-classes": "Table 5, two classes, by the text with 50 clients",
}
DRAWN = "![WeCFL's accuracies on CIFAR-10, by its text and as the code](results/reproduce/figures/wecfl-as-in-code.svg)"
OVERALL = "Over {} of {} it is {:.1f} points from the paper by the text and {:.1f} as the code."
PACKAGE = """Whether that is what FedBase does can be seen: here it is itself, version 0.6.9, on our split of seed 0 of
CIFAR-10 (3, 2), beside Shoal on the same split. First weights and batches are drawn by each in its own way. Accuracy
of the last three rounds:"""
MADE_BY = "FedBase's column is made by `python -m tools.fedbase`, which says what of it is ours."
NORM = """On Fashion-MNIST batch norm in the mode of training sees the test samples of one client, sorted by class, in
batches of 32, and takes their mean and variance in place of what it learnt. `python -m tools.batch_norm` plays
methods of Table 2 with inputs from -1 to 1 and tests the models of the last round both ways. IFCA's models are one
object, whose running statistics are those of the last clients in the turn. Seed 0, accuracy and macro F1, per cent:"""
FAR = "`{}` {:.1f} by running statistics, {:.1f} by those of the batch"
MORE = """Facts of FedBase besides, each with its entry: one optimiser per client, made before the first round, except
in IFCA, where a new one is made in every round ([D28](departures.md#d28)); FeSEM differs from WeCFL only in
the weights of k-means ([D61](departures.md#d61)); both begin with one model for all clients and k-means++
anew in every round ([D56](departures.md#d56)); ensembles add up outputs, and are tested once
([D39](departures.md#d39)); planted clusters are drawn again until each is large, and small clients are
replaced by others a second time ([D75](departures.md#d75)); means over clients are weighted by their numbers
of batches ([D77](departures.md#d77))."""


def wecfl_code(known: Known, extras: Extras) -> list[str]:
    """The section as pieces of Markdown.

    Args:
        known: All cells with what is stored of them.
        extras: What was measured without recipes.

    Returns:
        Texts and a table.
    """
    found = [*lines(known)]
    heads = ("table", "column", "paper", "by the text", "as the code")
    drawn = [DRAWN] if any(one.apart is not None for one in found) else []
    return [
        ABOUT.strip(),
        grid(heads, rows_of_lines(found)),
        *drawn,
        *summary(found),
        *package(known, extras),
        *batch_norm(known, extras),
        MORE,
    ]


def lines(known: Known) -> Iterator[Line]:
    """The cells that can be played both ways."""
    for table, columns in PLAYED.items():
        for column in columns:
            plain = f"{table}/{row_of(column)}/{column}"
            paper = known[plain][0].paper[ACCURACY]
            assert paper is not None
            values = (by_seed(name, known, ACCURACY) for name in (plain, code_of(plain)))
            yield Line(TABLES[table], column, paper, *values)


def row_of(method: str) -> str:
    """The row of WeCFL's tables in which a method is that is played both ways: of one model, or of ten."""
    return "k1" if method in ("fedavg", "fedprox") else "k10"


def summary(found: list[Line]) -> list[str]:
    """How far both are from the paper: IFCA's figures, and the others, of those that were run both ways."""
    told = []
    for words, some in (
        ("IFCA", [one for one in found if one.column == "ifca"]),
        ("the other methods", [one for one in found if one.column != "ifca"]),
    ):
        pairs = [one.apart for one in some if one.apart is not None]
        if pairs:
            figures = f"{len(pairs)} figure{'s' if len(pairs) > 1 else ''}"
            told.append(OVERALL.format(figures, words, *means(pairs)))
    return [" ".join(told)] if told else []


def package(known: Known, extras: Extras) -> list[str]:
    """FedBase itself beside Shoal, on one split; nothing while it was not played."""
    if "fedbase" not in extras:
        return []
    rows, seed = [], extras["fedbase"]["seed"]
    for method, played in extras["fedbase"]["played"].items():
        plain = f"wecfl/table2-cifar-classes/{row_of(method)}/{method}"
        told = f"{100 * fmean(played['accuracy'][-3:]):.1f}"
        paper, rounds = known[plain][0].paper[ACCURACY], known[plain][0].rounds
        early = "" if played["rounds"] == rounds else f" (round {played['rounds']})"
        ours = [by_seed(name, known, ACCURACY).get(seed) for name in (code_of(plain), plain)]
        rows.append([f"`{method}`", f"{paper:.1f}", told + early, *("-" if v is None else f"{v:.1f}" for v in ours)])
    heads = ("column", "paper", "FedBase here", "Shoal as the code", "Shoal by the text")
    return [PACKAGE, grid(heads, rows), MADE_BY]


def batch_norm(known: Known, extras: Extras) -> list[str]:
    """Networks with batch norm tested both ways; nothing while that was not played."""
    rows, apart = [], dict[str, list[tuple[float, float]]]()
    for name, found in extras.get("batch-norm", {}).get("played", {}).items():
        cell = known[name][0]
        paper = cell.paper[ACCURACY]
        assert paper is not None
        running, batches = (abs(100 * found[way]["accuracy"] - paper) for way in ("running", "batches"))
        apart.setdefault(cell.column, []).append((running, batches))
        told = (f"{100 * found[way]['accuracy']:.1f}, {100 * found[way]['f1']:.1f}" for way in ("running", "batches"))
        rows.append(
            [TABLES[cell.table], f"`{cell.column}`", f"{cell.paper[ACCURACY]:.1f}, {cell.paper[F1]:.1f}", *told]
        )
    heads = ("table", "column", "paper", "running statistics", "statistics of the batch")
    far = (FAR.format(column, *means(pairs)) for column, pairs in apart.items())
    return [NORM, grid(heads, rows), f"Points from the paper's accuracy, on average: {'; '.join(far)}."] if rows else []
