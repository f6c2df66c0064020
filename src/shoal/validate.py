"""The one place where an answer is judged before anybody uses it. Pure: an answer and its declaration, or a reason."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shoal.errors import BadInput
from shoal.types import Answer, Array, Field, Task

MAX_COUNT = 10**9  # no client counts more samples than this
MAX_COUNT_RATIO = 10  # nor more than so many times the size it announced

FLOATS, INTEGERS = (float, np.float64, np.float32), (int, np.int64, np.int32)  # what answers are mostly made of
LETTERS = {"P": "the numbers of a model", "K": "the models sent", "C": "the classes"}  # of shapes in a declaration

Dims = Mapping[str, int]


def check_declaration(task: Task) -> None:
    """Refuse a task whose declaration nobody could work with, in one sentence.

    Args:
        task: A task that is about to be used.

    >>> from shoal.tasks import LabelHistogram
    >>> check_declaration(LabelHistogram())
    >>> check_declaration("train")
    Traceback (most recent call last):
    shoal.errors.BadInput: 'train' is no task: derive its class from shoal.types.Task
    """
    if not isinstance(task, Task):
        raise BadInput(f"{task!r} is no task: derive its class from shoal.types.Task")
    if task.models not in ("one", "all", "none"):
        raise BadInput(f"the task {task.name!r} declares models={task.models!r}; it is 'one', 'all' or 'none'")
    for name, field in task.fields.items():
        for letter in field.shape:
            if letter not in LETTERS:
                known = ", ".join(f"{k} ({what})" for k, what in LETTERS.items())
                raise BadInput(
                    f"the task {task.name!r} declares its field {name!r} with the letter {letter!r}; there are {known}"
                )


def check(answer: Answer, fields: Mapping[str, Field], dims: Dims, dtype: np.dtype[Any], announced: int) -> str | None:
    """Why this answer cannot be used, or None.

    Args:
        answer: What left the client.
        fields: What the task declares.
        dims: What the letters of shapes stand for.
        dtype: That of models.
        announced: Training samples that the client announced.

    Returns:
        The reason in a few words; None for an answer that can be used.

    >>> fields = {"update": Field("float", ("P",)), "count": Field("count")}
    >>> good = {"update": np.zeros(3, np.float32), "count": 7}
    >>> check(good, fields, {"P": 3}, np.dtype("float32"), 7)
    >>> check({**good, "update": np.zeros(1, np.float32)}, fields, {"P": 3}, np.dtype("float32"), 7)
    'update has shape (1,), not (3,)'
    >>> check({**good, "count": 2.5}, fields, {"P": 3}, np.dtype("float32"), 7)
    'count 2.5 is not a whole number'
    """
    if not isinstance(answer, Mapping):
        return not_an_answer(answer)
    if set(answer) != set(fields):
        return f"the answer has the fields {sorted(map(str, answer))}, not {sorted(fields)}"
    for name, field in fields.items():
        reason = _judge(name, answer[name], field, dims, dtype, announced)
        if reason:
            return reason
    return None


def check_all(
    answers: Sequence[Answer], fields: Mapping[str, Field], dims: Dims, dtype: np.dtype[Any], announced_N: Sequence[int]
) -> list[str | None]:
    """What `check` says of every answer: quickly where all are as they should be, else one by one.

    Args:
        answers: What left the clients.
        fields: What the task declares.
        dims: What the letters of shapes stand for.
        dtype: That of models.
        announced_N: Training samples that each client announced.

    Returns:
        A reason, or None, for each.

    >>> fields = {"count": Field("count")}
    >>> check_all([{"count": 7}, {"count": 2.5}], fields, {}, np.dtype("float32"), [7, 7])
    [None, 'count 2.5 is not a whole number']
    """
    if all(isinstance(answer, Mapping) and answer.keys() == fields.keys() for answer in answers) and all(
        _all_plain([answer[name] for answer in answers], field, dims, dtype, announced_N)
        for name, field in fields.items()
    ):
        return [None] * len(answers)
    return [check(answer, fields, dims, dtype, n) for answer, n in zip(answers, announced_N, strict=True)]


def _all_plain(values: list[Any], field: Field, dims: Dims, dtype: np.dtype[Any], announced_N: Sequence[int]) -> bool:
    """Whether the values of one field are right, each in a way that can be seen at once; if not, nothing is said."""
    high = dims["K"] - 1 if field.high == "K" else field.high
    if field.shape:
        shape = tuple(dims[letter] for letter in field.shape)
        free = field.kind == "float" and field.low is None and high is None
        right = free and all(type(v) is np.ndarray and v.shape == shape and v.dtype == dtype for v in values)
        with np.errstate(over="ignore", invalid="ignore"):
            return right and all(math.isfinite(np.vdot(v, v)) for v in values)  # an infinite number makes it infinite
    kinds = {"float": FLOATS, "int": INTEGERS, "count": (*FLOATS, *INTEGERS)}[field.kind]
    if not all(type(v) in kinds for v in values):
        return False
    found_N = np.array(values)
    if found_N.dtype.kind not in "fi" or not np.isfinite(found_N).all():
        return False
    if field.kind == "count":
        most_N = np.minimum(MAX_COUNT, MAX_COUNT_RATIO * np.asarray(announced_N, np.float64))
        return bool(((found_N == np.floor(found_N)) & (found_N >= 1) & (found_N <= most_N)).all())
    low = field.low if field.low is not None else -(2.0**62)
    return bool((found_N >= low).all() and (found_N <= (2.0**62 if high is None else high)).all())


def not_an_answer(thing: object) -> str:
    return f"the answer is a {type(thing).__name__}, not named fields"


def _judge(name: str, value: Any, field: Field, dims: Dims, dtype: np.dtype[Any], announced: int) -> str | None:
    if type(value) is int and field.kind == "int" and not field.shape and -(2**63) < value < 2**63:
        return _bounded(name, value, value, field, dims)
    if not isinstance(value, np.ndarray | np.generic | int | float) or isinstance(value, bool):
        return f"{name} is a {type(value).__name__}, not a number or an array"
    array: Array = np.asarray(value)
    shape = tuple(dims[letter] for letter in field.shape)
    if array.shape != shape:
        return f"{name} has shape {array.shape}, not {shape}"
    kinds = {"float": "f", "int": "iu", "count": "iuf"}[field.kind]
    if array.dtype.kind not in kinds or (field.kind == "float" and shape and array.dtype != dtype):
        return f"{name} has dtype {array.dtype}, not {dtype if field.kind == 'float' else 'an integer one'}"
    if not np.isfinite(array).all():
        return f"{name} is not finite"
    if field.kind == "count":
        return _weigh(name, float(array), announced)
    if field.kind == "int" and array.size and float(np.abs(array.astype(np.float64)).max()) >= 2.0**63:
        return f"{name} is too large"
    return _bounded(name, array.min(), array.max(), field, dims) if array.size else None


def _bounded(name: str, least: Any, most: Any, field: Field, dims: Dims) -> str | None:
    high = dims["K"] - 1 if field.high == "K" else field.high
    if field.low is not None and least < field.low:
        return f"{name} is below {field.low:g}"
    return f"{name} is above {high:g}" if high is not None and most > high else None


def _weigh(name: str, count: float, announced: int) -> str | None:
    if not count.is_integer():
        return f"{name} {count:g} is not a whole number"
    if not 1 <= count <= MAX_COUNT:
        return f"{name} {count:g} is not between 1 and {MAX_COUNT:,}"
    if count > MAX_COUNT_RATIO * announced:
        return f"{name} {count:g} is more than {MAX_COUNT_RATIO} times the announced size {announced}"
    return None
