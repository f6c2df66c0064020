"""The page about the notebook of CFL's authors is what its tool makes of the committed results."""

from __future__ import annotations

import json
from typing import Any

from tools.cfl_notebook import DOCS, SEEDS, five, page, row


def results() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DOCS / "cfl-notebook.json").read_text())
    return found


def test_the_page_is_the_committed_result() -> None:
    assert (DOCS / "cfl-notebook.md").read_text() == page(results())


def test_the_first_cut_is_exact_and_every_seed_gains_about_ten_points() -> None:
    ways = results()["ways"]
    for way in ("notebook", "default"):
        for run, never in zip(ways[way]["runs"], ways["never"]["runs"], strict=True):
            first = run["splits"][0]
            assert sorted(map(len, first["clients"])) == [5, 5]
            assert run["ari"][first["round"] - 1] == 1
            assert never["splits"] == []
            assert 10 < five(run, 80) - five(never, 80) < 14
        assert len(ways[way]["runs"]) == len(SEEDS)
    assert all(len(run["splits"]) == 1 for run in ways["default"]["runs"])
    for run in ways["notebook"]["runs"]:  # the authors' rule
        assert all(cut["mean_norm"] < 0.4 and cut["max_norm"] > 1.6 and cut["round"] > 20 for cut in run["splits"])


def test_a_line_by_hand() -> None:
    """Six rounds, cut in the second: before it 10 %, the last five rounds 50 % on average, 20 % without a cut."""
    cut = {"mean_norm": 0.3, "max_norm": 2.0, "cross": -0.5}
    run = {
        "accuracy": [0.1, 0.5, 0.5, 0.5, 0.5, 0.5],
        "ari": [0.0, 1.0, 1.0, 0.7, 0.7, 0.7],
        "splits": [
            {**cut, "round": 2, "clients": [["a", "b"], ["c", "d"]]},
            {**cut, "round": 4, "clients": [["a"], ["b"]]},
        ],
    }
    line = row("notebook", 3, run, {"accuracy": [0.2] * 6})
    assert line == "| notebook | 3 | 2 | 2 + 2 | yes | 0.30 | 2.00 | -0.50 | 10.0 | 50.0 | 20.0 | +30.0 | 1 + 1 in 4 |"
