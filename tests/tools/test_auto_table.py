"""The page about `auto` is what its tool makes of the committed results."""

from __future__ import annotations

import json

from tools.auto_table import DOCS, FEDERATIONS, METHODS, WITHIN, behind, page


def test_the_page_is_the_committed_result() -> None:
    results = json.loads((DOCS / "auto.json").read_text())
    comparison = json.loads((DOCS / "auto-drift.json").read_text())
    assert (DOCS / "auto.md").read_text() == page(results, comparison)
    assert list(results) == list(FEDERATIONS)
    assert all(list(result["accuracy"]) == ["auto", *METHODS] for result in results.values())
    assert all(len(values) == 3 for result in results.values() for values in result["accuracy"].values())


def test_auto_is_near_the_best_on_five_of_six() -> None:
    results = json.loads((DOCS / "auto.json").read_text())
    assert sum(behind(result)[1] <= WITHIN for result in results.values()) >= 5
