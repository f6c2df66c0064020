"""Every way an answer can be wrong has a reason; a right one has none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import BadInput
from shoal.types import Array, Field
from shoal.validate import check, check_all, check_declaration, extents
from tests.support import FAULTS, Telling

FIELDS = {"update": Field("float", ("P",)), "count": Field("count"), "loss": Field("float")}
GOOD = {"update": np.ones(3, np.float32), "count": 7, "loss": 0.5}


def judge(answer: object) -> str | None:
    return check(answer, FIELDS, {"P": 3}, np.dtype("float32"), announced=7)  # type: ignore[arg-type]


def test_a_right_answer_passes() -> None:
    assert judge(GOOD) is None
    assert judge({**GOOD, "count": np.int32(70)}) is None  # ten times the announced size is the limit
    assert judge({**GOOD, "count": 7.0}) is None  # a whole number, however it is written


@pytest.mark.parametrize(
    ("inputs", "sentence"),
    [
        (0, "the task 'tell' binds D=0 in its dims, but a dimension is a number from 1 on"),
        (2.0, "the task 'tell' binds D=2.0 in its dims, but a dimension is a number from 1 on"),
    ],
)
def test_a_letter_stands_for_a_number(inputs: Any, sentence: str) -> None:
    check_declaration(Telling())
    with pytest.raises(BadInput, match=sentence):
        check_declaration(Telling(inputs=inputs))


class Taking(Telling):
    """Binds a letter that is the layout's."""

    dims: ClassVar[Mapping[str, int]] = {"D": 6, "K": 2}


class Unbound(Telling):
    """Binds nothing."""

    dims: ClassVar[Mapping[str, int]] = {}


class Empty(Telling):
    """A field without room for a number."""

    fields: ClassVar[Mapping[str, Field]] = {"none": Field("int", (3, 0))}


