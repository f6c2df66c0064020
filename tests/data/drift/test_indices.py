"""What a checkpoint saves of a federation, and back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from safetensors.numpy import load_file, save_file
from tests.data.drift.federations import belongings, federations, made, plain

from shoal.data.drift import SwapAll, indices_of, with_indices
from shoal.data.drift.indices import same
from shoal.data.federation import Federation
from shoal.errors import BadInput
from shoal.seeds import Key


@settings(max_examples=60, deadline=None)
@given(fed=federations())
def test_there_and_back(fed: Federation) -> None:
    moved = SwapAll(p=1)(1, fed, None, Key(0))[0].keep(fed.ids[::2])
    back = with_indices(fed, indices_of(moved))
    assert same(back, moved) and back.ids == moved.ids
    assert back.fingerprint() == moved.fingerprint()
    assert back.x is fed.x
    assert [belongings(back, name) for name in back.ids] == [belongings(moved, name) for name in back.ids]
    assert same(moved, fed) == (len(fed.ids) == 1)


def test_plain_arrays_that_a_file_can_hold(tmp_path: Path) -> None:
    fed = made({"ünal, \0": ([0, 1], [1]), "b": ([1], [])}, truth=np.array([1, 0]))
    arrays = {name: np.ascontiguousarray(a) for name, a in indices_of(fed).items()}
    save_file(arrays, tmp_path / "indices.safetensors")
    back = with_indices(fed, load_file(tmp_path / "indices.safetensors"))
    assert same(back, fed) and back.ids == fed.ids


def test_indices_of_other_data_are_refused() -> None:
    with pytest.raises(BadInput, match="not of made, which has only 24 samples"):
        with_indices(plain(2), indices_of(plain(3)))


def test_same_sees_every_difference() -> None:
    fed = made({"a": ([0], [0], [0]), "b": ([1], [1], [1])}, view=np.array([0, 0]), truth=np.array([0, 1]))
    others = [
        replace(fed, ids=("a", "c")),
        replace(fed, train=fed.test),
        replace(fed, test=fed.train),
        replace(fed, val=fed.train),
        replace(fed, val=None),
        replace(fed, view=np.array([0, 1])),
        replace(fed, truth=None),
    ]
    assert same(fed, replace(fed)) and not any(same(fed, other) for other in others)
