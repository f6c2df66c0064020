"""Following a file that somebody else writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shoal.ui.tail import Tail


def lines(*rounds: int, note: str = "") -> str:
    return "".join(json.dumps({"round": t, "note": note}) + "\n" for t in rounds)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "records.jsonl"


def rounds(tail: Tail) -> list[int]:
    return [r["round"] for r in tail.more()[1]]


def test_a_file_that_is_not_there_yet_is_empty(path: Path) -> None:
    tail = Tail(path)
    assert tail.more() == (False, [])
    path.write_text(lines(0))
    assert rounds(tail) == [0]
    assert tail.more() == (False, [])


@pytest.mark.parametrize("cut", range(1, 20))
def test_a_line_is_given_once_and_only_whole(path: Path, cut: int) -> None:
    whole = lines(0, 1)
    tail = Tail(path)
    path.write_text(whole[: len(lines(0)) + cut])
    before = rounds(tail)
    path.write_text(whole)
    assert before + rounds(tail) == [0, 1]


def test_a_file_that_was_cut_back_begins_anew(path: Path) -> None:
    tail = Tail(path)
    path.write_text(lines(0, 1, 2, 3))
    assert rounds(tail) == [0, 1, 2, 3]
    path.write_text(lines(0, 1))
    assert tail.more()[0]
    path.write_text(lines(0, 1, 2))
    assert tail.more() == (False, [{"round": 2, "note": ""}])


def test_a_file_that_was_cut_back_and_grew_again_meanwhile_begins_anew(path: Path) -> None:
    tail = Tail(path)
    path.write_text(lines(0, 1, 2))
    assert rounds(tail) == [0, 1, 2]
    path.write_text(lines(0, 1) + lines(2, 3, note="played again, with other times"))
    anew, found = tail.more()
    assert anew
    assert [r["round"] for r in found] == [0, 1, 2, 3]


def test_lines_that_make_no_sense_are_passed_over(path: Path) -> None:
    path.write_bytes(lines(0).encode() + b"\0\0\0\n[1]\n{}\n" + b"\xff\xfe\n" + lines(1).encode())
    assert rounds(Tail(path)) == [0, 1]
