"""The learning rate by step within one local training: a factor per step."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from shoal.data.spec import parse
from shoal.errors import BadInput, unknown

__all__ = ["rate_factors"]

Curve = Callable[[int, int], float]  # step from 0, steps in all -> factor


def cosine(step: int, steps: int) -> float:
    """Half a cosine, from 1 towards 0: `(1 + cos(pi s / S)) / 2`.

    >>> [round(cosine(s, 4), 4) for s in range(4)]
    [1.0, 0.8536, 0.5, 0.1464]
    """
    return (1 + math.cos(math.pi * step / steps)) / 2


def linear(step: int, steps: int) -> float:
    """A straight line from 1 towards 0: `1 - s / S`.

    >>> [linear(s, 4) for s in range(4)]
    [1.0, 0.75, 0.5, 0.25]
    """
    return 1 - step / steps


def warmup(first: int) -> Curve:
    """Up to 1 in so many steps, then 1: `min(1, (s + 1) / first)`.

    >>> [warmup(2)(s, 4) for s in range(4)]
    [0.5, 1.0, 1.0, 1.0]
    """
    return lambda step, steps: min(1.0, (step + 1) / first)


def constant(step: int, steps: int) -> float:
    """The learning rate as it is."""
    return 1.0


CURVES: dict[str, Curve] = {"constant": constant, "cosine": cosine, "linear": linear}


@lru_cache
def curves_of(text: str) -> tuple[Curve, ...]:
    """The curves of a schedule such as `warmup:10+cosine`, or one sentence."""
    found: list[Curve] = []
    for piece in text.split("+"):
        spec = parse(piece)
        if spec.name != "warmup":
            if spec.name not in CURVES:
                raise unknown("schedule", spec.name, [*CURVES, "warmup"])
            if spec.args or spec.kwargs:
                raise BadInput(f"schedule={text} is not possible: {spec.name} takes no arguments")
            found.append(CURVES[spec.name])
            continue
        given = (*spec.args, *spec.kwargs.values())
        first = given[0] if len(given) == 1 and set(spec.kwargs) <= {"steps"} else None
        if not isinstance(first, int) or isinstance(first, bool) or first < 1:
            raise BadInput(f"schedule={text} is not possible: give the steps of the warm-up, such as warmup:10")
        found.append(warmup(first))
    return tuple(found)


def rate_factors(schedule: str, steps: int) -> list[float]:
    """The factor of the learning rate at every step of a local training of so many steps.

    Args:
        schedule: `constant`, `cosine`, `linear`, `warmup:STEPS`, or several joined by `+`, whose factors multiply.
        steps: Of the whole local training: of this client, in this round.

    Returns:
        One factor per step.

    >>> rate_factors("warmup:2+linear", 4)
    [0.5, 0.75, 0.5, 0.25]
    """
    curves = curves_of(schedule)
    if curves == (constant,):
        return [1.0] * steps
    return [math.prod(curve(s, steps) for curve in curves) for s in range(steps)]