@pytest.mark.parametrize(
    ("task", "sentence"),
    [
        (Taking(), "binds K=2 in its dims, but K stands for the models sent"),
        (Unbound(), "declares its field 'sums' with 'D' in its shape; there are numbers from 1 on and the letters P"),
        (Empty(), "declares its field 'none' with 0 in its shape"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_declaration_that_nobody_could_judge_is_refused(task: Telling, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        check_declaration(task)


@pytest.mark.parametrize("kind", [k for k in FAULTS if k != "raises"])
def test_each_fault_has_its_reason(kind: str) -> None:
    spoil, word = FAULTS[kind]
    assert word in (judge(spoil(dict(GOOD))) or "")


def test_bounds_of_integers() -> None:
    fields = {"right": Field("int", low=0, high=5)}
    dims, dtype = {"P": 1}, np.dtype("float32")
    assert check({"right": 5}, fields, dims, dtype, 1) is None
    assert check({"right": -1}, fields, dims, dtype, 1) == "right is below 0"
    assert check({"right": 6}, fields, dims, dtype, 1) == "right is above 5"
    assert check({"right": True}, fields, dims, dtype, 1) == "right is a bool, not a number or an array"
    assert "dtype float64" in (check({"right": 1.0}, fields, dims, dtype, 1) or "")


def test_one_number_that_is_not_finite_is_enough() -> None:
    assert judge({**GOOD, "update": np.array([1, np.nan, 1], np.float32)}) == "update is not finite"


def test_integers_are_those_of_64_bits() -> None:
    fields, dims, dtype = {"right": Field("int")}, {"P": 1}, np.dtype("float32")
    for fits in (2**63 - 1, 1 - 2**63, np.int64(2**62), np.uint64(2**62)):
        assert check({"right": fits}, fields, dims, dtype, 1) is None
    for large in (2**63, np.uint64(2**63), np.int64(-(2**63))):
        assert check({"right": large}, fields, dims, dtype, 1) == "right is too large"
    many = {"right": Field("int", ("P",))}
    assert check({"right": np.array([2**63, 1], np.uint64)}, many, {"P": 2}, dtype, 1) == "right is too large"
    assert check({"right": np.zeros(0, int)}, many, {"P": 0}, dtype, 1) is None


def test_a_choice_is_one_of_the_models_sent() -> None:
    fields, dims, dtype = {"choice": Field("int", low=0, high="K")}, {"K": 3}, np.dtype("float32")
    assert [check({"choice": k}, fields, dims, dtype, 1) for k in (-1, 0, 2, 3)] == [
        "choice is below 0", None, None, "choice is above 2",
    ]  # fmt: skip


# ---------------------------------------------------------------------------------------------- many answers at once

ODD = [0, 1, 2, 3, 5, 70, 71, -1, 10**9, 10**9 + 1, 2**62, -(2**62), 2**63 - 1, -(2**63)]
ODD_FLOATS = [0.0, 0.5, -0.5, 3.0, 1e30, -1e30, 3.4e38, -3.4e38, np.inf, -np.inf, np.nan]
ALL_FIELDS = {
    "update": Field("float", ("P",)),
    "share": Field("float", ("K",), low=0, high=1),
    "none": Field("float", ("E",)),
    "loss": Field("float"),
    "bounded": Field("float", low=-0.5, high=3),
    "count": Field("count"),
    "choice": Field("int", low=0, high="K"),
    "number": Field("int"),
    "histogram": Field("int", ("C",), low=0),
}
DIMS = {"P": 3, "K": 2, "C": 3, "E": 0}
RIGHT = {"float": ("float32", "float64"), "int": ("int64",), "count": ("int64",)}
WRONG = ("float32", "float64", "float16", "int64", "int32", "uint64", "uint8", "bool", "complex128", "object", "U3")


@st.composite
def stacked(draw: st.DrawFn, n: int, field: Field) -> Array:
    """Rows as they should be, mostly, with odd numbers in some of them; sometimes of another kind or shape."""
    shape = extents(field, DIMS)
    if draw(st.integers(0, 9)) == 0:
        shape = draw(st.sampled_from([(), (1,), (3,), (2, 3)]))
    dtype = draw(st.sampled_from(RIGHT[field.kind] if draw(st.integers(0, 4)) else WRONG))
    rows = np.ones((n, *shape), dtype)
    for place in np.ndindex(rows.shape):
        if draw(st.integers(0, 4)) == 0:
            odd = draw(st.sampled_from(ODD_FLOATS if rows.dtype.kind in "fcO" else ODD))
            with np.errstate(all="ignore"):
                rows[place] = np.array(odd).astype(dtype)
    return rows


@given(st.data())
def test_many_answers_are_judged_as_each_would_be(data: Any) -> None:
    n = data.draw(st.integers(0, 4))
    names = data.draw(st.sets(st.sampled_from(sorted(ALL_FIELDS)), max_size=4))
    fields = {name: ALL_FIELDS[name] for name in sorted(names)}
    rows = {name: data.draw(stacked(n, field)) for name, field in fields.items()}
    if data.draw(st.integers(0, 9)) == 0:
        rows["extra"] = np.zeros(n)
    announced_N = np.array(data.draw(st.lists(st.sampled_from([0, 1, 7, 10**9]), min_size=n, max_size=n)), np.int64)
    dtype = np.dtype("float32")
    one_by_one = {
        i: check({name: values[i] for name, values in rows.items()}, fields, DIMS, dtype, int(announced_N[i]))
        for i in range(n)
    }
    expected = {i: reason for i, reason in one_by_one.items() if reason}
    assert check_all(rows, fields, DIMS, dtype, announced_N) == expected


def test_a_row_for_every_client() -> None:
    with pytest.raises(BadInput, match=r"^'loss' has 3 rows for 2 clients$"):
        check_all({"loss": np.zeros(3)}, {"loss": Field("float")}, {}, np.dtype("float32"), np.array([7, 7]))
