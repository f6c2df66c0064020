"""Statements name cells that are there, and the papers' own tables keep most of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest

from shoal.data import build
from shoal.errors import DataMissing
from shoal.measures.l2 import squared_l2
from shoal.recipes import PAPERS
from shoal.recipes.judging.derived import DERIVED, values_of
from shoal.recipes.judging.main_claims import MAIN
from shoal.recipes.judging.relations import Known, Relation, Says, Verdict, decided, judge, known_cells, within
from shoal.recipes.judging.statements import STATEMENTS
from shoal.recipes.judging.statements_flexcfl import PRINTED
from shoal.recipes.numbers import figure_of
from shoal.recipes.pages.paper_pages import count_sentence
from shoal.recipes.pages.reasons import SUPPOSED, reason_rows, reasons
from shoal.recipes.pages.table_grids import cell_text
from shoal.recipes.records import Cell, Quantity
from shoal.recipes.store import Result, Store
from shoal.seeds import Key

KNOWN = {cell.name: (cell, None) for paper in PAPERS.values() for table in paper.tables for cell in table.cells}


def test_names_are_unique_and_begin_with_a_paper() -> None:
    names = [relation.name for relation in STATEMENTS]
    assert len(set(names)) == len(names) > 100
    assert {name.split("/")[0] for name in names} == set(PAPERS)


def test_every_paper_has_main_claims_and_they_are_its_own() -> None:
    own = {relation.name for relation in STATEMENTS if not relation.ours}
    assert len(set(MAIN)) == len(MAIN) and set(MAIN) <= own
    assert {name.split("/")[0] for name in MAIN} == set(PAPERS)
    assert {r.name for r in STATEMENTS if "abstract" in r.source and not r.ours} <= set(MAIN), "what an abstract says"


def test_reasons_of_some_statements_find_what_tells_among_all() -> None:
    one, other = (Relation(f"p/{name}", f"{name} is high", "", ("x",), cause="the setting", why="So.") for name in "ab")
    verdict = Verdict(replace(one, tells=("p/b",)), "does not hold")
    told = reasons([verdict], [Verdict(other, "holds", ours=1.0, n=2, holds_in=2)])
    assert told[1] == '* a is high: the setting. So. "b is high": 1.00, in 2 of 2 seeds, holds.'
    assert told[2] == SUPPOSED


def test_a_cause_is_supposed_unless_a_run_tells_and_none_tells_otherwise() -> None:
    one = Relation("p/a", "a is high", "", ("x",), cause="the setting", why="So.", tells=("p/b", "p/c"))
    others = [Relation(f"p/{name}", f"{name} is high", "", ("x",)) for name in "bc"]
    cases: tuple[tuple[tuple[Says, Says], bool], ...] = (
        (("holds", "holds"), False),
        (("holds", "undecided"), False),
        (("undecided", "undecided"), True),
        (("holds", "does not hold"), True),
        (("holds", "not run"), True),
    )
    for says, supposed in cases:
        for n in (1, 2):  # seeds; a single one does not tell
            told = [Verdict(other, word, n=n) for other, word in zip(others, says, strict=True)]
            [row] = reason_rows([Verdict(one, "does not hold")], told)
            assert (row[1] == "supposed: the setting") == (supposed or n == 1), says
    assert reason_rows([Verdict(one, "does not hold")])[0][1] == "supposed: the setting"


def test_what_tells_of_one_statement_does_not_vouch_for_another() -> None:
    """Both have the same cause; only of the first one a run tells, so that of the second it is supposed."""
    two = [
        Relation(f"p/{name}", f"{name} is high", "", ("x",), cause="the setting", why="So.", tells=(f"p/{name}-tells",))
        for name in "ab"
    ]
    told = [Relation(f"p/{name}-tells", f"{name} tells", "", ("x",)) for name in "ab"]
    others = [Verdict(told[0], "holds", n=2), Verdict(told[1], "undecided", n=2)]
    rows = reason_rows([Verdict(one, "does not hold") for one in two], others)
    assert [row[:2] for row in rows] == [["a is high", "the setting"], ["b is high", "supposed: the setting"]]
    assert "b tells" not in rows[0][2] and "a tells" not in rows[1][2]


def test_reasons_of_undecided_statements_are_told_if_asked() -> None:
    one = Relation("p/a", "a is high", "", ("x",), cause="the setting", why="So.")
    verdicts = [Verdict(one, "undecided"), Verdict(replace(one, name="p/b", cause="", why=""), "undecided")]
    assert reasons(verdicts) == []
    title, line = reasons(verdicts, undecided=True)
    assert (
        title == "Behind those that do not hold or are undecided:" and line == "* a is high: supposed: the setting. So."
    )


def test_what_is_asked_of_ifca_is_half_of_what_wecfl_prints() -> None:
    found = {
        r.name: r.most
        for r in STATEMENTS
        if r.name.startswith("wecfl/ifca-cifar") or r.name.startswith("wecfl/ifca-fmnist")
    }
    assert found == {  # 36.11, 38.07, 13.78 and 10.52 points
        "wecfl/ifca-cifar-dirichlet": -18,
        "wecfl/ifca-cifar-classes": -19,
        "wecfl/ifca-fmnist-dirichlet": -7,
        "wecfl/ifca-fmnist-classes": -5,
    }


def test_cells_are_there_and_quantities_are_shown_or_kept() -> None:
    from shoal.recipes.runs.measure import FIGURES

    kept = {*FIGURES, *DERIVED, "rounds_to_80", "rounds_to_85", "t_comm_to_80"}
    for relation in STATEMENTS:
        assert [name for name in (*relation.left, *relation.right) if name not in KNOWN] == []
        assert relation.quantity in kept
        assert relation.bounds, relation.name


def test_nothing_run_is_not_run() -> None:
    assert {judge(relation, KNOWN).says for relation in STATEMENTS} == {"not run"}


def test_variants_of_ours_have_no_figure_of_the_paper() -> None:
    [found] = [judge(r, KNOWN) for r in STATEMENTS if r.name == "flexcfl/fesem-first-mnist-mclr"]
    assert found.paper is None


def test_the_papers_tables_keep_the_papers_statements() -> None:
    """Where both sides are printed, the bounds must hold for the printed figures."""
    broken = []
    for relation in STATEMENTS:
        printed = judge(relation, KNOWN).paper
        if printed is not None and not within(relation, printed):
            broken.append((relation.name, printed))
    assert broken == []


def two(left: dict[int, dict[str, float]], right: dict[int, dict[str, float]], seeds: int = 2) -> Known:
    """Cells a and b with figures by seed, of runs of 50 rounds."""
    known = {}
    for column, figures in (("a", left), ("b", right)):
        cell = Cell("p/t", "r", column, "fedavg", {"rounds": 50}, seeds=seeds)
        runs = {seed: {"complete": True, "rounds": 50, "figures": found} for seed, found in figures.items()}
        known[cell.name] = (cell, Result(cell.settings, runs))
    return known


def relation(**more: Any) -> Relation:
    return Relation("p/a", "a against b", "", ("p/t/r/a",), ("p/t/r/b",), **more)


def accuracies(*values: float) -> dict[int, dict[str, float]]:
    return {seed: {"best_accuracy": value} for seed, value in enumerate(values)}


def test_chance_is_that_of_the_seeds_that_are_shown_against_the_bound() -> None:
    """Differences of 5, 6 and 5 points are all above 0 and 4: two of eight signs as far; from 5 they are 0, 1, 0."""
    known = two(accuracies(0.65, 0.66, 0.65), accuracies(0.6, 0.6, 0.6), 3)
    assert [judge(relation(least=bound), known).p for bound in (0, 4)] == pytest.approx([0.25, 0.25])
    assert judge(relation(least=5), known).p == pytest.approx(1.0)
    one = judge(relation(least=0), two(accuracies(0.7), accuracies(0.6, 0.6, 0.6), 3))
    assert (one.n, one.p) == (1, None)
    apart = {1: {"best_accuracy": 0.7}, 2: {"best_accuracy": 0.8}}
    assert judge(relation(least=0), two(accuracies(0.6), apart)).says == "not run"  # no seed is shared


@pytest.mark.parametrize(
    ("mean_holds", "holds_in", "n", "says"),
    [
        (True, 1, 1, "holds"),  # one seed decides alone
        (False, 0, 1, "does not hold"),
        (True, 1, 2, "undecided"),  # 1 of 2 is less than 1.5
        (True, 2, 3, "undecided"),  # 2 of 3 is less than 2.25
        (False, 1, 3, "undecided"),
        (False, 0, 3, "does not hold"),
        (True, 3, 4, "holds"),  # exactly three quarters
        (False, 1, 4, "does not hold"),
        (True, 3, 5, "undecided"),  # less than 3.75
        (True, 4, 5, "holds"),
        (False, 2, 5, "undecided"),
        (False, 1, 5, "does not hold"),
        (True, 7, 10, "undecided"),  # less than 7.5
        (True, 8, 10, "holds"),
    ],
)
def test_a_verdict_needs_the_mean_and_three_quarters_of_the_seeds(
    mean_holds: bool, holds_in: int, n: int, says: str
) -> None:
    assert decided(mean_holds, holds_in, n) == says


def test_seeds_that_disagree_leave_a_statement_undecided() -> None:
    """Differences of 8, -1, -1 and -1 points: the mean is 1.25 above, three quarters of the seeds are below."""
    known = two(accuracies(0.68, 0.59, 0.59, 0.59), accuracies(0.6, 0.6, 0.6, 0.6), 4)
    found = judge(relation(least=0, strict=True), known)
    assert (found.says, found.holds_in, found.words) == ("undecided", 1, "undecided")
    assert found.ours == pytest.approx(1.25)
    below = judge(relation(most=0, strict=True), known)
    assert (below.says, below.holds_in) == ("undecided", 3)  # neither the one nor the other
    assert reasons([found, below]) == []
    assert "0 hold in our runs, 0 do not, 2 are undecided" in count_sentence([found, below])


def test_a_count_of_one_is_singular() -> None:
    each = [Verdict(relation(), says, 1.0, n=1, wanted=1) for says in ("holds", "does not hold", "undecided")]
    told = "Of 3 statements of the papers 1 holds in our runs, 1 does not, 1 is undecided, and 0 were not judged"
    assert count_sentence(each).startswith(told)
    assert each[0].shown == "+1.00, in 0 of 1 seed"


def several(**figures: list[float]) -> Known:
    """Cells by column with a best accuracy for each seed, and one that was not run for an empty list."""
    known = {}
    for column, values in figures.items():
        cell = Cell("p/t", f"r{column[1:]}", column, "fedavg", {"rounds": 50}, {"best_accuracy": 50.0}, seeds=2)
        runs = {s: {"complete": True, "rounds": 50, "figures": {"best_accuracy": v}} for s, v in enumerate(values)}
        known[column] = (cell, Result(cell.settings, runs) if runs else None)
    return known


def test_the_lowest_is_below_every_other_seed_by_seed() -> None:
    """Against the mean of 0.6 and 0.9, 0.7 would be lower by 5 points; against 0.6, the least, it is higher by 10."""
    known = several(a=[0.7, 0.7], b=[0.6, 0.9], c=[0.9, 0.6])
    asked = Relation("p/a", "", "", ("a",), ("b", "c"), most=0, strict=True)
    assert judge(asked, known).ours == pytest.approx(-5)
    lowest = judge(replace(asked, over="least"), known)
    assert (lowest.says, lowest.holds_in) == ("does not hold", 0) and lowest.ours == pytest.approx(10)
    assert judge(replace(asked, over="largest"), known).ours == pytest.approx(-20)


def test_an_average_leaves_out_what_was_not_run_on_both_sides() -> None:
    """a1 against b1 is 10 points; a2 was not run, so that b2 does not count either."""
    known = several(a1=[0.7, 0.7], b1=[0.6, 0.6], a2=[], b2=[0.1, 0.1])
    asked = Relation("p/a", "", "", ("a1", "a2"), ("b1", "b2"), least=4)
    assert judge(asked, known).says == "not run"
    found = judge(replace(asked, partly=True), known)
    assert (found.says, found.without, found.settled, found.relation.left) == ("holds", ("r2",), False, ("a1",))
    assert found.ours == pytest.approx(10) and found.words == "holds so far (2 of 2 seeds, without r2)"
    assert judge(replace(asked, partly=True), several(a1=[], b1=[], a2=[], b2=[])).says == "not run"


def test_half_of_what_is_printed_for_all_models_is_half_of_what_is_printed_for_those_that_were_run() -> None:
    """The paper has 10 points for one model and 2 for the other: at least half, 3 of 6 points, is 5 of 10."""
    known = several(a1=[0.7, 0.7], b1=[0.6, 0.6], a2=[], b2=[])
    figures = {"a1": 60.0, "b1": 50.0, "a2": 52.0, "b2": 50.0}
    known = {name: (replace(cell, paper={"best_accuracy": figures[name]}), r) for name, (cell, r) in known.items()}
    asked = Relation("p/a", "", "", ("a1", "a2"), ("b1", "b2"), least=3, partly=True)
    found = judge(asked, known)
    assert (found.relation.least, found.paper) == (5.0, 10.0)
    assert judge(replace(asked, least=-3, most=3), known).relation.most == 3  # two bounds are no share of anything
    assert judge(replace(asked, printed=6.0), known).relation.least == 3  # the paper's own words are for these, too


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ((0.61, 0.61, 0.61, 0.58), "undecided"),  # 0.25 points above, and a standard error of 0.75
        ((0.61, 0.61, 0.61, 0.61), "holds"),
        ((0.6005, 0.6005), "undecided"),  # tables print tenths of points
    ],
)
def test_a_mean_too_near_its_bound_is_undecided(values: tuple[float, ...], says: str) -> None:
    known = two(accuracies(*values), accuracies(*[0.6] * len(values)))
    assert judge(relation(least=0, strict=True), known).says == says


def test_figures_in_causes_are_those_of_the_results() -> None:
    """What a cause quotes: the paper's accuracy, ours with the mean, and ours with the first client alone."""
    cells = [cell for table in PAPERS["flexcfl"].tables for cell in table.cells]
    known = known_cells(cells, Store(Path(__file__).parents[3] / "results"))
    for (row, method), quoted in PRINTED.items():
        mean, first = (known[f"flexcfl/table3/{row}/{column}"] for column in (method, f"{method}-first"))
        ours = [100 * fmean(r.values("best_accuracy").values()) for _, r in (mean, first) if r is not None]
        assert (mean[0].paper["best_accuracy"], *(round(v, 1) for v in ours)) == quoted


