"""Clients produced on demand: their fingerprint is the same in every process."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest

from shoal.data.digest import fingerprint
from shoal.data.on_demand import OnDemand
from shoal.errors import BadInput
from shoal.seeds import Key
from shoal.types import Array

Splits = Callable[[str], tuple[Array, Array]]


def give(client: str, scale: float = 1.0) -> Splits:
    def data(split: str) -> tuple[Array, Array]:
        return np.full((2, 1), scale), np.zeros(2, np.int64)

    return data


def other(client: str) -> Splits:
    return give(client)


@dataclass(frozen=True)
class Record:
    scale: Any

    def __call__(self, client: str) -> Splits:
        return give(client)


class Plain:
    def __call__(self, client: str) -> Splits:
        return give(client)

    def make(self, client: str) -> Splits:
        return give(client)


def crowd(make: Callable[[str], Splits], ids: tuple[str, ...] = ("a", "b")) -> OnDemand:
    return OnDemand(name="crowd", ids=ids, sizes_N=np.array([2, 2]), classes=2, make=make, shape=(1,))


SPOT = np.zeros(5000)
SPOT[2500] = 1
DIFFERENT: list[Callable[[str], Splits]] = [
    give,
    other,
    partial(give, scale=2.0),
    partial(give, scale=3.0),
    Record(1.0),
    Record(2.0),
    Record(np.zeros(5000)),
    Record(SPOT),
    Record({"a": 1}),
    Record(give),
    Plain(),
    Plain().make,
]


def test_what_makes_the_clients_counts_by_name_and_fields() -> None:
    assert len({crowd(make).fingerprint() for make in DIFFERENT}) == len(DIFFERENT)
    assert crowd(Record(1.0)).fingerprint() == crowd(Record(1.0)).fingerprint()
    assert crowd(Plain()).fingerprint() == crowd(Plain()).fingerprint()  # whose repr is an address
    assert crowd(give).fingerprint() != crowd(give, ("a", "c")).fingerprint()


def test_a_function_has_the_same_fingerprint_in_another_process() -> None:
    code = """
import numpy as np
from shoal.data import OnDemand
held = [bytearray(1000) for _ in range({held})]
def make(client): return lambda split: (np.zeros((2, 1)), np.zeros(2, int))
print(OnDemand("crowd", ("a",), np.array([2]), 2, make, (1,)).fingerprint())
"""
    prints = {
        subprocess.run(
            [sys.executable, "-c", re.sub("{held}", held, code)], capture_output=True, text=True, check=True
        ).stdout
        for held in ("1", "5000")
    }
    assert len(prints) == 1


def test_names_that_are_no_text_are_refused() -> None:
    with pytest.raises(BadInput, match="no valid Unicode text"):
        crowd(give, ("a", "\ud800"))


def test_a_crowd_without_any_sample_is_refused() -> None:
    empty = OnDemand(name="crowd", ids=("a", "b"), sizes_N=np.zeros(2, int), classes=2, make=give, shape=(1,))
    with pytest.raises(BadInput, match="no client of crowd has a training sample"):
        empty.sample()


@pytest.mark.parametrize(
    ("ids", "sizes_N", "said"),
    [
        (("b", "a"), np.array([2, 2]), "distinct and sorted"),
        (("a", "a"), np.array([2, 2]), "distinct and sorted"),
        (("*", "a"), np.array([2, 2]), "may not be called '\\*'"),
        (("a", "b"), np.array([2]), "sizes_N of crowd must be an array .* each of 2 clients"),
        (("a", "b"), np.array([2, -1]), "sizes_N of crowd must be an array"),
        (("a", "b"), np.array([2.0, 2.0]), "sizes_N of crowd must be an array"),
        (("a", "b"), [2, 2], "sizes_N of crowd must be an array"),
    ],
)
def test_ids_and_sizes_that_cannot_be_are_refused(ids: tuple[str, ...], sizes_N: Any, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        OnDemand(name="crowd", ids=ids, sizes_N=sizes_N, classes=2, make=give, shape=(1,))


def test_the_labels_of_a_client_alone_are_those_of_its_samples() -> None:
    client = crowd(give).client("a")
    assert client.labels("train").tolist() == client("train")[1].tolist() == [0, 0]


def test_the_fingerprint_of_data_does_not_know_the_secret_of_a_device() -> None:
    """A field that a record got later: runs that began before it still know their data."""
    assert fingerprint((), Key(1)) == fingerprint((), Key(1, secret="5e1f")) != fingerprint((), Key(2))
    assert "5e1f" not in repr(Key(1, secret="5e1f"))
