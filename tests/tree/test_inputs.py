"""Samples of all kinds are taken, counted and joined alike; sequences become batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from shoal.errors import BadInput
from shoal.tree import Pad, Ragged, Sequences, address, batch, joined, leaves, length, nbytes, take

ROWS = [np.array([7, 8, 9]), np.array([5]), np.array([1, 2])]
WORDS = Sequences(Ragged.of(ROWS))


def lists(x: Any) -> Any:
    return {name: leaf.tolist() for name, leaf in x.items()}


def test_some_of_the_samples() -> None:
    x = {"a": np.arange(3), "b": np.eye(3)}
    assert lists(take(x, np.array([2, 0])))["a"] == [2, 0]
    assert take(x, slice(1, 3))["b"].tolist() == np.eye(3)[1:].tolist()
    assert [row.tolist() for row in take(WORDS, np.array([2, 2, 0]))] == [[1, 2], [1, 2], [7, 8, 9]]
    assert [row.tolist() for row in WORDS[1:]] == [[5], [1, 2]]
    assert len(take(WORDS, slice(3, 9))) == 0
    mixed = Sequences((Ragged.of(ROWS), np.eye(3)))
    words, one = take(mixed, np.array([1]))[0]
    assert (words.tolist(), one.tolist()) == ([5], [0, 1, 0])


def test_samples_are_counted_and_measured() -> None:
    assert (length(np.eye(3)), length((np.zeros(2), np.zeros(2))), length(WORDS)) == (3, 2, 3)
    assert nbytes((np.zeros(2), np.zeros((2, 3), np.float32))) == 16 + 24
    assert nbytes(WORDS) == 6 * 8
    x = np.eye(3)
    assert address({"x": x}) == address(x) == x.ctypes.data
    assert address(WORDS) == WORDS.rows.index.ctypes.data
    assert len(leaves(Sequences({"a": Ragged.of(ROWS), "b": np.eye(3)}))) == 2


def test_clients_are_joined() -> None:
    assert joined([np.zeros(1), np.ones(2)]).tolist() == [0, 1, 1]
    assert [row.tolist() for row in joined([WORDS, WORDS[1:2]])] == [[7, 8, 9], [5], [1, 2], [5]]
    assert [part.tolist() for part in joined([(np.zeros(1), np.ones(1))] * 2)] == [[0, 0], [1, 1]]
    only = np.eye(2)
    assert joined([only]) is only


def test_the_default_batch_is_as_long_as_its_longest() -> None:
    assert lists(batch(WORDS)) == {
        "input_ids": [[7, 8, 9], [5, 0, 0], [1, 2, 0]],
        "attention_mask": [[1, 1, 1], [1, 0, 0], [1, 1, 0]],
    }
    assert lists(batch(WORDS[1:2])) == {"input_ids": [[5]], "attention_mask": [[1]]}


def test_padding_by_name_and_place() -> None:
    frames = [np.ones((2, 3), np.float32), np.ones((1, 3), np.float32)]
    assert Pad(-1, "frames", None)(frames)["frames"][1].tolist() == [[1, 1, 1], [-1, -1, -1]]
    first = [{"input_ids": row, "age": np.array(30.0 + len(row))} for row in ROWS]
    made = Pad(9)(first)
    assert made["input_ids"][1].tolist() == [5, 9, 9]
    assert made["age"].tolist() == [33, 31, 32]
    assert made["attention_mask"].tolist() == [[1, 1, 1], [1, 0, 0], [1, 1, 0]]
    own = Pad()([{"input_ids": row, "attention_mask": np.zeros_like(row)} for row in ROWS])
    assert own["attention_mask"].sum() == 0  # as the samples say
    assert list(Pad()([{"frames": row} for row in ROWS])) == ["frames"]
    both = Pad()([(row, row[:1]) for row in ROWS])
    assert [part.shape for part in both] == [(3, 3), (3, 1)]


def test_a_collate_function_may_give_tensors_and_lists_of_arrays() -> None:
    class Bag(dict[str, Any]):
        pass

    def collate(samples: list[Any]) -> Any:
        return Bag(total=torch.tensor([int(row.sum()) for row in samples]))

    made = batch(Sequences(Ragged.of(ROWS), collate))
    assert type(made) is dict and made["total"].tolist() == [24, 5, 3]
    pair = batch(Sequences(Ragged.of(ROWS), lambda rows: [np.zeros(3), np.ones(3)]))
    assert type(pair) is tuple and len(pair) == 2


def test_a_batch_of_another_size_is_refused() -> None:
    with pytest.raises(BadInput, match="made a batch of 1 of 3 samples"):
        batch(Sequences(Ragged.of(ROWS), lambda rows: np.zeros((1, 2))))