def test_a_verdict_says_how_many_seeds_are_missing() -> None:
    known = two(accuracies(0.7, 0.7), accuracies(0.6, 0.6), seeds=5)
    found = judge(relation(least=0), known)
    assert (found.says, found.words, found.settled) == ("holds", "holds so far (2 of 5 seeds)", False)
    settled = judge(relation(least=0), two(accuracies(0.7, 0.7), accuracies(0.6, 0.6)))
    assert settled.words == "holds" and settled.settled


def test_spreads_over_seeds_are_compared() -> None:
    """60, 70, 80 and 69, 70, 71 per cent: standard deviations of 10 and 1 points, of the seeds that both have."""
    asked = relation(least=0, strict=True, spread=True)
    known = two(accuracies(0.6, 0.7, 0.8), accuracies(0.69, 0.7, 0.71, 0.1), 3)
    found = judge(asked, known)
    assert found.ours == pytest.approx(9.0) and (found.says, found.n, found.p) == ("holds", 3, None)
    assert found.shown == "+9.00, over 3 seeds" and found.settled
    assert judge(relation(most=0, strict=True, spread=True), known).says == "does not hold"
    assert judge(asked, two(accuracies(0.6), accuracies(0.7))).says == "not run"  # one seed has no spread
    assert judge(replace(asked, printed=4.55), known).paper == 4.55
    near = two(accuracies(0.6, 0.7, 0.8), accuracies(0.61, 0.7, 0.79), 3)  # 10 and 9 points, as any two draws may have
    assert judge(asked, near).says == "undecided"


