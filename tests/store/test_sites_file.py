"""The file of a federation's sites: written whole, and not believed if no server can have written it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shoal.store.sites_file import SiteSeen, SitesSeen, read_sites, write_sites

SEEN = SitesSeen(
    1700000000.5,
    4,
    (
        SiteSeen("7", "north", 2, ("ann", "bob"), "online", 1.0, 2.0, 0, -1, 3, 1, 1, "round 2: late", {"late": 2}),
        SiteSeen("8", state="not admitted", reason="client 'ann' is at another site already"),
        SiteSeen("9", "south", 1, ("eve",), "offline", went=3),
    ),
)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write_sites(tmp_path, SEEN)
    assert read_sites(tmp_path) == SEEN
    assert [path.name for path in tmp_path.iterdir()] == ["sites.json"]
    assert SEEN.words == "1 of 2"


@pytest.mark.parametrize(
    "change",
    [
        {"at": "now"},
        {"at": float("nan")},
        {"at": 10**400},
        {"round": True},
        {"sites": 3},
        {"sites": [3]},
        {"sites": [{"node": 7}]},
        {"sites": [{"name": "no node"}]},
        {"sites": [{"node": "7", "state": "asleep"}]},
        {"sites": [{"node": "7", "ids": [1]}]},
        {"sites": [{"node": "7", "late": 1.5}]},
        {"sites": [{"node": "7", "seen": 1e999}]},
        {"sites": [{"node": "7", "last": ["late"]}]},
    ],
)
def test_a_file_that_makes_no_sense_is_as_none(tmp_path: Path, change: dict[str, Any]) -> None:
    write_sites(tmp_path, SEEN)
    found = json.loads((tmp_path / "sites.json").read_text())
    (tmp_path / "sites.json").write_text(json.dumps({**found, **change}))
    assert read_sites(tmp_path) is None


def test_text_that_is_no_json_is_as_none(tmp_path: Path) -> None:
    for text in ("", "[" * 100_000, "[]", "\0"):
        (tmp_path / "sites.json").write_text(text)
        assert read_sites(tmp_path) is None
