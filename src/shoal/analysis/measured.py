"""What an algorithm reports under `measures`, where it has the shape that a reader needs: own ones report anything."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

__all__ = ["measured"]

T = TypeVar("T")
Shape = Callable[[Any], T | None]  # the value as it is needed, None if it is something else


def measured(rows: Iterable[Mapping[str, Any]], name: str, shape: Shape[T]) -> list[tuple[int, T]]:
    """A measure round by round.

    Args:
        rows: records of a run.
        name: of the measure.
        shape: one of the functions of this module, or one like them.

    Returns:
        The round and the value of every record in which the measure has the shape.

    >>> rows = [{"round": 1, "measures": {"F": 2.5}}, {"round": 2, "measures": {"F": "low"}}, {"round": 3}]
    >>> measured(rows, "F", number)
    [(1, 2.5)]
    """
    found = []
    for row in rows:
        measures = row.get("measures")
        value = shape(measures[name]) if isinstance(measures, Mapping) and name in measures else None
        if value is not None:
            found.append((int(row["round"]), value))
    return found


def number(value: Any) -> float | None:
    """A finite number.

    >>> number(3), number(True), number("3"), number(float("nan"))
    (3, None, None, None)
    """
    return value if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) else None


def numbers(value: Any) -> list[float] | None:
    """A list of finite numbers.

    >>> numbers([1, 2.5]), numbers([1, None]), numbers(3)
    ([1, 2.5], None, None)
    """
    return value if isinstance(value, list) and all(number(v) is not None for v in value) else None


def names(value: Any) -> list[str] | None:
    """A list, as names.

    >>> names(["north", 2]), names("north")
    (['north', '2'], None)
    """
    return [str(v) for v in value] if isinstance(value, list) else None


def by_count(value: Any) -> dict[str, float] | None:
    """Numbers by a whole number, such as a number of groups; not empty.

    >>> by_count({"2": 0.5}), by_count({"two": 0.5}), by_count({}), by_count(3)
    ({'2': 0.5}, None, None, None)
    """
    if not isinstance(value, Mapping) or not value:
        return None
    return dict(value) if all(k.isdecimal() and number(v) is not None for k, v in value.items()) else None


def norms_by_group(value: Any) -> dict[int, Mapping[str, float]] | None:
    """Norm of the mean update, largest norm and number of clients by group; not empty.

    >>> norms_by_group({"0": {"mean_norm": 0.1, "max_norm": 0.5, "clients": 4}})
    {0: {'mean_norm': 0.1, 'max_norm': 0.5, 'clients': 4}}
    >>> norms_by_group(3), norms_by_group({"0": 3}), norms_by_group({"0": {"mean_norm": 0.1}})
    (None, None, None)
    """
    if not isinstance(value, Mapping) or not value:
        return None
    needed = ("mean_norm", "max_norm", "clients")
    whole = all(
        k.isdecimal() and isinstance(v, Mapping) and all(number(v.get(n)) is not None for n in needed)
        for k, v in value.items()
    )
    return {int(k): v for k, v in value.items()} if whole else None
