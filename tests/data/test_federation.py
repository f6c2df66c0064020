"""The federation record: views, validation, fingerprints."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from shoal.data.federation import Federation, Inputs, Ragged, View
from shoal.errors import BadInput
from shoal.seeds import Key


@pytest.fixture
def fed() -> Federation:
    return Federation(
        name="two",
        ids=("a", "b"),
        x=np.arange(8, dtype=np.uint8).reshape(2, 1, 2, 2),
        y=np.array([0, 1]),
        train=Ragged.of([np.array([0]), np.array([1])]),
        test=Ragged.of([np.array([1]), np.array([], int)]),
        classes=2,
        inputs=Inputs(1.0, 2.0),
        views=(View(), View(labels=(1, 0), turns=1)),
        view=np.array([0, 1]),
    )


def test_clients_see_through_their_view(fed: Federation) -> None:
    """Sample 1 is [[4, 5], [6, 7]]; scaled (x - 1) / 2; a quarter turn moves the last column to the first row."""
    x, y = fed.client("b")("train")
    assert x.tolist() == [[[[2.0, 3.0], [1.5, 2.5]]]]
    assert y.tolist() == [0]
    assert fed.client("a")("test")[1].tolist() == [1]
    assert fed.client("b")("test")[0].shape == (0, 1, 2, 2)
    assert fed.client("*")("train")[1].tolist() == [0, 0]


def test_ids_are_sorted_and_nobody_is_empty(fed: Federation) -> None:
    with pytest.raises(BadInput, match="sorted"):
        replace(fed, ids=("b", "a"))
    with pytest.raises(BadInput, match="no training sample"):
        replace(fed, train=fed.test)
    with pytest.raises(BadInput, match="no split 'val'"):
        fed.indices("a", "val")


def test_validation_takes_from_training_only() -> None:
    whole = Federation.from_arrays({"a": (np.zeros((20, 1)), np.zeros(20, int))}, test=0)
    cut = whole.with_validation(0.25, Key(1))
    assert cut.val is not None
    assert (cut.train.sizes.tolist(), cut.val.sizes.tolist()) == ([15], [5])
    assert sorted([*cut.train[0], *cut.val[0]]) == list(range(20))


def test_the_fingerprint_sees_what_results_depend_on(fed: Federation) -> None:
    others = [
        replace(fed, x=fed.x + 1),
        replace(fed, y=1 - fed.y),
        replace(fed, ids=("a", "c")),
        replace(fed, views=(View(), View(labels=(1, 0)))),
        replace(fed, view=np.array([1, 0])),
        replace(fed, inputs=Inputs(0.0, 2.0)),
    ]
    assert len({f.fingerprint() for f in [fed, *others]}) == 7
    assert fed.fingerprint() == replace(fed, name="other").fingerprint()
