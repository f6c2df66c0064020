"""The federation record: views, validation, fingerprints."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from shoal.data.federation import Federation
from shoal.data.samples import Inputs, Ragged, View
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


def test_a_share_that_is_a_whole_number_of_samples_loses_none_to_rounding() -> None:
    """0.29 x 100 is 28.999... in binary."""
    whole = Federation.from_arrays({"a": (np.zeros((100, 1)), np.zeros(100, int))}, test=0)
    cuts = [whole.with_validation(share, Key(1)).val for share in (0.29, 0.57, 0.58, 0.295)]
    assert [cut.sizes.tolist() for cut in cuts if cut is not None] == [[29], [57], [58], [29]]


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


def test_the_fingerprint_does_not_depend_on_how_arrays_are_printed(fed: Federation) -> None:
    shift = np.random.default_rng(0).normal(size=(1, 2, 2))
    scaled = replace(fed, inputs=Inputs(shift, 1.0))
    before = scaled.fingerprint()
    with np.printoptions(precision=2):
        assert scaled.fingerprint() == before


def test_the_fingerprint_sees_every_number_of_large_arrays(fed: Federation) -> None:
    """Of arrays beyond a thousand numbers `repr` shows the corners only."""
    zeros = np.zeros((3, 32, 32), np.float32)
    spot = zeros.copy()
    spot[1, 16, 16] = 9
    inputs = [Inputs(zeros), Inputs(spot), Inputs(0.0, zeros), Inputs(0.0, spot), Inputs(zeros.astype(float))]
    assert len({replace(fed, inputs=i).fingerprint() for i in inputs}) == 5


def test_the_fingerprint_sees_dtype_shape_and_classes(fed: Federation) -> None:
    others = [
        replace(fed, x=fed.x.view(np.int8)),
        replace(fed, x=fed.x.reshape(2, 4)),
        replace(fed, y=fed.y.astype(np.int32)),
        replace(fed, classes=3),
        replace(fed, val=fed.test),
        replace(fed, view=None),
    ]
    assert len({f.fingerprint() for f in [fed, *others]}) == 7


def test_inputs_stay_as_fine_as_samples_are_stored() -> None:
    assert Inputs(1.0, 2.0)(np.array([3.0])).dtype == np.float64
    assert Inputs(1.0, 2.0)(np.array([3], np.uint8)).dtype == np.float32
    x = np.array([3.0])
    assert Inputs(1.0, 2.0)(x).tolist() == [1.0]
    assert x.tolist() == [3.0]


def test_names_that_are_no_text_are_refused(fed: Federation) -> None:
    with pytest.raises(BadInput, match=r"client '\\ud800' has a name that is no valid Unicode text"):
        replace(fed, ids=("a", "\ud800"))


def test_rows_of_a_table_are_replaced() -> None:
    rng = np.random.default_rng(0)
    rows = [rng.integers(0, 99, size) for size in (3, 0, 5, 1, 2)]
    for places in ((), (0,), (4,), (1, 3), (0, 1, 2, 3, 4)):
        new = {i: rng.integers(0, 99, rng.integers(0, 4)) for i in reversed(places)}
        got, want = Ragged.of(rows).with_rows(new), Ragged.of([new.get(i, row) for i, row in enumerate(rows)])
        assert got.index.tolist() == want.index.tolist() and got.offsets.tolist() == want.offsets.tolist()
        assert got.index.dtype == got.offsets.dtype == np.int64
