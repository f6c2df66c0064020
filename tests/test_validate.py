"""Every way an answer can be wrong has a reason; a right one has none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shoal.types import Field
from shoal.validate import check, check_all
from tests.support import FAULTS

FIELDS = {"update": Field("float", ("P",)), "count": Field("count"), "loss": Field("float")}
GOOD = {"update": np.ones(3, np.float32), "count": 7, "loss": 0.5}


def judge(answer: object) -> str | None:
    return check(answer, FIELDS, {"P": 3}, np.dtype("float32"), announced=7)  # type: ignore[arg-type]


def test_a_right_answer_passes() -> None:
    assert judge(GOOD) is None
    assert judge({**GOOD, "count": np.int32(70)}) is None  # ten times the announced size is the limit
    assert judge({**GOOD, "count": 7.0}) is None  # a whole number, however it is written


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


@pytest.mark.parametrize("kind", [None, *(k for k in FAULTS if k != "raises")])
def test_many_are_judged_as_each_alone(kind: str | None) -> None:
    answers: list[Any] = [dict(GOOD), {**GOOD, "count": np.int64(3), "loss": np.float32(0.25)}, dict(GOOD)]
    if kind is not None:
        answers[1] = FAULTS[kind][0](answers[1])
    dims, dtype, announced = {"P": 3}, np.dtype("float32"), [7, 3, 9]
    alone = [check(a, FIELDS, dims, dtype, n) for a, n in zip(answers, announced, strict=True)]
    assert check_all(answers, FIELDS, dims, dtype, announced) == alone
    assert [reason is None for reason in alone] == [True, kind is None, True]


@pytest.mark.parametrize(
    ("field", "values"),
    [
        (Field("float", ("P",)), [np.full(3, 1e30, np.float32), np.zeros(3, np.float32)]),  # its square is infinite
        (Field("float", ("P",), low=0), [np.zeros(3, np.float32), np.full(3, -1, np.float32)]),
        (Field("float", low=0), [0.0, -1.0, 0.5]),
        (Field("float"), [1, 0.5]),
        (Field("int", high="K"), [0, 2, 1]),
        (Field("int"), [2**63 - 1, 2**62, -(2**62)]),
        (Field("int"), [1, True]),
        (Field("count"), [7, 70, 71, 1.5, 0, np.float32(2)]),
        (Field("int", ("P",)), [np.zeros(3, int), np.zeros(2, int)]),
    ],
)
def test_fields_are_judged_as_each_value_alone(field: Field, values: list[Any]) -> None:
    dims, dtype = {"P": 3, "K": 2}, np.dtype("float32")
    alone = [check({"it": v}, {"it": field}, dims, dtype, 7) for v in values]
    for n in range(len(values) + 1):
        assert check_all([{"it": v} for v in values[:n]], {"it": field}, dims, dtype, [7] * n) == alone[:n]
