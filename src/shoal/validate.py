"""The one place where an answer is judged before anybody uses it. Pure: an answer and its declaration, or a reason."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import BadInput
from shoal.types import Answer, Array, Field, Task

if TYPE_CHECKING:
    from shoal.layout import Layout

MAX_COUNT = 10**9  # no client counts more samples than this
MAX_COUNT_RATIO = 10  # nor more than so many times the size it announced

LETTERS = {"P": "the numbers of a model", "K": "the models sent", "C": "the classes"}  # of shapes in a declaration

CHAINED = ("update", "count", "loss")  # what an answer must have where the next client goes on from it

Dims = Mapping[str, int]


def check_declaration(task: Task, chained: bool = False) -> None:
    """Refuse a task whose declaration nobody could work with, in one sentence.

    Args:
        task: A task that is about to be used.
        chained: Whether clients do it one after the other.

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
    for letter, size in task.dims.items():
        if letter in LETTERS or type(size) is not int or size < 1:
            taken = (
                f"{letter} stands for {LETTERS[letter]}" if letter in LETTERS else "a dimension is a number from 1 on"
            )
            raise BadInput(f"the task {task.name!r} binds {letter}={size!r} in its dims, but {taken}")
    for name, field in task.fields.items():
        for axis in field.shape:
            if not (axis in LETTERS or axis in task.dims or (type(axis) is int and axis >= 1)):
                known = ", ".join(f"{k} ({what})" for k, what in {**LETTERS, **task.dims}.items())
                raise BadInput(
                    f"the task {task.name!r} declares its field {name!r} with {axis!r} in its shape; there are numbers "
                    f"from 1 on and the letters {known}, and its dims may bind others"
                )
    missing = [name for name in CHAINED if chained and name not in task.fields]
    if missing:
        raise BadInput(f"the task {task.name!r} cannot be done in a chain: its answer has no {missing[0]!r}")


def extents(field: Field, dims: Dims) -> tuple[int, ...]:
    """The shape of a field in numbers.

    Args:
        field: As a task declares it.
        dims: What the letters of shapes stand for.

    Returns:
        Its lengths.

    >>> extents(Field("float", ("D", 3)), {"D": 64})
    (64, 3)
    """
    return tuple(axis if isinstance(axis, int) else dims[axis] for axis in field.shape)


def shape_letters(task: Task, layout: Layout, models: int) -> Dims:
    """What the letters in the shapes of a task's fields stand for.

    Args:
        task: May bind letters of its own.
        layout: Of the models.
        models: How many of them are sent.

    Returns:
        Numbers by letter.
    """
    return {**task.dims, "P": layout.size, "K": models, "C": layout.classes}