def test_fedgsp_must_reach_its_target_within_the_rounds_of_the_run() -> None:
    [asked] = [r for r in STATEMENTS if r.name == "fedgsp/by-34"]
    [cell] = [KNOWN[name][0] for name in asked.left]
    assert cell.rounds == 34 and cell.rounds % cell.keys["eval_every"] == 0  # the last one is tested
    for best, says in ((0.81, "holds"), (0.79, "does not hold")):
        run = {"complete": True, "rounds": 34, "figures": {"best_accuracy": best}}
        assert judge(asked, {**KNOWN, cell.name: (cell, Result(cell.settings, {0: run}))}).says == says


def test_fewer_rounds_need_a_target_that_is_reached() -> None:
    never = two({0: {}}, {0: {}}, 1)
    assert judge(relation(most=0, strict=True, quantity="rounds_to_85", scale=1), never).says == "does not hold"
    found = judge(
        relation(most=0, strict=True, quantity="rounds_to_85", scale=1), two({0: {"rounds_to_85": 40}}, {0: {}}, 1)
    )
    assert (found.says, found.ours) == ("holds", -10)  # 40 rounds against all 50


def test_costs_until_a_target_that_was_never_reached_are_those_of_the_whole_run() -> None:
    reached, never = {"t_comm_to_80": 5.0, "t_comm": 90.0}, {"t_comm": 100.0}
    asked = relation(most=0.25, quantity="t_comm_to_80", scale=1, ratio=True)
    found = judge(asked, two({0: reached, 1: reached}, {0: never, 1: {"t_comm_to_80": 50.0, "t_comm": 100.0}}))
    assert (found.says, found.n) == ("holds", 2) and found.ours == pytest.approx((0.05 + 0.1) / 2)


