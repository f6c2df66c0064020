"""CFL's Figures 1 and 2, as they are drawn: the toys of the tests, the same in every run."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

from shoal.recipes import PAPERS
from shoal.recipes.figures.drawn import drawings
from shoal.recipes.figures.toy_scenes import congruent, contradicting_labels, federated_xor, incongruent
from shoal.recipes.figures.toys import xor
from shoal.recipes.pages.html import page_of
from shoal.recipes.pages.paper_pages import paper_page
from shoal.recipes.records import Paper, Table

FIGURES = {table.name: table for table in PAPERS["cfl"].tables if table.name in ("cfl/fig1", "cfl/fig2")}


@pytest.mark.parametrize("table", FIGURES.values(), ids=FIGURES)
def test_toys_are_drawn_without_any_run(table: Table) -> None:
    found = drawings(table, {})
    assert len(found) == 2 and found == drawings(table, {})
    for picture in found.values():
        ElementTree.fromstring(picture)
    paper = Paper("p", "A paper", "Nobody 2000", (table,))
    assert [len(figure.rows) > 100 for figure in page_of(paper, {}).figures] == [True, True]
    page = paper_page(paper, (), {})
    assert all(f"(figures/{name})" in page for name in found) and "cells that it shows" not in page


def test_every_point_of_xor_is_drawn_once() -> None:
    scene = federated_xor()
    drawn = [(layer.number, *point) for layer in scene.layers if layer.name for point in layer.places]
    assert sorted(drawn) == sorted((client.group, *point) for client in xor() for point in client.points)
    for layer in scene.layers:
        if layer.name:  # dots where the signs agree
            assert all((x * y > 0) == (layer.kind == "points") for x, y in layer.places)


def test_contradicting_groups_have_opposite_labels_on_each_side() -> None:
    kinds = {(layer.number, layer.kind): layer.places for layer in contradicting_labels().layers if layer.name}
    for (group, kind), places in kinds.items():
        assert {x + y > 0 for x, y in places} == {(kind == "points") == (group == 0)}


def test_ways_end_where_the_figure_says() -> None:
    """Opposite updates of 0.15 at (1.5, 0); none where both risks are least, inside discs around (0, 0) and (2, 0)."""
    apart, together = incongruent().rows[-1], congruent().rows[-1]
    assert apart[1:] == [1.5, 0.0, 0.15, 0.15] and together[3:] == [0.0, 0.0]
    end = np.array(together[1:3], float)
    assert all(np.linalg.norm(end - centre) <= 1.41 for centre in ([0, 0], [2, 0]))
    arrows = [layer for layer in incongruent().layers if layer.name.startswith("update")]
    shafts = [np.subtract(piece[1], piece[0]) for layer in arrows for piece in layer.pieces[-2:-1]]
    np.testing.assert_allclose(shafts, [[-0.225, 0], [0.225, 0]], atol=1e-6)  # 1.5 times as long
