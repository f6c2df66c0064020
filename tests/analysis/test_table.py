"""The one table that terminal, LaTeX, CSV, JSON and HTML show: what its cells say and which of them are marked."""

from __future__ import annotations

from typing import Any

import pytest

from shoal.analysis.compare import Line, spread
from shoal.analysis.quantities import FIGURES, Quantity
from shoal.analysis.significance import Difference
from shoal.analysis.table import Comparison, difference_heads, difference_notes, tabulate
from shoal.cli.tables import comparison_latex
from shoal.report.headline import comparison_sheet


def line(name: str, runs: int = 1, **figures: Any) -> Line:
    """A setting; a figure is a value per run, or one value for all."""
    lists = {k: v if isinstance(v, list) else [v] * runs for k, v in figures.items()}
    found = {key: spread(lists.get(key, [])) for key in FIGURES}
    return Line(name, tuple(f"{name}/{i}" for i in range(runs)), True, found)


def column(found: Comparison, key: str) -> list[str]:
    return [row[[q.key for q in found.columns].index(key)].shown() for row in found.rows]


def best_of(found: Comparison, key: str) -> list[str]:
    at = [q.key for q in found.columns].index(key)
    return [line.name for line, row in zip(found.lines, found.rows, strict=True) if row[at].best]


def test_the_best_is_found_among_numbers_not_among_texts() -> None:
    """-0.20 is more than -0.01 as text, 100.0 less than 99.0; as numbers they are not."""
    lines = [line("a", ari=-0.20, best_accuracy=1.0), line("b", ari=-0.01, best_accuracy=0.99)]
    found = tabulate(lines)
    assert column(found, "ari") == ["-0.20", "-0.01"]
    assert (best_of(found, "ari"), best_of(found, "best_accuracy")) == (["b"], ["a"])
    marked = comparison_sheet(found, None).marked
    assert marked == {(1, 2 + [q.key for q in found.columns].index("ari")), (0, 2)}  # behind setting and runs
    latex = comparison_latex(lines).splitlines()
    assert r"\textbf{-0.01}" in latex[5] and r"\textbf{100.0}" in latex[4]


def test_what_looks_the_same_is_marked_alike() -> None:
    """93.44 % and 93.36 % are both shown as 93.4 %, 93.54 % is not."""
    both = tabulate([line("a", best_accuracy=0.9344), line("b", best_accuracy=0.9336)])
    assert best_of(both, "best_accuracy") == ["a", "b"]
    three = tabulate([*both.lines, line("c", best_accuracy=0.9354)])
    assert best_of(three, "best_accuracy") == ["c"]


def test_fewer_rounds_to_a_target_are_better_if_every_run_reached_it() -> None:
    lines = [line("slow", 2, rounds_to_target=20), line("quick", 2, rounds_to_target=10)]
    assert best_of(tabulate(lines), "rounds_to_target") == ["quick"]
    lucky = line("lucky", 2, rounds_to_target=[3, None])
    found = tabulate([*lines, lucky])
    assert best_of(found, "rounds_to_target") == ["quick"]
    assert column(found, "rounds_to_target") == ["20", "10", "3 (1 of 2)"]


@pytest.mark.parametrize("key", ["seconds", "megabytes", "groups"])
def test_what_is_spent_and_how_many_models_there_are_is_no_merit(key: str) -> None:
    assert best_of(tabulate([line("a", **{key: 1}), line("b", **{key: 2})]), key) == []


def test_one_setting_alone_is_not_the_best() -> None:
    assert best_of(tabulate([line("a", best_accuracy=0.5), line("b")]), "best_accuracy") == []


def test_means_and_spreads_as_text() -> None:
    """0.9 and 0.8: mean 85 %, standard deviation sqrt(2) * 5 = 7.07 points."""
    found = tabulate([line("a", 2, best_accuracy=[0.9, 0.8], megabytes=1234.5, groups=[3, 4], ari=0.5)])
    assert [column(found, k)[0] for k in ("best_accuracy", "megabytes", "groups", "ari")] == [
        "85.0±7.1",
        "1,234",
        "3.5±0.7",
        "0.50",
    ]
    assert comparison_sheet(found, None).rows == [["a", "2", "85.0 ± 7.1", "0.50", "3.5 ± 0.7", "1,234"]]


def test_where_no_round_had_all_clients_the_best_is_shown_with_its_coverage() -> None:
    some = line("flexcfl", best_partial_accuracy=0.908, best_partial_clients=78, best_partial_of=1000)
    old = line("old", best_partial_accuracy=0.5, best_partial_clients=7)  # records did not tell of how many
    found = tabulate([line("fedavg", best_accuracy=0.85), line("ifca", best_accuracy=0.8), some, old])
    assert column(found, "best_accuracy") == ["85.0", "80.0", "90.8 (78 of 1,000 clients)", "50.0 (7 clients)"]
    assert best_of(found, "best_accuracy") == ["fedavg"]  # others are about fewer clients
    assert [head.short for head, _ in found.meanings()] == ["best %", "(clients)"]
    assert [head.short for head, _ in tabulate(found.lines[:2]).meanings()] == ["best %"]
    alone = tabulate([some])
    assert [q.key for q in alone.columns] == ["best_accuracy"]


def test_every_figure_is_declared_once_and_whole() -> None:
    assert all(q.meaning and q.head and q.title for q in FIGURES.values())
    assert [key for key, q in FIGURES.items() if q.better is None] == ["groups", "best_partial_of"]
    heads = [q.head for q in FIGURES.values()]
    assert len(set(heads)) == len(heads)


def difference(setting: str, **more: Any) -> Difference:
    return Difference(setting, "base", (3, 3), 0.1, **more)


def test_the_legend_explains_what_is_there_and_nothing_else() -> None:
    best, seconds = FIGURES["best_accuracy"], FIGURES["seconds"]
    flips = difference("a", low=0.0, high=0.2, effect=1.0, p=0.25, least_p=0.25, p_holm=0.25, test="sign flips")
    notes = difference_notes([flips], best)
    assert notes["diff."] == "mean of the setting minus base, in points: above 0 is better"
    assert notes["Holm"] == "as p: nothing to correct"
    assert "exact: " in notes["sign flips"] and "below 0.25" in notes["3 pairs"]
    assert "Welch" not in notes
    welch = difference("b", low=0.0, high=0.2, effect=1.0, p=0.25, p_holm=0.5, test="Welch")
    both = difference_notes([flips, welch], seconds)
    assert both["diff."].endswith("in s: below 0 is better")
    assert both["Holm"] == "p corrected for looking at 2 differences"
    assert both["n"] == "pairs of runs with the same seed, or runs of the setting and of the other"
    assert "Welch" in both
    assert list(difference_notes([difference("c")], best)) == ["diff.", "n"]  # one run each: nothing to test


def heads(quantity: Quantity) -> list[str]:
    return [head.long for head in difference_heads(quantity)]


def test_differences_name_their_unit() -> None:
    found = [heads(FIGURES[key])[1] for key in ("best_accuracy", "megabytes", "ari")]
    assert found == ["difference (points)", "difference (MB)", "difference"]
