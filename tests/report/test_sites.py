"""The section of a federation's sites."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.report.records import HOSTILE

from shoal.report.loaded_run import read_run
from shoal.report.page import render, run_page
from shoal.report.sites import LISTED, clock, site_card, site_sheets
from shoal.store.sites_file import SiteSeen, SitesSeen, write_sites

AT = 1_700_000_000.0
SEEN = SitesSeen(
    AT,
    4,
    (
        SiteSeen("7", HOSTILE[0], 2, ("ann", HOSTILE[1]), seen=AT, answered=4),
        SiteSeen(
            "8", "south", 1, ("eve",), "offline", seen=AT - 60, went=3, answered=2, late=1, left_out=1, reason="why"
        ),
        SiteSeen("9", "west", 1, ("zoe",), came=2, seen=AT, answered=2),
        SiteSeen("10", state="not admitted", seen=AT, reason="it has 12 classes, the model knows 10"),
    ),
)


def test_a_line_per_site_says_how_it_does(runs: dict[str, Path]) -> None:
    loaded = replace(read_run(runs["fedavg"]), sites=SEEN)
    (sheet,) = site_sheets(loaded)
    assert [row[2:4] for row in sheet.rows] == [
        [f"2: ann, {HOSTILE[1]}", "online"],
        ["1: eve", "offline since round 3"],
        ["1: zoe", "online since round 2"],
        ["-", "not admitted"],
    ]
    assert [row[5:8] for row in sheet.rows] == [["4", "0", "0"], ["2", "1", "1"], ["2", "0", "0"], ["-", "-", "-"]]
    assert [row[8] for row in sheet.rows] == ["-", "why", "-", "it has 12 classes, the model knows 10"]
    assert sheet.rows[1][4] == clock(AT - 60) and clock(AT) in sheet.note and "round 4" in sheet.note
    card = site_card(loaded)
    assert card is not None and card.value == "2 of 3"


def test_who_came_and_went_is_folded_and_the_newest_are_listed(runs: dict[str, Path]) -> None:
    many = [{"round": t, "kind": "joined", "clients": [f"c{t}"]} for t in range(LISTED + 5)]
    loaded = replace(read_run(runs["fedavg"]), sites=SEEN, events=[*many, {"round": 200, "kind": "swapped"}])
    _, sheet = site_sheets(loaded)
    assert (
        sheet.folded and len(sheet.rows) == LISTED and sheet.rows[-1] == [str(LISTED + 4), "joined", f"c{LISTED + 4}"]
    )
    assert sheet.note.startswith(f"The last {LISTED} of {LISTED + 5}")


def test_the_section_appears_for_federations_only(runs: dict[str, Path], tmp_path: Path) -> None:
    pytest.importorskip("plotly")
    plain = read_run(runs["fedavg"])
    assert "Sites" not in [s.title for s in run_page(plain).sections] and site_card(plain) is None
    write_sites(runs["fedavg"], SEEN)
    try:
        text = render(run_page(read_run(runs["fedavg"])))
    finally:
        (runs["fedavg"] / "sites.json").unlink()
    assert "Who is there" in text and "it has 12 classes" in text
    assert HOSTILE[0] not in text.partition("<main>")[2].partition("</main>")[0]