def test_cosines_are_those_of_the_last_picture() -> None:
    kept = [
        {"round": 1, "within": [0.9, 0.95, 1.0], "between": [0.1, 0.2, 0.3]},
        {"round": 2, "within": [0.97, 0.98, 0.99], "between": [0.1, 0.25, 0.3]},
    ]
    run = {"complete": True, "rounds": 2, "figures": {}}
    result = Result({}, {0: {**run, "cosines": kept}, 1: run})
    assert values_of("least_cosine_within", result) == {0: 0.97}
    assert values_of("mean_cosine_between", result) == {0: 0.25}


def test_statements_of_ours_are_counted_apart_and_have_no_figure_of_the_paper() -> None:
    own = [r for r in STATEMENTS if r.ours]
    assert own and {judge(r, KNOWN).paper for r in own} == {None}
    counts = count_sentence([judge(r, KNOWN) for r in STATEMENTS])
    assert f"Of {len(STATEMENTS) - len(own)} statements of the papers" in counts
    assert f"Of {len(own)} statements of our own" in counts


def test_a_statement_that_does_not_hold_has_a_cause_or_is_told_to_have_none() -> None:
    known = two(accuracies(0.6, 0.6), accuracies(0.7, 0.7))
    plain, other = relation(least=0), replace(relation(most=0), name="p/b", says="b is not below a")
    caused = replace(plain, cause="the setting", why="The network is another.", tells=("p/b", "p/c"))
    told = [reasons([judge(r, known), judge(other, known)])[1] for r in (plain, caused)]
    assert told[0] == "* a against b: cause not known yet."
    shown = "-10.00 ± 0.00, in 2 of 2 seeds, holds."
    assert told[1] == f'* a against b: the setting. The network is another. "b is not below a": {shown}'
    assert reasons([judge(other, known)]) == []


