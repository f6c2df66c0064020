"""States on disk: what goes in comes out, and a damaged file is known as such."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shoal.store.codec import Damaged, decode, encode, read, write
from shoal.table import Table
from shoal.types import Array


@dataclass(frozen=True)
class Node:
    w_P: Array
    children: tuple[Any, ...] = ()
    note: str | None = None


RECORDS = {"Node": Node, "Table": Table}


def value() -> dict[str, Any]:
    shared = np.arange(4, dtype=np.float32)
    tree = Node(shared, (Node(shared * 2), Node(np.zeros((0, 3)), note="é <x>")))
    return {"tree": tree, "table": Table().put(("b", "a"), np.array([[1.0], [2.0]])), "n": 3, "f": 0.1, "again": shared}


def test_a_round_trip(tmp_path: Path) -> None:
    write(tmp_path / "x", value())
    got = read(tmp_path / "x", RECORDS)
    assert isinstance(got["tree"], Node)
    assert got["tree"].children[1].note == "é <x>"
    assert got["tree"].children[0].w_P.tolist() == [0, 2, 4, 6]
    assert got["tree"].w_P.dtype == np.float32
    assert got["table"].ids == ("a", "b")
    assert (got["n"], got["f"]) == (3, 0.1)


def test_each_array_is_stored_once() -> None:
    arrays: dict[str, Array] = {}
    tree = encode(value(), arrays)
    assert len(arrays) == 4  # shared, its double, the empty one, the rows of the table
    got = decode(tree, arrays, RECORDS)
    assert got["again"] is got["tree"].w_P


def test_only_plain_things_are_taken() -> None:
    with pytest.raises(TypeError, match="not set"):
        encode({1}, {})


@pytest.mark.parametrize("keep", [0.0, 0.3, 0.99])
def test_a_truncated_file_is_damaged(tmp_path: Path, keep: float) -> None:
    write(tmp_path / "x", value())
    data = (tmp_path / "x").read_bytes()
    (tmp_path / "x").write_bytes(data[: int(keep * len(data))])
    with pytest.raises(Damaged):
        read(tmp_path / "x", RECORDS)


def test_a_flipped_bit_is_damage(tmp_path: Path) -> None:
    write(tmp_path / "x", value())
    data = bytearray((tmp_path / "x").read_bytes())
    data[-1] ^= 1
    (tmp_path / "x").write_bytes(bytes(data))
    with pytest.raises(Damaged, match="checksum"):
        read(tmp_path / "x", RECORDS)


def test_a_record_of_another_algorithm_is_damage(tmp_path: Path) -> None:
    write(tmp_path / "x", value())
    with pytest.raises(Damaged, match="'Node'"):
        read(tmp_path / "x", {"Table": Table})
