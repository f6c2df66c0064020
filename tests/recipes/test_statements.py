"""Statements name cells that are there, and the papers' own tables keep most of them."""

from __future__ import annotations

from shoal.recipes import PAPERS
from shoal.recipes.relations import judge, within
from shoal.recipes.statements import STATEMENTS

KNOWN = {cell.name: (cell, None) for paper in PAPERS.values() for table in paper.tables for cell in table.cells}


def test_names_are_unique_and_begin_with_a_paper() -> None:
    names = [relation.name for relation in STATEMENTS]
    assert len(set(names)) == len(names) > 100
    assert {name.split("/")[0] for name in names} == set(PAPERS)


def test_cells_are_there_and_quantities_are_shown_or_kept() -> None:
    from shoal.recipes.measure import FIGURES

    kept = {*FIGURES, "rounds_to_80", "rounds_to_85", "first_discrepancy", "t_comm_to_80"}
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