def test_a_cause_is_supposed_as_long_as_nothing_that_would_tell_was_run() -> None:
    known = two(accuracies(0.6, 0.6), accuracies(0.7, 0.7))
    caused = replace(relation(least=0), cause="the setting", why="The network is another.", tells=("p/b",))
    not_run = Verdict(replace(relation(most=0), name="p/b", says="b is not below a"), "not run")
    assert "a against b: supposed: the setting. The network" in reasons([judge(caused, known), not_run])[1]


def test_what_is_before_a_split_is_not_of_its_round() -> None:
    curves = {"round": [40, 45, 50, 55], "accuracy": [0.18, 0.19, 0.28, 0.29]}
    run = {"complete": True, "rounds": 55, "figures": {}, "curves": curves}
    result = Result({}, {0: {**run, "splits": [{"round": 50}]}, 1: run})
    assert values_of("accuracy_before_split", result) == {0: 0.19, 1: 0.29}
    assert values_of("gain_at_split", result) == {0: pytest.approx(0.09)}


def test_one_client_of_wecfls_cifar_clusters_is_drawn_nearer_to_another_one() -> None:
    """What `wecfl/ari-cifar-dirichlet` names as its cause."""
    try:
        federation = build("cifar10", "cluster-dirichlet", Key(0))
    except DataMissing as reason:
        pytest.skip(str(reason))
    labels_NC = np.array([np.bincount(federation.client(c)("train")[1], minlength=10) for c in federation.ids])
    shares_NC, planted_N = labels_NC / labels_NC.sum(1, keepdims=True), np.asarray(federation.truth)
    means_KC = np.array([shares_NC[planted_N == k].mean(0) for k in range(10)])
    assert (squared_l2(shares_NC, means_KC).argmin(1) != planted_N).sum() == 1


