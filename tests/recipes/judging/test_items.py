"""What became of the papers' items: what is judged by reading, what is reproduced partly, and what cannot be had."""

from __future__ import annotations

import pytest

from shoal.recipes import PAPERS
from shoal.recipes.judging.items import BY_READING, ITEMS, Item, Status, status_of
from shoal.recipes.judging.relations import Known, Relation, Says, Verdict
from shoal.recipes.pages.documents import counts_sentence, items, tally
from shoal.recipes.records import Cell
from shoal.recipes.store import Result

NOTHING: Known = {c.name: (c, None) for paper in PAPERS.values() for table in paper.tables for c in table.cells}
CLAIM = Item("p", "a claim", "claim", "p/a", "lacks the network")


def test_tables_and_figures_are_not_judged_by_reading() -> None:
    shown = [item for item in ITEMS if item.what.startswith(("Table ", "Fig. ", "Figs. ", "claim: "))]
    assert [item for item in shown if item.kind in BY_READING] == []
    assert [item for item in ITEMS if item not in shown and item.kind not in BY_READING] == []


def test_who_judges_a_figure_by_a_page_says_why() -> None:
    judged = [item for item in ITEMS if item.kind in ("partly", "departs")]
    assert judged and all(item.remark and status_of(item, {}, {}) == item.kind for item in judged)


@pytest.mark.parametrize(
    ("says", "status"), [("holds", "partly"), ("does not hold", "departs"), ("undecided", "undecided")]
)
def test_a_claim_that_holds_without_a_part_is_not_contradicted(says: Says, status: str) -> None:
    verdict = Verdict(Relation("p/a", "", "", ()), says, 1.0, n=3, wanted=3)
    assert status_of(CLAIM, {}, {"p/a": verdict}) == status


def test_a_claim_of_a_paper_is_not_judged_by_statements_of_ours() -> None:
    own = Verdict(Relation("p/a", "", "", (), ours=True), "does not hold", 1.0, n=3, wanted=3)
    assert status_of(CLAIM, {}, {"p/a": own}) == "not run"


def test_a_moderate_growth_is_neither_too_fast_nor_too_slow() -> None:
    [claim] = [item for item in ITEMS if item.what == "claim: alpha beta should be moderate"]
    fast, slow = (Relation(f"fedgsp/too-{word}", "", "", ()) for word in ("fast", "slow"))
    holds = {fast.name: Verdict(fast, "holds", 1.0, n=1, wanted=1)}
    assert status_of(claim, {}, {**holds, slow.name: Verdict(slow, "holds", 1.0, n=1, wanted=1)}) == "partly"
    assert status_of(claim, {}, {**holds, slow.name: Verdict(slow, "does not hold", 1.0, n=1, wanted=1)}) == "departs"


def test_round_1_is_judged_by_the_statement_on_round_1() -> None:
    [claim] = [item for item in ITEMS if item.what == "claim: K = 10 is settled in round 1"]
    assert (claim.evidence, claim.remark) == ("wecfl/one-round", "")


def test_rows_of_data_that_cannot_be_fetched_are_absent() -> None:
    absent = [i for i in ITEMS if i.kind == "cells" and status_of(i, NOTHING, {}) == "absent"]
    assert len(absent) == 5 and all("Sent140" in item.what for item in absent)


def test_a_row_is_not_absent_while_one_of_its_cells_can_be_run() -> None:
    item = Item("p", "a row", "cells", "p/t/r/*")
    gone, there = (
        Cell("p/t", "r", c, "fedavg", {"rounds": 1}, why_not=why) for c, why in (("a", "no data"), ("b", ""))
    )
    assert status_of(item, {gone.name: (gone, None)}, {}) == "absent"
    assert status_of(item, {gone.name: (gone, None), there.name: (there, None)}, {}) == "not run"
    run = Result(gone.settings, {0: {"complete": True, "figures": {}}})  # by somebody who has the data
    assert status_of(item, {gone.name: (gone, run)}, {}) == "begun"


def test_the_counts_have_partly_and_what_is_absent_whoever_says_it() -> None:
    """One claim holds in part; a data set is not to be had, and a row that needs it."""
    data, row = Item("p", "data", "absent", "gone"), Item("p", "Table 1", "cells", "p/t/r/*")
    statuses: dict[Item, Status] = {CLAIM: "partly", data: "absent", row: "absent"}
    assert counts_sentence(statuses) == (
        "Methods and settings, judged by reading: 0 same, 0 departing. Tables, figures and claims, judged by runs: "
        "0 reproduced, 0 drawn, 1 partly so, 0 departing, 0 undecided, 0 begun, 0 not run. Not to be had: 2."
    )
    every = {item: status_of(item, NOTHING, {}) for item in ITEMS}
    assert sum(int(word) for word in tally(every)) == len(ITEMS) == 231
    assert "| a claim | partly | [statements](statements.md); lacks the network |" in items({CLAIM: "partly"}, {})
