"""What is known of inputs that lie elsewhere is enough to try a model on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shoal.errors import BadInput
from shoal.tree import Pad, Ragged, Sequences, kind_of, shape_of, told, zeros

ROWS = Ragged.of([np.array([7, 8, 9]), np.array([5])])
FRAMES = Ragged.of([np.ones((4, 3), np.float32)], np.float32)


@pytest.mark.parametrize(
    ("x", "shape", "kind"),
    [
        (np.zeros((5, 2, 3)), (2, 3), "float64"),
        ({"a": np.zeros((5, 2)), "b": np.zeros(5, np.int64)}, {"a": (2,), "b": ()}, {"a": "float64", "b": "int64"}),
        ((np.zeros((5, 2)), np.zeros(5)), {"0": (2,), "1": ()}, {"0": "float64", "1": "float64"}),
        (
            Sequences(ROWS),
            {"input_ids": (0,), "attention_mask": (0,)},
            {"input_ids": "int64", "attention_mask": "int64"},
        ),
        (Sequences(FRAMES, Pad(name="frames", mask=None)), {"frames": (0, 3)}, {"frames": "float32"}),
        (Sequences(ROWS, lambda rows: np.stack([np.resize(row, 4) for row in rows])), (4,), "int64"),
        (Sequences((ROWS, np.zeros((2, 5)))), {"0": (0,), "1": (5,)}, {"0": "int64", "1": "float64"}),
    ],
)
def test_shapes_and_kinds_make_a_sample_again(x: Any, shape: Any, kind: Any) -> None:
    assert (shape_of(x), kind_of(x)) == (shape, kind)
    sample = zeros(shape, kind)
    assert kind_of(sample) == kind
    grown = {name: tuple(n or 1 for n in sizes) for name, sizes in shape.items()} if isinstance(shape, dict) else shape
    assert shape_of(sample) == grown


def test_many_places_keep_their_order() -> None:
    x = tuple(np.zeros((1, i)) for i in range(1, 13))
    made = zeros(dict(sorted(shape_of(x).items())), kind_of(x))  # type: ignore[union-attr]
    assert [part.shape for part in made] == [part.shape for part in x]


def test_batches_of_one_kind() -> None:
    def changes(rows: list[Any]) -> Any:
        return np.zeros((len(rows), 2)) if len(rows[0]) < 3 else np.zeros((len(rows), 2, 2))

    def renames(rows: list[Any]) -> Any:
        return {"a" if len(rows[0]) < 3 else "b": np.zeros((len(rows), 2))}

    for collate in (changes, renames, lambda rows: changes(rows) if len(rows[0]) < 3 else renames(rows)):
        with pytest.raises(BadInput, match="let it make one kind"):
            shape_of(Sequences(ROWS, collate))


def test_shapes_in_words() -> None:
    assert told({"frames": (0, 3), "age": ()}) == "frames: any length x 3, age: a single number"
