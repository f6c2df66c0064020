"""What clients keep: which arrays are rows of something that is held already, whatever numpy says of strides."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided
from tests.conftest import make_toy, small_net

import shoal
from shoal.backends import Serial
from shoal.backends.memory import point, rows_in
from shoal.errors import BadInput
from shoal.layout import Layout
from shoal.net import Arithmetic
from shoal.types import Array, Ref


def one_row(flat: Array, at: int, stride: int) -> Array:
    """Three numbers of a vector as a stack of one row, with a stride that is never used."""
    return as_strided(flat[at : at + 3], (1, 3), (stride, flat.itemsize))


@pytest.mark.parametrize("stride", [0, 12, 4, -12, 1000])
def test_a_stack_of_one_row_may_have_any_stride(stride: int) -> None:
    flat = np.zeros(12, np.float32)
    pool = one_row(flat, 3, stride)
    assert pool.flags.c_contiguous and pool.strides[0] == stride
    assert rows_in(flat[3:6], pool) == (0,)
    assert rows_in(one_row(flat, 3, 0), pool) == (0,)
    assert rows_in(flat[0:3], pool) is None  # below it in memory
    assert rows_in(flat[6:9], pool) is None  # right above it
    assert rows_in(flat[9:12], pool) is None  # a row further
    assert rows_in(flat[4:7], pool) is None  # half of it


def test_rows_by_hand() -> None:
    """Rows of three numbers begin at 0, 12 and 24 bytes of a stack of 36."""
    pool = np.zeros((3, 3), np.float32)
    assert rows_in(pool[1], pool) == (1,)
    assert rows_in(pool[1:], pool) == (1, 2)
    assert rows_in(pool, pool) == (0, 1, 2)
    assert rows_in(pool.reshape(-1)[1:4], pool) is None  # across two rows
    assert rows_in(pool[::2], pool) is None  # not in one piece
    assert rows_in(pool[:, :2], pool) is None  # not whole
    assert rows_in(pool[1].copy(), pool) is None
    assert rows_in(pool[1].view(np.int32), pool) is None
    assert rows_in(pool[:0], pool) is None
    assert rows_in(pool[0], pool[:0]) is None  # nothing is held yet
    assert rows_in(5, pool) is None


def test_what_was_sent_comes_before_what_was_kept() -> None:
    both = np.zeros((2, 4))
    sent, kept = both[:1], both[1:]
    assert point(both[0], sent, kept) == Ref((0,), True, True)
    assert point(both[1:], sent, kept) == Ref((0,), False, False)
    assert point("word", sent, kept) == "word"


def test_newcomers_with_kept_momentum_do_not_depend_on_addresses() -> None:
    """They are sent `w0[None]`, whose stride is 0; what they keep may lie anywhere."""
    found, held = set(), []
    for i in range(6):
        run = shoal.run(
            "fesem", "digits", groups=4, momentum=0.9, momentum_memory="kept", drift="join:0.2@3",
            seed=3, rounds=4, lr=0.1, engine="serial",
        )  # fmt: skip
        assert not run.summary["left_out"]
        found.add(b"".join(model.tobytes() for model in run.serving.models_KP))
        held.append(np.zeros(1000 * (i + 1)))  # other addresses in the next run
    assert len(found) == 1


@pytest.mark.parametrize("rows", [(), (-1, 0), (0, 2), (2, 0), (2,)])
def test_a_snapshot_points_at_vectors_that_are_there(rows: tuple[int, ...]) -> None:
    clients = Serial()
    clients.open(Layout.of(small_net, make_toy().sample()), Arithmetic())
    vectors_VP = np.zeros((2, clients.snapshot()[1].shape[1]), np.float32)
    clients.restore({"ann": {"velocity": Ref((0, 1), False, True)}}, vectors_VP)
    with pytest.raises(BadInput, match=r"client 'ann' keeps the vectors .* as 'velocity'; there are 2 of them"):
        clients.restore({"ann": {"velocity": Ref(rows, False, True)}}, vectors_VP)
