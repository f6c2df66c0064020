"""Inputs of users: several arrays, sequences, and what becomes of them in a federation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from shoal.data.federation import Federation
from shoal.data.own_inputs import read
from shoal.data.signature import Signature
from shoal.errors import BadInput
from shoal.seeds import Key
from shoal.tree import Pad, Ragged, Sequences, batch, kind_of, leaves

LONG, SHORT = [[1, 2, 3], [4]], [[5, 6], [7, 8]]  # the second is an array by itself


def test_several_arrays_by_name_and_place() -> None:
    fed = Federation.from_arrays({"a": ({"u": [[1.0], [2.0]], "v": [3, 4]}, [0, 1])}, test=0)
    assert fed.x["u"].dtype == np.float64 and fed.x["v"].dtype == np.int64
    assert fed.shape == {"u": (1,), "v": ()}
    placed = Federation.from_arrays({"a": ((torch.ones(2, 1), np.zeros((2, 3))), [0, 1])}, test=0)
    assert isinstance(placed.x, tuple) and placed.shape == {"0": (1,), "1": (3,)}
    samples = Federation.from_arrays({"a": (((1.0, 2.0), (3.0, 4.0)), [0, 1])}, test=0)
    assert samples.shape == (2,)  # a tuple that holds no arrays holds samples


def test_images_of_bytes_are_scaled_and_other_arrays_left() -> None:
    x = {"scan": np.full((2, 4, 4), 255, np.uint8), "age": np.array([30, 40], np.uint8)}
    fed = Federation.from_arrays({"a": (x, [0, 1])}, test=0)
    assert fed.x["scan"].dtype == np.uint8  # as it is stored
    seen = fed.client("a")("train")[0]
    assert (seen["scan"].max(), seen["scan"].dtype, seen["age"].tolist()) == (1.0, np.float32, [30, 40])
    mixed = Federation.from_arrays({"a": ({**x, "words": LONG}, [0, 1])}, test=0)
    assert mixed.sample().batch()["scan"].max() == 1.0


def test_sequences_at_one_client_make_sequences_of_all() -> None:
    fed = Federation.from_arrays({"a": (LONG, [0, 1]), "b": (SHORT, [0, 1])}, test=0)
    assert isinstance(fed.x, Sequences) and isinstance(fed.x.collate, Pad)
    assert [row.tolist() for row in fed.client("b")("train")[0]] == SHORT
    assert [row.tolist() for row in fed.client("*")("train")[0]] == LONG + SHORT
    assert Federation.from_arrays({"b": (SHORT, [0, 1])}, test=0).shape == (2,)


def test_a_collate_function_makes_sequences_of_anything() -> None:
    fed = Federation.from_arrays({"b": (SHORT, [0, 1])}, test=0, collate=np.stack)
    assert isinstance(fed.x, Sequences) and fed.x.batch().tolist() == SHORT
    objects = np.empty(2, object)
    objects[:] = [np.array(row) for row in LONG]
    assert [row.tolist() for row in Federation.from_arrays({"a": (objects, [0, 1])}, test=0).x] == LONG


def test_validation_keeping_and_fingerprints() -> None:
    one = Federation.from_arrays({c: (LONG * 5, [0, 1] * 5) for c in "abc"})
    two = Federation.from_arrays({c: (LONG * 5, [0, 1] * 5) for c in "abc"}, collate=Pad(value=9))
    assert one.fingerprint() != two.fingerprint()
    assert one.keep(["a"]).with_validation(0.25, Key(0)).val.sizes.tolist() == [2]  # type: ignore[union-attr]
    lengths = Federation.from_arrays({c: ([[1, 2], [3, 4]] * 5, [0, 1] * 5) for c in "abc"}, collate=Pad())
    assert lengths.fingerprint() != one.fingerprint()
    by_name = [Federation.from_arrays({"a": ({n: np.eye(2)}, [0, 1])}).fingerprint() for n in ("u", "v", "u")]
    assert by_name[0] == by_name[2] != by_name[1]


def test_data_sets_of_dicts_tuples_and_sequences() -> None:
    items = [({"u": torch.ones(2), "w": np.arange(n)}, n % 2) for n in (1, 2, 3)]
    fed = Federation.from_datasets({"a": items}, test=0)
    assert isinstance(fed.x, Sequences) and fed.x.batch()["w"].tolist() == [[0, 0, 0], [0, 1, 0], [0, 1, 2]]
    pairs = [((np.ones(2), np.zeros(3)), 0), ((np.ones(2), np.zeros(3)), 1)]
    assert Federation.from_datasets({"a": pairs}, test=0).shape == {"0": (2,), "1": (3,)}
    lists = Federation.from_datasets({"a": [([1], 0), ([2, 3], 1)]}, test=0, collate=len_of)
    assert lists.x.batch().tolist() == [[1], [2]]


def len_of(samples: list[np.ndarray]) -> np.ndarray:
    return np.array([[len(sample)] for sample in samples])


def test_folders_of_several_arrays(tmp_path: Path) -> None:
    parts: dict[str, Any] = {"x.u": np.eye(3), "x.v": np.zeros(3), "y": [0, 1, 0]}
    parts |= {"x_test.u": np.ones((1, 3)), "x_test.v": np.ones(1), "y_test": [1]}
    np.savez(tmp_path / "ann.npz", **parts)
    fed = Federation.from_folder(tmp_path)
    assert fed.test.sizes.tolist() == [1] and fed.shape == {"u": (3,), "v": ()}
    assert fed.client("ann")("test")[0]["v"].tolist() == [1]


def test_rows_are_read_as_they_are() -> None:
    rows = Ragged.of([np.array([1, 2])])
    assert read(rows, "ann") is rows and read(Sequences(rows), "ann") is rows
    with pytest.raises(BadInput, match="must be numbers, not <U"):
        read([["a"], ["b", "c"]], "ann")


def test_new_samples_of_sequences() -> None:
    signature = Signature.of(Federation.from_arrays({"a": (LONG, [0, 1])}, test=0))
    assert signature.given(SHORT).batch()["input_ids"].tolist() == SHORT
    assert signature.given([[1, 2, 3, 4, 5]]).batch()["attention_mask"].tolist() == [[1] * 5]
    with pytest.raises(BadInput, match="inputs are float64, not int64"):
        signature.given([[0.5], [1.0, 2.0]])


@pytest.mark.parametrize(
    "x", [LONG, {"words": LONG, "age": [1.0, 2.0]}, (np.eye(2), np.zeros(2)), {"scan": np.ones((2, 3, 3), np.uint8)}]
)
def test_what_is_kept_of_inputs_makes_a_sample_and_takes_new_ones(x: Any) -> None:
    fed = Federation.from_arrays({"a": (x, [0, 1])}, test=0)
    kept = Signature.of(fed)
    read_back = Signature.from_json(json.loads(json.dumps(kept.to_json())))
    assert read_back == kept
    assert (read_back.input_shape, kind_of(read_back.sample())) == (fed.shape, kind_of(fed.sample()))
    for new, old in zip(leaves(batch(read_back.given(x))), leaves(batch(fed.client("a")("train")[0])), strict=True):
        np.testing.assert_array_equal(new, old)


def test_a_collate_function_of_ones_own_is_not_kept() -> None:
    kept = Signature.of(Federation.from_arrays({"a": (LONG, [0, 1])}, test=0, collate=len_of))
    with pytest.raises(BadInput, match="a collate function of its user's own"):
        Signature.from_json(kept.to_json()).sample().batch()