def test_causes_say_how_we_know() -> None:
    names = {r.name for r in STATEMENTS}
    assert [r.name for r in STATEMENTS if r.cause and not r.why] == []
    assert [name for r in STATEMENTS for name in r.tells if name not in names or not r.why] == []


@pytest.mark.parametrize("words", ["above", "below", "fewer", "better", "lose", "costs", "higher"])
def test_strict_words_have_strict_bounds(words: str) -> None:
    """No difference at all is not above, below, fewer, better; "not below" is another thing."""
    said = [r for r in STATEMENTS if words in r.says.split() and f"not {words}" not in r.says and not r.ratio]
    assert said
    allowed = [
        r.name for r in said if r.right and within(r, 0.0) and "at most" not in r.says and "within" not in r.says
    ]
    assert allowed == []


def test_a_target_that_was_never_reached_is_no_missing_run() -> None:
    rounds = Quantity("rounds_to_80", "rounds to 80 %", digits=0)
    none: dict[int, dict[str, float]] = {0: {}, 1: {}, 2: {}}
    for figures, shown in ((none, "not in 50 rounds (3)"), ({**none, 0: {"rounds_to_80": 40.0}}, "40 (1 of 3)")):
        known = two(figures, {})
        cell, result = known["p/t/r/a"]
        assert figure_of(cell, rounds, result).ours == shown
        assert cell_text(replace(cell, paper={"rounds_to_80": None}), rounds, known) == f"never / {shown}"
    assert cell_text(cell, rounds, {cell.name: (cell, None)}) == "- / not run"