def stored_as(field: Field, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The numbers of a field as they travel and are kept: arrays of floats as models are, all else in 64 bits.

    Args:
        field: As a task declares it.
        dtype: That of models.

    Returns:
        A dtype.

    >>> stored_as(Field("float", ("K",)), np.dtype("float32")).name, stored_as(Field("float"), np.dtype("float32")).name
    ('float32', 'float64')
    """
    if field.kind in ("int", "count"):
        return np.dtype(np.int64)
    return dtype if field.shape and field.kind == "float" else np.dtype(np.float64)


def has_cohort_form(task: Task, form: str = "for_cohort") -> bool:
    """Whether a task answers for whole cohorts: by the class whose call would run, or not at all.

    A class with a call of its own does not inherit the form of the class it is derived from, which answers what that
    one's call would.

    Args:
        task: Any task.
        form: `for_cohort`, or `for_chains`.

    Returns:
        Whether the form may stand for the calls client by client.

    >>> from shoal.solvers import SGD
    >>> from shoal.tasks import Train
    >>> class Slow(Train):
    ...     def __call__(self, net, models, data, memory, key):
    ...         return super().__call__(net, models, data, memory, key)
    >>> has_cohort_form(Train(SGD())), has_cohort_form(Slow(SGD()))
    (True, False)
    """
    return declaring(task, form) is declaring(task, "__call__") is not Task


def declaring(task: Task, name: str) -> type | None:
    """The class that has a method of this name and comes first."""
    return next((kind for kind in type(task).__mro__ if name in vars(kind)), None)


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
    fields_N: Mapping[str, Array], fields: Mapping[str, Field], dims: Dims, dtype: np.dtype[Any], announced_N: Array
) -> dict[int, str]:
    """`check` of many answers at once: rows that are sound by sums over arrays pass, any other is judged by itself.

    Args:
        fields_N: The answers, stacked: a row per client in each field.
        fields: What the task declares.
        dims: What the letters of shapes stand for.
        dtype: That of models.
        announced_N: Training samples that each client announced.

    Returns:
        The reasons, by row, of those that cannot be used.

    >>> counts = {"count": np.array([7, 0, 7])}
    >>> check_all(counts, {"count": Field("count")}, {}, np.dtype("float32"), np.array([7, 7, 7]))
    {1: 'count 0 is not between 1 and 1,000,000,000'}
    """
    for name, rows in fields_N.items():
        if len(rows) != len(announced_N):
            raise BadInput(f"{name!r} has {len(rows)} rows for {len(announced_N)} clients")
    sound_N = np.full(len(announced_N), set(fields_N) == set(fields))
    for name, field in fields.items():
        if name in fields_N:
            sound_N &= _sound(fields_N[name], field, dims, dtype, announced_N)
    reasons = {}
    for i in np.flatnonzero(~sound_N).tolist():
        answer = {name: rows[i] for name, rows in fields_N.items()}
        reason = check(answer, fields, dims, dtype, int(announced_N[i]))
        if reason:
            reasons[i] = reason
    return reasons


def _sound(rows_N: Array, field: Field, dims: Dims, dtype: np.dtype[Any], announced_N: Array) -> Array:
    """Which rows are right beyond doubt: of the kind declared, finite, within bounds and far from any overflow."""
    shape, wanted = extents(field, dims), rows_N.dtype == stored_as(field, dtype)
    if rows_N.shape[1:] != shape or not wanted or (field.kind == "count" and shape):
        return np.zeros(len(rows_N), bool)
    flat_ND = rows_N.reshape(len(rows_N), math.prod(shape))
    if field.kind == "count":
        top_N = np.minimum(MAX_COUNT, MAX_COUNT_RATIO * announced_N)
        return np.asarray((rows_N >= 1) & (rows_N <= top_N))
    high = dims["K"] - 1 if field.high == "K" else field.high
    with np.errstate(all="ignore"):
        sound_N = (
            np.isfinite(flat_ND.sum(1)) if field.kind != "int" else ((flat_ND > -(2**62)) & (flat_ND < 2**62)).all(1)
        )
        if field.low is not None:
            sound_N &= (flat_ND >= field.low).all(1)
        if high is not None:
            sound_N &= (flat_ND <= high).all(1)
    return np.asarray(sound_N)


def not_an_answer(thing: object) -> str:
    return f"the answer is a {type(thing).__name__}, not named fields"


def _judge(name: str, value: Any, field: Field, dims: Dims, dtype: np.dtype[Any], announced: int) -> str | None:
    if type(value) is int and field.kind == "int" and not field.shape and -(2**63) < value < 2**63:
        return _bounded(name, value, value, field, dims)
    if not isinstance(value, np.ndarray | np.generic | int | float) or isinstance(value, bool):
        return f"{name} is a {type(value).__name__}, not a number or an array"
    array: Array = np.asarray(value)
    shape = extents(field, dims)
    if array.shape != shape:
        return f"{name} has shape {array.shape}, not {shape}"
    kinds = {"float": "f", "int": "iu", "count": "iuf", "sum": "f"}[field.kind]
    wanted = stored_as(field, dtype)
    if array.dtype.kind not in kinds or (kinds == "f" and shape and array.dtype != wanted):
        return f"{name} has dtype {array.dtype}, not {wanted if kinds == 'f' else 'an integer one'}"
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
